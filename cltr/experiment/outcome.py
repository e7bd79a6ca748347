"""What a run gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cltr.experiment.query_policies import QueryPolicies
from cltr.interfaces import Model
from cltr.policies.on_dataset import Mixture
from cltr.training.loop import TrainingState
from cltr.types import Rewards


@dataclass(frozen=True)
class Learned:
    """A trained policy, and what training says of it."""

    model: Model
    state: TrainingState
    diagnostics: Mapping[str, float]
    """The estimator's own numbers on the training clicks."""
    own: QueryPolicies | None = None
    """Policies of single queries, where the ranker or the estimator makes them."""

    @property
    def clip_fraction(self) -> float | None:
        """Share of the rewarded documents that the estimator's bound stopped; None without one."""
        return self.diagnostics.get("clip_fraction")

    @property
    def unsupported(self) -> int | None:
        """Documents that the estimator's bound leaves out; None without such a bound."""
        found = self.diagnostics.get("unsupported_documents")
        return None if found is None else int(found)


@dataclass(frozen=True)
class Outcome:
    """What a run gives: the policy, the rewards that it learned from, and its values."""

    learned: Learned
    rewards: dict[str, Rewards]
    judged: dict[str, Any]
    served: Mapping[str, Mixture]
    """What users would get, by split."""
