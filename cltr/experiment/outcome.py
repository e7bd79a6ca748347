"""What a run gives."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cltr.training.loop import TrainingState
from cltr.types import Rewards

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Learned:
    """A trained policy, and what training says of it."""

    module: "torch.nn.Module"
    state: TrainingState
    clip_fraction: float | None
    """Share of the rewarded documents that the estimator's bound stopped; None without a bound."""
    unsupported: int | None
    """Documents that the estimator's bound leaves out; None without such a bound."""


@dataclass(frozen=True)
class Outcome:
    """What a run gives: the policy, the rewards that it learned from, and its values."""

    learned: Learned
    rewards: dict[str, Rewards]
    judged: dict[str, Any]
