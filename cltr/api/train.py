"""``cltr.train`` and ``cltr.simulate``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cltr.api.choices import CHOICES, configure
from cltr.api.fit_report import FittedModel
from cltr.api.ingest import ingest
from cltr.api.log import Log
from cltr.api.progress import run_progress
from cltr.api.run import Run
from cltr.api.sources import DataLike, FileName, Frame, LogLike, file_of, named_data
from cltr.data.dataset_file import save_dataset
from cltr.errors import CltrError, UsageError
from cltr.experiment import simulate_log, train_run
from cltr.experiment.run_folder import RunFolder
from cltr.files.claims import reserve
from cltr.files.frames import write_frame
from cltr.interfaces import ClickModel, Estimator, Ranker, RewardFunction, Scorer
from cltr.report.page.subject import PAGE
from cltr.types import Dataset


def train(
    *,
    log: LogLike | None = None,
    data: DataLike | None = None,
    production_scores: FileName | Frame | None = None,
    estimator: str | Estimator | None = None,
    reward: str | RewardFunction | None = None,
    ranker: str | Ranker | None = None,
    scorer: str | Scorer | None = None,
    click_model: str | ClickModel | FittedModel | None = None,
    users: str | ClickModel | None = None,
    metric: str | None = None,
    top_k: int | None = None,
    interactions: float | None = None,
    seed: int | None = None,
    init: str | None = None,
    exposure: str | None = None,
    on_doubt: str | None = None,
    standardize: bool | None = None,
    skyline: bool | None = None,
    options: Mapping[str, Any] | None = None,
    config: FileName | None = None,
    out: FileName | None = None,
    resume: FileName | None = None,
    progress: bool | None = None,
    report: bool = True,
) -> Run:
    """Learn a ranker from clicks. Same as ``cltr train``.

    Arguments that are not given have the defaults of the command line, shown in brackets. Tables in
    memory are written into the run folder, so that the run can be resumed, evaluated and repeated.

    Args:
        log: train on this log instead of simulating clicks: a log file, a :class:`Log`, or a table
            with one row for each document that was shown.
        data: the data set: a file from ``cltr data import``, or a :class:`Dataset`. [demo]
        production_scores: production's scores (query, document, score), if the log has none.
        estimator: objective to maximise. [prpo]
        reward: how clicks become relevance estimates. [dr]
        ranker: gradient method. [exact]
        scorer: kind of model that scores documents. [mlp]
        click_model: assumed click model; ``auto`` fits one to the clicks. [auto with a log,
            trust-bias without]
        users: simulated users. [the assumed click model]
        metric: metric to train for. [dcg]
        top_k: number of displayed ranks, and of ranks that count in the metric. [those of the log,
            at most 10; 5 without a log]
        interactions: training interactions to simulate, without a log. [100000]
        seed: seed of all random choices. [1]
        init: where training starts: ``production`` or ``random``. [production]
        exposure: how production's exposure is known: ``exact``, ``logged``, ``counted``. [auto]
        on_doubt: what to do if a health check fails: ``stay`` with production, ``bound`` the policy
            to a narrow band, or ``ignore`` the check. [stay]
        standardize: standardise the inputs of the model. [True, unless the data set is normalised]
        skyline: also train a reference ranker on the true labels. [True]
        options: options of components, such as ``{"estimator.clip": 0.1, "training.epochs": 20}``.
        config: a run file with values for everything that is not given.
        out: run folder. [runs/NNN-...]
        resume: the folder of an interrupted run; give it alone.
        progress: show progress bars; by default only in a terminal.
        report: also write the HTML report, ``report.html`` in the run folder.
    """
    given = {key: value for key, value in locals().items() if key in CHOICES}
    if resume is not None:
        if any(value is not None for value in (*given.values(), options or None, config, out)):
            raise UsageError("--resume takes all options from the run; give no others")
        with run_progress(progress) as bars:
            result = train_run.resume(Path(resume), progress=bars)
        return _finished(resume, result, report=report)
    with _as_files(given, options, config, out) as (files, folder), run_progress(progress) as bars:
        chosen = configure(given | files, options, config)
        if chosen.log and interactions is not None:
            raise UsageError("-n: with a log no interactions are simulated; leave out -n")
        result = train_run.train(chosen, out=folder, progress=bars)
    return _finished(result["run"], result, report=report)


def _finished(path: FileName, result: Mapping[str, Any], *, report: bool) -> Run:
    """The run, with its page."""
    run = Run(path, result=result)
    if report:
        run.report().save(run.path / PAGE)
    return run


@contextmanager
def _as_files(
    given: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    config: FileName | None,
    out: FileName | None,
) -> Iterator[tuple[dict[str, str], Path | None]]:
    """Names of the files of a run, and its folder; tables in memory are written there first."""
    sources = {key: given[key] for key in KEPT if given[key] is not None}
    files = {key: file_of(source) for key, source in sources.items()}
    folder = None if out is None else Path(out)
    if all(path is not None for path in files.values()):
        yield {key: str(path) for key, path in files.items()}, folder
        return
    asked = configure({**given, **dict.fromkeys(sources, "in memory")}, options, config)
    created = RunFolder.create(folder, label=f"{asked.estimator.name}-{asked.reward.name}")
    names = {
        key: str(created.path / KEPT[key] if path is None else path) for key, path in files.items()
    }
    try:
        _write(sources, names)
        yield names, created.path
    except CltrError:
        if not created.checkpoint.exists:
            for key, path in files.items():
                if path is None:
                    Path(names[key]).unlink(missing_ok=True)
            created.discard()
        raise
    finally:
        created.close()


KEPT = {"data": "data.h5", "production_scores": "production.parquet", "log": "log.h5"}
"""Files in a run folder of what was in memory."""


def _write(sources: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Write what is in memory; the log comes last, since it may lie on the data."""
    for key in KEPT:
        if key not in sources or file_of(sources[key]) is not None:
            continue
        source, path = sources[key], Path(names[key])
        if key == "log":
            ingest(source, out=path, data=names.get("data"), progress=False)
        elif key == "data":
            data = named_data(source)
            assert isinstance(data, Dataset)
            save_dataset(data, path, fingerprint=data.fingerprint)
        else:
            write_frame(source, path)


