"""Candidates judged by a log: ``cltr.evaluate(..., log=...)`` and ``cltr.gate``."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from cltr.api.ingest import ingest
from cltr.api.report import check_out, repeat_command
from cltr.api.sources import DataLike, FileName, Frame, LogLike, as_files, file_of, named_data
from cltr.api.verdicts import CanaryResult, CandidateEvaluation, GateVerdict
from cltr.errors import UsageError
from cltr.evaluation.bounds import Limits
from cltr.evaluation.canary_decision import CanaryRules, judge_canary_table
from cltr.evaluation.canary_tables import read_canary
from cltr.evaluation.candidate import Serve
from cltr.evaluation.verdict import BUDGET, canary_share
from cltr.experiment.candidates import (
    CandidateRanker,
    check_candidate,
    is_score_table,
    load_candidate,
)
from cltr.experiment.changes_file import candidate_changes
from cltr.experiment.config import AUTO
from cltr.experiment.judge_candidates import (
    JudgedCandidate,
    decide,
    judge_candidate,
    judge_candidates,
)
from cltr.experiment.judged_log import Clicks, JudgedLog, log_config, open_judged_log
from cltr.experiment.provenance import made_from
from cltr.files.claims import hidden_folder, reserve
from cltr.health.outcome import worst

LEAST_CONFIDENCE = 0.5
"""A bound with less is above the estimate."""
CandidateLike = Any
"""A run or its folder, a table of scores or ranks (a file or a frame), a TREC run, or the word
``production``."""


def evaluate_candidates(
    candidates: CandidateLike | Sequence[CandidateLike],
    *,
    log: LogLike,
    data: DataLike | None = None,
    serve: Serve | None = None,
    clicks: Clicks = "test",
    click_model: str = AUTO,
    production: FileName | None = None,
    top_k: int | None = None,
    confidence: float = 0.95,
    seed: int = 1,
    score_column: str = "",
) -> CandidateEvaluation:
    """Evaluate several candidates on one log; see :func:`cltr.evaluate`."""
    _check_choices(serve, clicks, confidence)
    given = candidates if isinstance(candidates, list | tuple) else [candidates]
    _check_files(given, log, clicks, score_column)
    settings = {"click_model": click_model, "top_k": top_k, "seed": seed}
    with (
        opened(log, data=data, clicks=clicks, production=production, **settings) as judged,
        loaded(given, judged, serve=serve, score_column=score_column) as found,
    ):
        result = judge_candidates(judged, found, confidence=confidence)
        changes = candidate_changes(judged, found[0]) if len(found) == 1 else None
    options = {"log": log, "data": data, "serve": serve, "clicks": clicks, "top_k": top_k}
    options |= {"click_model": click_model, "production": production, "seed": seed}
    options |= {"confidence": confidence, "score_column": score_column}
    made = made_from(
        judged.experiment.dataset, repeat_command("evaluate", given, options, usual=USUAL)
    )
    return CandidateEvaluation({**result, "made_from": made}, changes=changes)


def _check_files(
    candidates: Sequence[CandidateLike], log: LogLike, clicks: str, score_column: str
) -> None:
    """Refuse candidates that are not there or cannot be judged, before the log is made ready."""
    named = [getattr(one, "path", one) for one in candidates]
    files = [Path(one) for one in named if isinstance(one, str | PathLike)]
    for path in files:
        check_candidate(path, log=file_of(log), clicks=clicks, score_column=score_column)
    if score_column and len(files) == len(named) and not any(map(is_score_table, files)):
        raise UsageError(
            f"--score-column {score_column}: no candidate is a table of scores; leave it out"
        )


def _check_choices(serve: str | None, clicks: str, confidence: float) -> None:
    """Refuse what the command line would refuse."""
    for name, value, known in (
        ("serve", serve, (*get_args(Serve), None)),
        ("clicks", clicks, get_args(Clicks)),
    ):
        if value not in known:
            listed = " or ".join(f"'{one}'" for one in known if one is not None)
            raise UsageError(f"{name} is {value!r}; it must be {listed}")
    if not LEAST_CONFIDENCE < confidence < 1.0:
        raise UsageError(
            f"confidence is {confidence:g}; it must lie between {LEAST_CONFIDENCE:g} and 1, such "
            "as 0.95 for 95 %"
        )


def gate(
    candidate: CandidateLike,
    *,
    log: LogLike | None = None,
    data: DataLike | None = None,
    max_loss: float = BUDGET,
    canary: FileName | Frame | None = None,
    tolerance: float = 0.0,
    outcome_column: str = "",
    outcome_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    serve: Serve | None = None,
    clicks: Clicks = "test",
    click_model: str = AUTO,
    production: FileName | None = None,
    top_k: int | None = None,
    seed: int = 1,
    score_column: str = "",
    out: FileName | None = None,
    report: bool = True,
) -> "GateVerdict | CanaryResult":
    """Decide about a candidate: deploy, canary, hold or reject. Same as ``cltr gate``.

    Args:
        candidate: a run or its folder, a table of scores or ranks (a file or a data frame), a TREC
            run, or ``"production"``.
        log: a log file, a :class:`cltr.Log`, or a table in memory, which is ingested first.
        data: the data set of the log; None if the log has its own documents.
        max_loss: largest acceptable worst-case loss of NDCG, from 0 to 1; 0.02 is two points.
        canary: table of the requests of a canary or of interleaving so far. Then the result is a
            :class:`cltr.CanaryResult`.
        tolerance: largest acceptable loss of outcome per request in a canary.
        outcome_column: column with the outcome of each request, such as orders; clicks by default.
        outcome_range: the smallest and the largest outcome that a request can have.
        confidence: one-sided confidence of each bound on the gain. In a canary, confidence of both
            bounds together, for all looks.
        serve: ``sorted`` or ``sampled`` rankings. By default tables are sorted, and runs are served
            as they were trained.
        clicks: ``test`` uses the test part of the log. ``all`` uses the whole log, for a candidate
            that was made without its clicks.
        click_model: a name, ``fitted:FILE``, or ``auto`` to fit one to the log.
        production: a file with production's scores, if the log does not have them.
        top_k: number of ranks; by default those of the log, at most 10.
        seed: seed of all random choices.
        score_column: column of the score in a candidate that is a table. By default the column
            ``score``, or the only one with numbers.
        out: save the result as JSON here, and its HTML report beside it.
        report: also write the HTML report if ``out`` is given.
    """
    options = {key: value for key, value in locals().items() if key not in NOT_REPEATED}
    inputs = (candidate, log, data, production, canary)
    target = None if out is None else check_out(out, inputs)
    if not 0.0 <= max_loss <= 1.0:
        raise UsageError(f"max_loss is {max_loss}: it must lie between 0 and 1 (0.02: two points)")
    _check_choices(serve, clicks, confidence)
    if not outcome_range[0] < outcome_range[1]:
        raise UsageError(
            f"the outcome range is {outcome_range[0]:g} to {outcome_range[1]:g}; its first number "
            "must be the smaller one"
        )
    if log is None:
        raise UsageError("--log is missing: give the click log of production")
    _check_files([candidate], log, clicks, score_column)
    if canary is not None:
        with as_files(canary) as files:  # a table that cannot be read is said before the work
            read_canary(files[0][0], outcome=outcome_column)
    settings = {"click_model": click_model, "top_k": top_k, "seed": seed}
    with (
        reserve(target),
        opened(log, data=data, clicks=clicks, production=production, **settings) as judged,
        loaded([candidate], judged, serve=serve, score_column=score_column) as found,
    ):
        level = confidence if canary is None else 0.95
        judgement = judge_candidate(judged, found[0], confidence=level)
        verdict = decide(judged, judgement.evidence, max_loss=max_loss)
        changes = candidate_changes(judged, found[0])
        result = {
            "verdict": verdict.decision,
            **verdict.plain(),
            "max_loss": max_loss,
            "log": judged.experiment.config.log,
            "data": judged.data,
            "top_k": judged.experiment.config.top_k,
            **judgement.plain(),
            "checks": [check.plain() for check in judgement.evidence.all_checks],
            "independent": judged.independence(),
            "assumptions": list(judged.notes),
            "click_model": judged.click_model,
            "exposure": judged.experiment.production.source,
            "made_from": made_from(
                judged.experiment.dataset, repeat_command("gate", [candidate], options, usual=USUAL)
            ),
        }
        gated = GateVerdict(verdict, result, changes=changes)
        told: GateVerdict | CanaryResult = gated
        if canary is not None:
            rules = CanaryRules(tolerance, Limits(*outcome_range), confidence, outcome_column)
            told = _judge_canary(canary, rules, judgement, gated, max_loss=max_loss)
        if out is not None:
            told.save(out, report=report)
    return told


NOT_REPEATED = ("candidate", "out", "report")
"""Arguments of the gate that are no options of the command that repeats it."""
USUAL: dict[str, Any] = {
    "max_loss": BUDGET,
    "tolerance": 0.0,
    "outcome_column": "",
    "outcome_range": (0.0, 1.0),
    "confidence": 0.95,
    "clicks": "test",
    "click_model": AUTO,
    "seed": 1,
    "score_column": "",
}
"""Options that need not be said."""


def _judge_canary(
    canary: FileName | Frame,
    rules: CanaryRules,
    judgement: JudgedCandidate,
    gated: GateVerdict,
    *,
    max_loss: float,
) -> CanaryResult:
    """What the requests of a canary add to the verdict of the gate."""
    healthy = worst(judgement.evidence.all_checks) == "pass"
    share = canary_share(judgement.evidence.worst_loss, budget=max_loss)
    with as_files(canary) as files:
        told = judge_canary_table(files[0][0], rules, share=share, healthy=healthy)
    result = {**told.plain(), "certified_share": share, "gate": gated.result}
    return CanaryResult(told, result, changes=gated.changes)


@contextmanager
def opened(
    log: LogLike,
    *,
    data: DataLike | None,
    clicks: Clicks,
    production: FileName | None,
    **settings: Any,
) -> Iterator[JudgedLog]:
    """Open a log to judge candidates by; a table in memory is ingested first."""
    dataset = named_data(data)
    named, kept = (dataset, None) if isinstance(dataset, str) else (None, dataset)
    with hidden_folder() as folder:
        path = file_of(log)
        if path is None:
            path = folder / "log.h5"
            ingest(log, out=path, data=data, sessions=True, progress=False)
        config = log_config(
            path,
            data=named,
            production=None if production is None else Path(production),
            **settings,
        )
        yield open_judged_log(config, clicks=clicks, dataset=kept)


@contextmanager
def loaded(
    candidates: Sequence[CandidateLike],
    judged: JudgedLog,
    *,
    serve: Serve | None,
    score_column: str = "",
) -> Iterator[list[CandidateRanker]]:
    """Load candidates for the lists of a log; data frames are written to temporary files."""
    if not candidates:
        raise UsageError("no candidate; give a run, a table of scores or 'production'")
    sources = [getattr(one, "path", one) for one in candidates]
    with as_files(*sources) as files:
        yield [
            load_candidate(
                paths[0], judged, name=_name(source), serve=serve, score_column=score_column
            )
            for source, paths in zip(sources, files, strict=True)
        ]


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str | PathLike) else "data frame"
