"""Candidates by name: a run, a table of scores, a TREC run, or production itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cltr.errors import DataError, UsageError
from cltr.evaluation.candidate import (
    ScoreReport,
    Serve,
    check_scores,
    read_candidate,
    serve_scores,
    unchanged,
)
from cltr.experiment.components import compose
from cltr.experiment.experiment import Experiment
from cltr.experiment.hand_over import load_policy, read_inputs
from cltr.experiment.initial_model import new_model
from cltr.experiment.judged_log import JudgedLog
from cltr.experiment.provenance import components_of, read_config
from cltr.experiment.query_policies import policies_of_run
from cltr.experiment.run_folder import RunFolder
from cltr.files.trec import is_run
from cltr.policies.on_dataset import Mixture

PRODUCTION = "production"


@dataclass(frozen=True)
class CandidateRanker:
    """A ranker that may replace production, on every split that is looked at."""

    name: str
    served: Mapping[str, Mixture]
    serving: str
    """How rankings come from scores, in words."""
    report: ScoreReport | None = None
    """How its table fits the log; None for what is no table."""


def is_score_table(path: Path) -> bool:
    """Whether a candidate is a table of scores or ranks, whose columns can be named."""
    return path.exists() and not _is_trained(path) and not is_run(path)


def _is_trained(path: Path) -> bool:
    return path.is_dir() and (path / "run.toml").exists()


def check_candidate(path: Path, *, log: Path | None, clicks: str, score_column: str = "") -> None:
    """Refuse what cannot be judged, before the log is made ready to judge it.

    Args:
        path: as for :func:`load_candidate`.
        log: the log's file, if it has one.
        clicks: ``test`` or ``all``.
        score_column: as for :func:`load_candidate`.
    """
    if str(path) == PRODUCTION and not path.exists():
        return
    if _is_trained(path):
        folder = RunFolder.open(path)
        config = read_config(folder)
        _refuse_own_clicks(path, config.log, "" if log is None else str(log), clicks == "test")
        folder.read_json("result.json")
        compose(config)
        return
    if not path.exists():
        raise DataError(f"{path}: no such file; give a run, a table of scores or '{PRODUCTION}'")
    check_scores(path, score_column=score_column if is_score_table(path) else "")


def _refuse_own_clicks(path: Path, trained_on: str, log: str, only_test: bool) -> None:
    if trained_on and _same(trained_on, log) and not only_test:
        raise UsageError(
            f"{path}: the run was trained on this log, so only its test clicks can judge it; "
            "leave out --clicks all"
        )


def load_candidate(
    path: Path,
    judged: JudgedLog,
    *,
    name: str | None = None,
    serve: Serve | None = None,
    score_column: str = "",
) -> CandidateRanker:
    """A candidate on the lists of a log.

    Args:
        path: a run folder, a table, a TREC run, or the word ``production``.
        judged: the log.
        name: what to call it; its path by default.
        serve: sorted or drawn rankings; sorted for tables and as trained for runs by default.
        score_column: the column of the scores of a table; by default it is found.
    """
    name = name or str(path)
    logging = judged.experiment.logging
    if str(path) == PRODUCTION and not path.exists():
        served = {split: unchanged(logging[split]) for split in judged.splits}
        return CandidateRanker(name, served, "as it is")
    if _is_trained(path):
        return _run(path, judged, name=name, serve=serve)
    if not path.exists():
        raise DataError(f"{path}: no such file; give a run, a table of scores or '{PRODUCTION}'")
    dataset = judged.experiment.dataset
    column = score_column if is_score_table(path) else ""
    given = read_candidate(path, dataset, score_column=column)
    served = {
        split: serve_scores(
            given.scores[dataset.documents_of(split)],
            logging[split],
            serve=serve or "sorted",
            ranked=given.ranked,
        )
        for split in judged.splits
    }
    return CandidateRanker(name, served, _words(serve or "sorted"), given.report)


def _words(serve: Serve) -> str:
    return {"sorted": "sorted by score", "sampled": "drawn by score (Plackett-Luce)"}[serve]


def _run(path: Path, judged: JudgedLog, *, name: str, serve: Serve | None) -> CandidateRanker:
    """The policy of a run, served as the run serves it."""
    from cltr.training.score_documents import score

    folder = RunFolder.open(path)
    config, here = read_config(folder), judged.experiment
    _refuse_own_clicks(path, config.log, here.config.log, judged.judged_splits == ("test",))
    earlier = folder.read_json("result.json")
    components = components_of(folder, config)
    experiment = replace(
        Experiment(config, components, here.dataset, here.production),
        plan=earlier.get("plan", "learn"),
    )
    model = new_model(components.scorer, experiment.dataset)
    load_policy(folder, model, experiment.dataset)
    experiment.prepare(earlier["n_interactions"], earlier.get("n_queries", 0))
    if serve is None:
        elsewhere = read_inputs(folder).data != here.dataset.fingerprint
        own = policies_of_run(folder, experiment, model, elsewhere=elsewhere)
        return CandidateRanker(name, experiment.serve(model, own=own), "as the run serves it")
    scores = score(model, experiment.dataset)
    dataset = here.dataset
    served = {
        split: serve_scores(scores[dataset.documents_of(split)], here.logging[split], serve=serve)
        for split in judged.splits
    }
    return CandidateRanker(name, served, _words(serve))


def _same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()