def simulate(
    *,
    out: FileName,
    data: DataLike | None = None,
    scorer: str | Scorer | None = None,
    click_model: str | ClickModel | FittedModel | None = None,
    users: str | ClickModel | None = None,
    top_k: int | None = None,
    interactions: float | None = None,
    seed: int | None = None,
    sessions: bool = False,
    options: Mapping[str, Any] | None = None,
    config: FileName | None = None,
    progress: bool | None = None,
) -> Log:
    """Simulate a click log of a production ranker and its users. Same as ``cltr simulate``.

    Args:
        out: log file to write.
        data: the data set: a file from ``cltr data import``, or a :class:`Dataset`. [demo]
        scorer: kind of model that scores documents. [mlp]
        click_model: assumed click model. [trust-bias]
        users: simulated users. [the assumed click model]
        top_k: number of displayed ranks. [5]
        interactions: training interactions. [100000]
        seed: seed of all random choices. [1]
        sessions: keep every interaction, not only counts; they are drawn in another way, so the
            same seed can give other clicks.
        options: options of components, such as ``{"production.fraction": 0.1}``.
        config: a run file with values for everything that is not given.
        progress: show progress bars; by default only in a terminal.
    """
    given = {key: value for key, value in locals().items() if key in CHOICES}
    dataset = named_data(data)
    if isinstance(dataset, Dataset):
        given["data"] = dataset.name or "in memory"
    chosen = configure(given, options, config)
    with reserve(Path(out)), run_progress(progress) as bars:
        report = simulate_log.simulate(
            chosen,
            out=Path(out),
            dataset=dataset if isinstance(dataset, Dataset) else None,
            sessions=sessions,
            progress=bars,
        )
    return Log(out, report=report)
