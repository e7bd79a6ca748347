r"""Rewards for queries without clicks: what documents at the same rank had elsewhere.

A trained model ranks a query that was never logged. How relevant its documents are is not known,
but on validation clicks one sees how relevant documents at each rank of the model are on average.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cltr.policies import ranks_by_score
from cltr.types import Floats, Integers, Lists, Rewards

FIRST_RANKS = (1, 2, 3, 4, 6, 9, 13, 21, 41)
"""Ranks at which the bins begin: 1, 2, 3, 4-5, 6-8, 9-12, 13-20, 21-40, and the rest."""


@dataclass(frozen=True)
class RankRewards:
    """Mean reward of documents by their rank under a model; never rising with the rank."""

    values: Floats
    """By bin of ranks, ``[bins]``."""

    @classmethod
    def of(cls, scores: Floats, rewards: Rewards) -> "RankRewards":
        r"""Means over the documents of a split, weighted by traffic and exposure.

        Weighting by exposure gives little weight to rewards with much noise: those of documents
        that were hardly ever shown.

        Args:
            scores: of the model, ``[docs]``.
            rewards: on clicks that the model was not trained on.
        """
        lists = rewards.dataset.lists
        bins = _bins(scores, lists)
        traffic = np.repeat(rewards.query_weights, lists.lengths)
        seen = traffic * np.nan_to_num(rewards.exposure.propensities)
        sums, weights = (
            np.bincount(bins, values, len(FIRST_RANKS)).astype(np.float64)
            for values in (seen * rewards.values, seen)
        )
        return cls(falling_means(sums, weights))

    def at(self, scores: Floats, lists: Lists) -> Floats:
        """The reward of every document of other queries, ``[docs]``."""
        return np.asarray(self.values[_bins(scores, lists)])

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"first_ranks": list(FIRST_RANKS), "rewards": self.values.tolist()}

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "RankRewards":
        """What :meth:`plain` gave; KeyError, TypeError or ValueError if it is something else."""
        found = np.array(values["rewards"], np.float64)
        if list(values["first_ranks"]) != list(FIRST_RANKS) or found.shape != (len(FIRST_RANKS),):
            raise ValueError("rewards by rank have other bins of ranks than this version")
        if not np.isfinite(found).all() or (np.diff(found) > 0).any():
            raise ValueError("rewards by rank must be finite and must not rise")
        return cls(found)


def _bins(scores: Floats, lists: Lists) -> Integers:
    ranks = ranks_by_score(scores, lists) + 1
    return np.asarray(np.searchsorted(FIRST_RANKS, ranks, side="right") - 1)


def falling_means(sums: Floats, weights: Floats) -> Floats:
    """Means of bins, neighbours pooled until none rises; a bin without weight is as the last one.

    Example:
        >>> falling_means(np.array([1.0, 4.0, 0.0, 1.0]), np.array([2.0, 2.0, 0.0, 2.0]))
        array([1.25, 1.25, 1.25, 0.5 ])
    """
    pools: list[tuple[float, float, int]] = []  # sum, weight, bins
    for total, weight in zip(sums.tolist(), weights.tolist(), strict=True):
        pools.append((total, weight, 1))
        while len(pools) > 1 and _rises(pools[-2], pools[-1]):
            (above, heavy, many), (below, light, few) = pools[-2:]
            pools[-2:] = [(above + below, heavy + light, many + few)]
    means = [total / weight if weight > 0 else 0.0 for total, weight, _ in pools]
    return np.repeat(means, [many for _, _, many in pools])


def _rises(above: tuple[float, float, int], below: tuple[float, float, int]) -> bool:
    if above[1] <= 0 or below[1] <= 0:
        return True
    return below[0] / below[1] > above[0] / above[1]
