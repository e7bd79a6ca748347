"""What the requests of a canary support now, with the share that the worst case allows anyway."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cltr.errors import DataError
from cltr.evaluation.bounds import Limits
from cltr.evaluation.canary import CanaryVerdict, judge_canary, judge_interleaving
from cltr.evaluation.canary_tables import read_canary
from cltr.evaluation.verdict import LEVELS


@dataclass(frozen=True)
class CanaryRules:
    """How a canary is judged."""

    tolerance: float
    """Outcome per request that may be lost."""
    limits: Limits
    """The smallest and the largest outcome of a request."""
    confidence: float
    """Of both bounds together, for all looks."""
    outcome: str = ""
    """Column of the outcome; clicks if empty."""


@dataclass(frozen=True)
class CanaryDecision:
    """Stop, ship or continue, and why."""

    judged: CanaryVerdict
    reasons: tuple[str, ...]
    """In order of weight, each with its level of trust."""

    @property
    def decision(self) -> str:
        """``stop``, ``ship`` or ``continue``."""
        return self.judged.decision

    @property
    def share(self) -> float:
        """Share of the requests that may get the candidate now."""
        return self.judged.share

    @property
    def numbers(self) -> dict[str, float]:
        """What was measured, by name."""
        names = ("effect", "low", "high", "confidence", "requests", "new_requests")
        return {name: float(getattr(self.judged, name)) for name in names}

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self.judged), "reasons": list(self.reasons)}


def judge_canary_table(
    path: Path, rules: CanaryRules, *, share: float, healthy: bool
) -> CanaryDecision:
    """Judge the requests of a canary or of interleaving so far.

    Clicks may raise the share beyond the certified one only if the health checks of the log pass:
    users who click on what they do not want would raise it too. Another outcome may.

    Args:
        path: the table.
        rules: tolerance, limits and confidence.
        share: allowed by the worst case, whatever users do.
        healthy: whether all health checks of production's log pass.
    """
    read = read_canary(path, outcome=rules.outcome)
    trusted = bool(rules.outcome) or healthy
    if read.log is not None:
        judged = judge_canary(
            read.log,
            limits=rules.limits,
            tolerance=rules.tolerance,
            share=share,
            trusted=trusted,
            confidence=rules.confidence,
        )
    elif read.credits is not None:
        judged = judge_interleaving(
            read.credits,
            tolerance=rules.tolerance,
            share=share,
            trusted=trusted,
            confidence=rules.confidence,
        )
    else:
        raise DataError(f"{path}: is neither the log of a canary nor of interleaving")
    return CanaryDecision(judged, tuple(_reasons(judged, read.outcome, trusted, share)))


def _reasons(judged: CanaryVerdict, outcome: str, trusted: bool, share: float) -> list[str]:
    told = [f"Level 1 ({LEVELS[1]}; outcome: {outcome}): {judged.reason}"]
    if not trusted:
        told.append(
            "Level 1 is in doubt: health checks of the log did not all pass, so clicks may not "
            "raise the share. Give another outcome (--outcome-column)."
        )
    told.append(f"Level 0 ({LEVELS[0]}): the worst case allows a share of {share:.2%} at any time.")
    return told
