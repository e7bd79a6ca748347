"""Stored rankings as a policy on the lists of one split, with scores for the queries without."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from cltr.policies.on_dataset import AppliedPolicy, Remembered, ScoredPolicy, once
from cltr.policies.query_rankings import QueryRankings
from cltr.types import Booleans, Dataset, Floats


@dataclass(frozen=True)
class StoredPolicy(AppliedPolicy):
    """Rankings of some queries of a split; the others have a policy by scores."""

    rankings: QueryRankings
    others: ScoredPolicy
    _remembered: Remembered = field(
        default_factory=OrderedDict, init=False, repr=False, compare=False
    )

    @property
    def dataset(self) -> Dataset:  # type: ignore[override]
        """The lists."""
        return self.others.dataset

    @property
    def known(self) -> Booleans:
        return self.others.known

    def weights(self, rank_weights: Floats) -> Floats:
        return once(self._remembered, rank_weights, lambda: self._weights(rank_weights))

    def _weights(self, rank_weights: Floats) -> Floats:
        lists, stored = self.dataset.lists, self.rankings.known
        found = self.rankings.weights(lists, rank_weights)
        if stored.all():
            return found
        return np.where(np.repeat(stored, lists.lengths), found, self.others.weights(rank_weights))

    def first_weights(self, chosen: Booleans, rank_weights: Floats) -> Floats | None:
        found = self.rankings.first_weights(self.dataset.lists, chosen, rank_weights)
        stored = self.rankings.known
        if stored.all():
            return found
        others = self.others.first_weights(chosen, rank_weights)
        return None if others is None else np.where(stored, found, others)

    def with_ties(self, ties: Literal["order", "expected"]) -> "StoredPolicy":
        return StoredPolicy(self.rankings, self.others.with_ties(ties))
