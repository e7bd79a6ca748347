"""Candidates judged by a log: ``cltr.evaluate(..., log=...)`` and ``cltr.gate``."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from cltr.api.ingest import ingest
from cltr.api.shown import Shown
from cltr.api.sources import DataLike, FileName, Frame, LogLike, as_files, file_of, named_data
from cltr.errors import UsageError
from cltr.evaluation.bounds import Limits
from cltr.evaluation.canary_decision import CanaryDecision, CanaryRules, judge_canary_table
from cltr.evaluation.candidate import Serve
from cltr.evaluation.verdict import BUDGET, Verdict, canary_share
from cltr.experiment.candidates import CandidateRanker, load_candidate
from cltr.experiment.config import AUTO
from cltr.experiment.judge_candidates import decide, judge_candidate, judge_candidates
from cltr.experiment.judged_log import Clicks, JudgedLog, log_config, open_judged_log
from cltr.files.claims import hidden_folder
from cltr.health.outcome import worst
from cltr.report.gate_tables import canary_tables, candidate_tables, verdict_tables
from cltr.report.rendering import Tables

CandidateLike = Any
"""A run or its folder, a table of scores or ranks (a file or a frame), a TREC run, or the word
``production``."""


class CandidateEvaluation(Shown):
    """Candidates by all estimators, side by side.

    Args:
        result: as ``--json`` prints it.
    """

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.result = result

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        both = (*self.result["candidates"], *self.result["references"])
        return [{"candidate": one["candidate"], **row} for one in both for row in one["estimates"]]

    def _tables(self, width: int) -> Tables:
        del width
        return candidate_tables(self.result)


class GateVerdict(Shown):
    """What to do with a candidate, and why.

    Args:
        verdict: the decision.
        result: all that it rests on, as ``--json`` prints it.
    """

    def __init__(self, verdict: Verdict, result: Mapping[str, Any]) -> None:
        self.verdict, self.result = verdict, result

    @property
    def decision(self) -> str:
        """``deploy``, ``canary``, ``hold`` or ``reject``."""
        return self.verdict.decision

    @property
    def share(self) -> float:
        """Share of the requests that should get the candidate now."""
        return self.verdict.share

    @property
    def reasons(self) -> tuple[str, ...]:
        """What was found, in order of weight, each with its level of trust."""
        return self.verdict.reasons

    @property
    def numbers(self) -> Mapping[str, float]:
        """What was measured, by name."""
        return self.verdict.numbers

    def __bool__(self) -> bool:
        """Whether to deploy."""
        return self.decision == "deploy"

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [{"decision": self.decision, "share": self.share, **self.numbers}]

    def _tables(self, width: int) -> Tables:
        del width
        return verdict_tables(self.result)


class CanaryResult(Shown):
    """What a canary supports now: stop, ship or continue, and the share that is allowed.

    Args:
        verdict: of the outcomes.
        result: all that it rests on, as ``--json`` prints it.
    """

    def __init__(self, verdict: CanaryDecision, result: Mapping[str, Any]) -> None:
        self.verdict, self.result = verdict, result

    @property
    def decision(self) -> str:
        """``stop``, ``ship`` or ``continue``."""
        return self.verdict.decision

    @property
    def share(self) -> float:
        """Share of the requests that may get the candidate now."""
        return self.verdict.share

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [self.verdict.plain()]

    def _tables(self, width: int) -> Tables:
        del width
        return canary_tables(self.result)


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
) -> CandidateEvaluation:
    """Several candidates on one log; see :func:`cltr.evaluate`."""
    given = candidates if isinstance(candidates, list | tuple) else [candidates]
    settings = {"click_model": click_model, "top_k": top_k, "seed": seed}
    with (
        opened(log, data=data, clicks=clicks, production=production, **settings) as judged,
        loaded(given, judged, serve=serve) as found,
    ):
        return CandidateEvaluation(judge_candidates(judged, found, confidence=confidence))


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
) -> "GateVerdict | CanaryResult":
    """Decide about a candidate: deploy, canary, hold or reject; as ``cltr gate`` does.

    Args:
        candidate: a run or its folder, a table of scores or ranks (a file or a data frame), a TREC
            run, or ``"production"``.
        log: a log file, a :class:`cltr.Log`, or a table in memory, which is ingested meanwhile.
        data: the data set that the log lies on; none if it stands alone.
        max_loss: points of NDCG, as a share, that may be lost at worst; 0.02 is two points.
        canary: the requests of a canary or of interleaving so far; the result is then a
            :class:`cltr.CanaryResult`.
        tolerance: outcome per request that may be lost in a canary.
        outcome_column: column of the canary's outcome, such as orders; its clicks by default.
        outcome_range: the smallest and the largest outcome that a request can have.
        confidence: of the lower and of the upper bound for the gain, each one-sided; in a canary of
            both together, for all looks.
        serve: ``sorted`` or ``sampled`` rankings; sorted for tables, as trained for runs by
            default.
        clicks: ``test`` judges by the test part of the log; ``all`` by all of it, for a candidate
            that was made without its clicks.
        click_model: a name, ``fitted:FILE``, or ``auto`` to fit one to the log.
        production: a file with production's scores, if the log does not have them.
        top_k: ranks to look at; those of the log, at most 10, by default.
        seed: decides every random choice.
    """
    if not 0.0 <= max_loss <= 1.0:
        raise UsageError(f"max_loss is {max_loss}: it must lie between 0 and 1 (0.02: two points)")
    if log is None:
        raise UsageError("no log; give the one that production served, with --log")
    settings = {"click_model": click_model, "top_k": top_k, "seed": seed}
    with (
        opened(log, data=data, clicks=clicks, production=production, **settings) as judged,
        loaded([candidate], judged, serve=serve) as found,
    ):
        level = confidence if canary is None else 0.95
        judgement = judge_candidate(judged, found[0], confidence=level)
        verdict = decide(judged, judgement.evidence, max_loss=max_loss)
    result = {
        "verdict": verdict.decision,
        **verdict.plain(),
        "max_loss": max_loss,
        "log": judged.experiment.config.log,
        "top_k": judged.experiment.config.top_k,
        **judgement.plain(),
        "checks": [check.plain() for check in judgement.evidence.all_checks],
        "independent": judged.independence(),
        "assumptions": list(judged.notes),
    }
    if canary is None:
        return GateVerdict(verdict, result)
    limits = Limits(*outcome_range)
    healthy = worst(judgement.evidence.all_checks) == "pass"
    with as_files(canary) as files:
        rules = CanaryRules(tolerance, limits, confidence, outcome_column)
        share = canary_share(judgement.evidence.worst_loss, budget=max_loss)
        told = judge_canary_table(files[0][0], rules, share=share, healthy=healthy)
    return CanaryResult(told, {**told.plain(), "certified_share": share, "gate": result})


@contextmanager
def opened(
    log: LogLike,
    *,
    data: DataLike | None,
    clicks: Clicks,
    production: FileName | None,
    **settings: Any,
) -> Iterator[JudgedLog]:
    """A log, ready to judge candidates by; a table in memory is ingested meanwhile."""
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
    candidates: Sequence[CandidateLike], judged: JudgedLog, *, serve: Serve | None
) -> Iterator[list[CandidateRanker]]:
    """Candidates on the lists of a log; frames are written to files meanwhile."""
    if not candidates:
        raise UsageError("no candidate; give a run, a table of scores or 'production'")
    sources = [getattr(one, "path", one) for one in candidates]
    with as_files(*sources) as files:
        yield [
            load_candidate(paths[0], judged, name=_name(source), serve=serve)
            for source, paths in zip(sources, files, strict=True)
        ]


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str | PathLike) else "data frame"
