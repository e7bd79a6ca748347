"""A run in its folder, from clicks to a result; and on from where it was interrupted."""

import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cltr.clicks.model_file import save_click_model
from cltr.errors import CltrError, UnsupportedError, UsageError
from cltr.experiment.alerts import alerts_of, misfit_of, warnings_of
from cltr.experiment.changes_file import CHANGES, run_changes
from cltr.experiment.components import Components, compose, resolved
from cltr.experiment.config import AUTO, RunConfig
from cltr.experiment.experiment import Experiment
from cltr.experiment.follow import follow
from cltr.experiment.hand_over import hand_over
from cltr.experiment.initial_model import new_model
from cltr.experiment.joint_work import dismissing
from cltr.experiment.label_training import has_labels
from cltr.experiment.outcome import Learned
from cltr.experiment.progress import Progress
from cltr.experiment.provenance import (
    CLICK_MODEL,
    KEYS,
    RANKS,
    SCORES,
    check_data,
    check_plugins,
    describe,
    open_data,
    provenance,
    read_config,
)
from cltr.experiment.run_folder import RunFolder
from cltr.experiment.run_log import RunLog, fit_to_log, open_run_log
from cltr.experiment.safe_run import SafeRun, run_safely
from cltr.files.resuming import resume_with
from cltr.interfaces import Fittable, PerQuery
from cltr.training.loop import TrainingState
from cltr.training.processes import current_processes
from cltr.types import Dataset


@dataclass(frozen=True)
class _Job:
    """A run that is to be made: of what, on which data, and where."""

    config: RunConfig
    components: Components
    dataset: Dataset
    folder: RunFolder
    progress: Progress


