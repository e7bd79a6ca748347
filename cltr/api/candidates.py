"""Candidates judged by a log: ``cltr.evaluate(..., log=...)`` and ``cltr.gate``."""

from collections.abc import Sequence
from typing import Any, get_args

from cltr.api.judged_sources import CandidateLike, check_files, loaded, opened
from cltr.api.report import check_out, repeat_command
from cltr.api.sources import DataLike, FileName, Frame, LogLike, as_files
from cltr.api.verdicts import CanaryResult, CandidateEvaluation, GateVerdict
from cltr.errors import UsageError
from cltr.evaluation.bounds import Limits
from cltr.evaluation.canary_decision import CanaryRules, judge_canary_table
from cltr.evaluation.canary_tables import read_canary
from cltr.evaluation.candidate import Serve
from cltr.evaluation.verdict import BUDGET, canary_share
from cltr.experiment.changes_file import candidate_changes
from cltr.experiment.config import AUTO
from cltr.experiment.judge_candidates import (
    JudgedCandidate,
    decide,
    judge_candidate,
    judge_candidates,
)
from cltr.experiment.judged_log import Clicks, JudgedLog
from cltr.experiment.provenance import made_from
from cltr.files.claims import reserve
from cltr.health.outcome import worst

LEAST_CONFIDENCE = 0.5
"""A bound with less is above the estimate."""


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
    check_files(given, log, clicks, score_column)
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
            "as 0.95 for 95%"
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
    _check_limits(max_loss, outcome_range)
    _check_choices(serve, clicks, confidence)
    if log is None:
        raise UsageError("--log is missing: give the click log of production")
    check_files([candidate], log, clicks, score_column)
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
        command = repeat_command("gate", [candidate], options, usual=USUAL)
        gated = _decide(judged, judgement, max_loss=max_loss, command=command)
        told: GateVerdict | CanaryResult = gated
        if canary is not None:
            rules = CanaryRules(tolerance, Limits(*outcome_range), confidence, outcome_column)
            told = _judge_canary(canary, rules, judgement, gated, max_loss=max_loss)
        if out is not None:
            told.save(out, report=report)
    return told


def _check_limits(max_loss: float, outcome_range: tuple[float, float]) -> None:
    """Refuse a budget that is no share, and a range that is none."""
    if not 0.0 <= max_loss <= 1.0:
        raise UsageError(f"max_loss is {max_loss}: it must lie between 0 and 1 (0.02: two points)")
    if not outcome_range[0] < outcome_range[1]:
        raise UsageError(
            f"the outcome range is {outcome_range[0]:g} to {outcome_range[1]:g}; its first number "
            "must be the smaller one"
        )


def _decide(
    judged: JudgedLog, judgement: JudgedCandidate, *, max_loss: float, command: str | None
) -> GateVerdict:
    """The verdict on a candidate, with all that it rests on.

    Args:
        judged: the log.
        judgement: what it says about the candidate.
        max_loss: as of :func:`gate`.
        command: that gives the same result; None if there is none.
    """
    verdict = decide(judged, judgement.evidence, max_loss=max_loss)
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
        "made_from": made_from(judged.experiment.dataset, command),
    }
    changes = candidate_changes(judged, judgement.candidate)
    return GateVerdict(verdict, result, changes=changes)


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
