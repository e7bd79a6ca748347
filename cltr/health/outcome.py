"""What a health check says: pass, inconclusive or fail, with a number and a sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

HealthOutcome: TypeAlias = Literal["pass", "inconclusive", "fail"]
ORDER: tuple[HealthOutcome, ...] = ("pass", "inconclusive", "fail")
"""From the best to the worst."""


@dataclass(frozen=True)
class HealthCheck:
    """One question about a log, and what the log answers."""

    name: str
    outcome: HealthOutcome
    number: float | None
    """What was measured; its meaning and unit are in the sentence."""
    sentence: str
    """What was found."""
    advice: str = ""
    """What to do about it; empty if nothing needs to be done."""

    def plain(self) -> dict[str, Any]:
        """For JSON: a number that is not finite becomes None."""
        finite = self.number is not None and np.isfinite(self.number)
        return {**vars(self), "number": float(self.number or 0.0) if finite else None}


def worst(checks: Iterable[HealthCheck]) -> HealthOutcome:
    """The worst outcome; ``pass`` if there is no check.

    Example:
        >>> worst([HealthCheck("a", "pass", 1.0, ""), HealthCheck("b", "inconclusive", None, "")])
        'inconclusive'
    """
    return max((check.outcome for check in checks), key=ORDER.index, default="pass")


def with_outcome(checks: Iterable[HealthCheck], outcome: HealthOutcome) -> list[HealthCheck]:
    """The checks with one outcome."""
    return [check for check in checks if check.outcome == outcome]