def train(
    config: RunConfig, *, out: Path | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """A new run, in ``out`` or in the next folder below ``runs/``."""
    config = fit_to_log(config)
    components = compose(config)
    _check_ranks(config, components)
    config, dataset = open_data(config)
    _check_processes(components, dataset)
    folder = RunFolder.create(out, label=f"{components.estimator.name}-{components.reward.name}")
    config = resolved(config, components)
    made_from = provenance(config, components, dataset, folder)
    config = config.model_copy(update={"provenance": made_from})
    with closing(folder):
        return _begin_new(_Job(config, components, dataset, folder, progress or Progress()))


def _begin_new(job: _Job) -> dict[str, Any]:
    try:
        job.folder.write_text("run.toml", job.config.to_toml())
        return _run(job)
    except CltrError:
        if not job.folder.checkpoint.exists:  # nothing to go on from: leave nothing in the way
            job.folder.discard()
        raise


def _check_ranks(config: RunConfig, components: Components) -> None:
    """Refuse click models without the values by rank that are needed, before any work."""
    needed = components.reward.needs_affine or config.metric == "clicks"
    if needed and config.click_model.name != AUTO:
        components.click_model.require_affine(config.top_k)
    for model in {
        components.click_model,
        components.click_model if config.log else components.users,
    }:
        with suppress(UnsupportedError):  # a model that need not be affine
            model.affine(config.top_k)


def _check_processes(components: Components, dataset: Dataset) -> None:
    """Refuse what several processes cannot train, before any work."""
    processes = current_processes()
    if processes.count == 1:
        return
    if isinstance(components.ranker, PerQuery):
        raise UsageError(
            f"ranker '{components.ranker.name}' takes no gradients, so several processes cannot "
            "share its work; start cltr without torchrun, or use --ranker exact"
        )
    processes.require(new_model(components.scorer, dataset))


def _check_same_processes(folder: RunFolder, config: RunConfig) -> None:
    """A run goes on with as many processes as it began with: others would give other bits."""
    began, now = config.provenance.get("processes", 1), current_processes().count
    if began != now:
        program = "cltr" if began == 1 else f"torchrun --nproc-per-node {began} -m cltr --"
        raise UsageError(
            f"{folder.path}: number of processes: it began with {began}, now {now}; start it with: "
            f"{program} train --resume {folder.path}"
        )


def resume(path: Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Go on with a run that was interrupted, to the result it would have had."""
    with closing(RunFolder.open(path)) as folder:
        folder.hold()
        if (path / "result.json").exists():
            folder.checkpoint.remove()  # a kill may have come just before
            raise UsageError(f"{path}: the run is finished; see cltr evaluate {path}")
        config = read_config(folder)
        components = compose(config)
        _check_same_processes(folder, config)
        check_plugins(folder, config, components)
        config, dataset = open_data(config)
        check_data(folder, config, dataset)
        return _run(_Job(config, components, dataset, folder, progress or Progress()))


def _run(job: _Job) -> dict[str, Any]:
    processes, dataset, folder = current_processes(), job.dataset, job.folder
    resume_with("train", "--resume", processes.from_first(str(folder.path)))
    processes.agree([dataset.offsets, dataset.labels])
    if not processes.first:
        follow(job.config, job.components, dataset, saved=folder.checkpoint.load)
        return {"run": str(folder.path)}
    with dismissing():
        return _lead(job)


def _lead(job: _Job) -> dict[str, Any]:
    """All of a run, in one process or in the first of several."""
    began, folder = time.perf_counter(), job.folder
    experiment, log = _begin(job.config, job.components, job.dataset, job.progress)
    clicks = log.statistics if log else experiment.simulate()
    found = run_safely(
        experiment,
        clicks,
        skyline=job.config.skyline and has_labels(job.dataset),
        state=folder.checkpoint.load(),
        on_epoch=_Saver(folder),
    )
    _save(folder, found.experiment, found.outcome.learned)
    hand_over(folder, found.experiment, found.outcome.learned, share=found.verdict.share)
    result = {
        **_told(found, log),
        **found.plain(),
        "seconds": round(time.perf_counter() - began, 3),
        "run": str(folder.path),
    }
    changes = run_changes(found.experiment, found.outcome.served, found.outcome.rewards)
    folder.write_json(CHANGES, changes)
    folder.write_json("result.json", result)
    resume_with("report", str(folder.path))  # only its page is missing now
    folder.checkpoint.remove()
    return result


def _told(found: SafeRun, log: RunLog | None) -> dict[str, Any]:
    """What was run, what it assumes, and what must be said first."""
    config, components = found.experiment.config, found.experiment.components
    learned, rewards, judged = found.outcome.learned, found.outcome.rewards, found.outcome.judged
    misfit, certificate = misfit_of(components, rewards), judged["certificate"]
    return {
        **describe(config, components),
        "exposure": rewards["train"].exposure.source,
        "users": log.users if log else components.users.name,
        "n_interactions": rewards["train"].n_interactions,
        "n_queries": rewards["train"].n_queries,
        "assumptions": list(log.assumptions) if log else [],
        "alerts": alerts_of(rewards, judged),
        "warnings": []
        if config.on_doubt != "ignore"  # the checks say it
        else warnings_of(components, misfit, certificate, log=config.log),
        "misfit": misfit,
        "diagnostics": dict(learned.diagnostics),
        "clip_fraction": learned.clip_fraction,
        "unsupported_documents": learned.unsupported,
        "epochs": learned.state.epoch,
        "best_epoch": learned.state.best_epoch,
    }


def _begin(
    config: RunConfig, components: Components, dataset: Dataset, progress: Progress
) -> tuple[Experiment, RunLog | None]:
    """The experiment of a run: on its log, or on simulated clicks."""
    if not config.log:
        simulated = Experiment.simulated(
            config, dataset=dataset, components=components, progress=progress
        )
        return simulated, None
    log = open_run_log(config, dataset, components.click_model)
    experiment = Experiment(
        config, components, dataset, log.production, progress, by_traffic=not log.simulated
    )
    return experiment, log


def _save(folder: RunFolder, experiment: Experiment, learned: Learned) -> None:
    production = experiment.production
    folder.save_model("policy.safetensors", learned.model)
    if learned.own is not None:
        learned.own.save(folder)
    for name, values in ((SCORES, production.scores), (RANKS, production.rank_distribution)):
        if values is not None:
            folder.save_scores(name, values, key=KEYS[name])
    if production.model is not None:
        folder.save_model("production.safetensors", production.model)
    model = experiment.components.click_model
    if experiment.config.click_model.name == AUTO and isinstance(model, Fittable) and model.fitted:
        save_click_model(folder.path / CLICK_MODEL, model)
    folder.write_json("history.json", learned.state.history)


class _Saver:
    """Saves a checkpoint now and then: what is lost by a kill is computed again, the same."""

    def __init__(self, folder: RunFolder, *, every: float = 10.0) -> None:
        self._folder, self._every, self._last = folder, every, time.monotonic()

    def __call__(self, state: TrainingState) -> None:
        if time.monotonic() - self._last > self._every:
            self._folder.checkpoint.save(state)
            self._last = time.monotonic()
