r"""What changes for users when a policy replaces production: query by query, and in sums.

For each query: how much of its exposure moves to other documents,
:math:`\frac12 \sum_d |\omega_d - \omega_{0,d}| / \sum_d \omega_{0,d}`; how far its NDCG can fall at
worst, whatever users find relevant; and, where there are relevance estimates, the estimated gain
:math:`\sum_d (\omega_d - \omega_{0,d})\, \mu_d`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cltr.policies.on_dataset import CountedPolicy, Mixture, ScoredPolicy
from cltr.policies.worst_losses import ndcg_losses
from cltr.types import Booleans, ClickStatistics, Floats, Integers, Lists

GROUPS = ("head", "torso", "tail")
"""The most frequent queries with a third of the traffic, those with the next third, the others."""
LARGEST_HEAD = 0.25
"""Share of the queries in the head above which queries come too evenly for such groups."""


@dataclass(frozen=True)
class ServedChange:
    """Production and what would be served, on the lists of one split, with the clicks there."""

    served: Mixture
    rank_weights: Floats
    """Of DCG, ``[K]``."""
    metric_weights: Floats
    """Of the training metric, ``[K]``."""
    values: Floats | None = None
    r"""Relevance estimates :math:`\mu`, ``[docs]``; None if there are none."""
    statistics: ClickStatistics | None = None
    """The clicks that the estimates come from."""
    loss_weights: Floats | None = None
    """P(q) of the worst case, ``[queries]``; None counts every query once."""

    @property
    def production(self) -> ScoredPolicy | CountedPolicy:
        """Production, which must be known."""
        assert self.served.production is not None
        return self.served.production

    @property
    def lists(self) -> Lists:
        return self.served.dataset.lists

    @cached_property
    def traffic(self) -> Floats:
        """P(q) of queries on which production is known, ``[queries]``; equal without clicks."""
        weights = self.served.known.astype(np.float64)
        if self.statistics is not None:
            weights = weights * self.statistics.displays
        return np.asarray(weights / max(weights.sum(), 1e-300))

    @cached_property
    def before(self) -> Floats:
        """Expected DCG weight under production, ``[docs]``."""
        return self.production.weights(self.rank_weights)

    @cached_property
    def after(self) -> Floats:
        """Expected DCG weight under what is served, ``[docs]``."""
        return self.served.weights(self.rank_weights)

    @cached_property
    def moved(self) -> Floats:
        """Share of each query's exposure that goes to other documents, ``[queries]``."""
        total = self.lists.sum(self.before)
        away = self.lists.sum(np.abs(self.after - self.before)) / 2
        return np.divide(away, total, out=np.zeros(len(total)), where=total > 0)

    @cached_property
    def losses(self) -> Floats:
        """The most that each query's NDCG can fall, ``[queries]``."""
        return self.losses_of(self.served)

    def losses_of(self, served: Mixture) -> Floats:
        """The same for another policy beside the same production, ``[queries]``."""
        after = served.weights(self.rank_weights)
        losses = ndcg_losses(after, self.before, self.lists, self.rank_weights)
        return np.where(self.served.known, losses, 0.0)

    @cached_property
    def gains(self) -> Floats | None:
        """Estimated gain of each query in the training metric, ``[queries]``."""
        return self.gains_of(self.served)

    def gains_of(self, served: Mixture) -> Floats | None:
        """The same for another policy beside the same production, ``[queries]``."""
        if self.values is None:
            return None
        base = self.production.weights(self.metric_weights)
        return self.lists.sum((served.weights(self.metric_weights) - base) * self.values)

    @cached_property
    def other_first(self) -> Booleans:
        """Queries whose document with the most exposure is another one, ``[queries]``."""
        return np.not_equal(_first(self.before, self.lists), _first(self.after, self.lists))


def _first(weights: Floats, lists: Lists) -> Integers:
    """Row of the first document with the largest weight of each list; -1 for an empty one."""
    found = np.full(len(lists.lengths), -1)
    filled = lists.lengths > 0
    if not filled.any():
        return found
    most = np.maximum.reduceat(weights, lists.starts[filled])
    largest = np.flatnonzero(weights == np.repeat(most, lists.lengths[filled]))
    owners = np.searchsorted(lists.starts[filled], largest, side="right") - 1
    _, at = np.unique(owners, return_index=True)
    found[filled] = largest[at]
    return found


def totals(change: ServedChange) -> dict[str, Any]:
    """Sums over all queries, by traffic."""
    share = change.traffic
    return {
        "queries": int((share > 0).sum()),
        "documents": int(change.lists.lengths[change.served.known].sum()),
        "exposure_moved": float(share @ change.moved),
        "other_first": float(share @ change.other_first),
    }


def group_rows(change: ServedChange, groups: Mapping[str, Booleans]) -> list[dict[str, Any]]:
    """A row for each group of queries.

    Args:
        change: with traffic.
        groups: queries by the group's name, ``[queries]`` each.
    """
    return [{"name": name} | weighted(change, change.traffic * of) for name, of in groups.items()]


def weighted(change: ServedChange, weights: Floats) -> dict[str, Any]:
    """Means over queries with any weights, and the share of all traffic that these are.

    Args:
        change: of one split.
        weights: ``[queries]``; they need not sum to 1.
    """
    total = float(weights.sum())
    mean = weights / total if total > 0 else weights
    return {
        "queries": int((weights > 0).sum()),
        "traffic": total,
        "exposure_moved": float(mean @ change.moved),
        "other_first": float(mean @ change.other_first),
        "worst_case_loss": float(mean @ change.losses),
        "gain": None if change.gains is None else float(mean @ change.gains),
    }


def by_frequency(change: ServedChange) -> dict[str, Booleans]:
    """Head, torso and tail: queries with a third of the traffic each; none if all are alike."""
    share = change.traffic
    order = np.argsort(-share, kind="stable")
    before = np.cumsum(share[order]) - share[order]
    number = np.minimum((len(GROUPS) * before).astype(np.int64), len(GROUPS) - 1)
    group = np.empty(len(share), np.int64)
    group[order] = number
    came = share > 0
    found = {name: came & (group == i) for i, name in enumerate(GROUPS)}
    few = found["head"].sum() <= LARGEST_HEAD * came.sum()
    return found if few and all(one.any() for one in found.values()) else {}
