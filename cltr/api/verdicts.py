"""Results about candidates: estimates, verdicts of the gate, and verdicts of a canary."""

from collections.abc import Mapping, Sequence
from typing import Any

from cltr.api.report import Reported
from cltr.evaluation.canary_decision import CanaryDecision
from cltr.evaluation.verdict import Verdict
from cltr.report.gate_tables import canary_tables, candidate_tables, verdict_tables
from cltr.report.page.subject import Subject
from cltr.report.rendering import Tables


class CandidateEvaluation(Reported):
    """Estimates of candidates by all estimators.

    Args:
        result: the result as ``--json`` prints it.
        changes: what the first candidate changes for users, for the report.
    """

    def __init__(
        self, result: Mapping[str, Any], *, changes: Mapping[str, Any] | None = None
    ) -> None:
        self.result, self.changes = result, changes

    def _subject(self) -> Subject:
        return Subject("candidates", str(self.result["log"]), self.result, self.changes)

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        both = (*self.result["candidates"], *self.result["references"])
        return [{"candidate": one["candidate"], **row} for one in both for row in one["estimates"]]

    def _tables(self, width: int) -> Tables:
        del width
        return candidate_tables(self.result)


class Decided(Reported):
    """A decision about a candidate, with its reasons.

    Args:
        verdict: the decision.
        result: the numbers behind the decision, as ``--json`` prints them.
        changes: what the candidate changes for users, for the report.
    """

    def __init__(
        self,
        verdict: Verdict | CanaryDecision,
        result: Mapping[str, Any],
        *,
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        self.verdict, self.result, self.changes = verdict, result, changes

    @property
    def decision(self) -> str:
        """The decision, one word."""
        return self.verdict.decision

    @property
    def share(self) -> float:
        """Share of the requests that should get the candidate now."""
        return self.verdict.share

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons, most important first, each with its level of trust."""
        return self.verdict.reasons

    @property
    def numbers(self) -> Mapping[str, float]:
        """The measured numbers, by name."""
        return self.verdict.numbers

    def __bool__(self) -> bool:
        """Whether all requests should get the candidate."""
        return self.decision in ("deploy", "ship")

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [{"decision": self.decision, "share": self.share, **self.numbers}]


class GateVerdict(Decided):
    """Decision of the gate: ``deploy``, ``canary``, ``hold`` or ``reject``."""

    def _subject(self) -> Subject:
        return Subject("gate", str(self.result["candidate"]), self.result, self.changes)

    def _tables(self, width: int) -> Tables:
        del width
        return verdict_tables(self.result)


class CanaryResult(Decided):
    """Decision about a canary: ``stop``, ``ship`` or ``continue``."""

    def _subject(self) -> Subject:
        name = str(self.result["gate"]["candidate"])
        return Subject("canary", name, self.result, self.changes)

    def _tables(self, width: int) -> Tables:
        del width
        return canary_tables(self.result)
