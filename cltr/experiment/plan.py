"""What a run does, given how healthy its clicks are."""

from typing import Literal, TypeAlias

from cltr.experiment.config import OnDoubt
from cltr.health.outcome import HealthOutcome
from cltr.interfaces import Guarantee

Plan: TypeAlias = Literal["learn", "narrow", "stay"]
"""Learn with the clip of the evidence, learn in a narrow band, or stay with production."""


def plan_training(outcome: HealthOutcome, on_doubt: OnDoubt, guarantee: Guarantee) -> Plan:
    """What follows from the worst outcome of the checks.

    An estimator that promises nothing has no band to narrow, so in doubt it stays.

    Example:
        >>> plan_training("fail", "stay", "incentive"), plan_training("fail", "bound", "incentive")
        ('stay', 'narrow')
        >>> plan_training("inconclusive", "stay", "none")
        'stay'
    """
    if outcome == "pass" or on_doubt == "ignore":
        return "learn"
    if guarantee == "none" or (outcome == "fail" and on_doubt == "stay"):
        return "stay"
    return "narrow"
