"""What to do with a policy: deploy, canary, hold or reject, with the numbers that carry it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Decision: TypeAlias = Literal["deploy", "canary", "hold", "reject"]
Trust: TypeAlias = Literal[0, 1, 2]
"""What a decision rests on: 0 nothing but the exposure of production, 1 clicks on what was actually
shown, 2 a click model that was tested on held-out clicks."""
LEVELS: dict[Trust, str] = {
    0: "whatever users find relevant",
    1: "by clicks on what was shown",
    2: "by held-out clicks and the click model",
}
BUDGET = 0.02
"""Points of NDCG, as a share, that a canary may lose at worst, whatever users find relevant."""


@dataclass(frozen=True)
class Verdict:
    """A decision, and why."""

    decision: Decision
    trust: Trust
    """The level of trust that the decision rests on."""
    sentence: str
    """What to do next, in one sentence with the numbers that carry it."""
    reasons: tuple[str, ...] = ()
    """What speaks against more than that, one sentence each."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What was measured, by name."""
    share: float = 0.0
    """Share of the requests that should get the new policy now; the others get production."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "reasons": list(self.reasons), "numbers": dict(self.numbers)}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Verdict":
        """From what :meth:`plain` gave."""
        return cls(**{**values, "reasons": tuple(values["reasons"])})

    def __str__(self) -> str:
        return f"{self.decision}: {self.sentence}"


def canary_share(worst_loss: float, *, budget: float = BUDGET) -> float:
    """The share of requests whose worst-case loss of NDCG fits the budget.

    A share of the traffic has that share of the worst loss, whatever users do.

    Example:
        >>> canary_share(0.5)
        0.04
        >>> canary_share(0.01)
        1.0
    """
    return 1.0 if worst_loss <= budget else budget / worst_loss
