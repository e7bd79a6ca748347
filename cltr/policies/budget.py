r"""The best policy whose worst-case loss of NDCG stays within a budget.

.. math:: \max_\omega \sum_q P(q) \sum_d \mu_d \omega_d \quad \text{such that} \quad
          \sum_q P(q) L_q(\omega) \le B

with :math:`L_q` the most that the query's NDCG can fall (:mod:`cltr.policies.worst_losses`). Each
query has a frontier of gain against worst-case loss. One price on the loss, the same for all
queries, chooses a point on every frontier; where the choice jumps, the two neighbours are mixed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from cltr.errors import OptionError
from cltr.policies.optimum import PiecewiseGain, best_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.types import Floats, Lists

STEPS = (0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0)
"""How much of the first rank's weight a document may lose, at the points of a frontier."""
PRICES = (0.0, 0.05, 0.15, 0.4)
"""Prices on lost weight, as a share of the spread of a query's rewards."""
Measure: TypeAlias = Callable[[Floats], tuple[Floats, float]]
"""Worst-case losses of weights by query, and their mean."""
BISECTIONS = 60
"""Halvings in the search for the price and for the mixture."""


@dataclass(frozen=True)
class BudgetedPolicy:
    """What the budget buys.

    Attributes:
        weights: expected weights, ``[docs]``.
        losses: worst-case loss of each query's NDCG, ``[queries]``.
        loss: their mean by traffic; at most the budget.
    """

    weights: Floats
    losses: Floats
    loss: float


def spend_budget(
    rewards: Floats,
    production: Floats,
    lists: Lists,
    rank_weights: Floats,
    *,
    budget: float,
    traffic: Floats | None = None,
    per_query: float = 1.0,
) -> BudgetedPolicy:
    r"""Expected weights that gain most by the rewards within the budget.

    Args:
        rewards: :math:`\mu`, ``[docs]``.
        production: :math:`\omega_0` for ``rank_weights``, ``[docs]``.
        lists: where each query's documents lie, end to end.
        rank_weights: of DCG, ``[K]``.
        budget: the most that the mean NDCG may fall, 0.02 for two points.
        traffic: P(q), ``[queries]``; equal by default.
        per_query: the most that the NDCG of a single query may fall.

    Example:
        >>> lists, w = Lists.of_offsets(np.array([0, 2])), np.array([1.0, 0.5])
        >>> found = spend_budget(np.array([0.0, 1.0]), np.array([1.0, 0.5]), lists, w, budget=0.1)
        >>> found.weights.round(6), round(found.loss, 6)
        (array([0.9, 0.6]), 0.1)
    """
    if not (0 <= budget <= 1 and 0 <= per_query <= 1):
        raise OptionError(
            f"a budget of {budget} and a limit of {per_query} per query must lie in [0, 1]"
        )
    n_queries = len(lists.lengths)
    shares = np.full(n_queries, 1 / max(n_queries, 1)) if traffic is None else traffic
    frontier = _Frontier.of(rewards, production, lists, rank_weights, per_query=per_query)

    def measure(weights: Floats) -> tuple[Floats, float]:
        losses = ndcg_losses(weights, production, lists, rank_weights)
        return losses, float((shares * losses).sum())

    cheap, dear = _bracket(frontier, measure, budget)
    weights = _mix(cheap, dear, measure, budget)
    losses, loss = measure(weights)
    return BudgetedPolicy(weights, losses, loss)


@dataclass(frozen=True)
class _Frontier:
    """Points of every query's frontier; the first is production itself."""

    lists: Lists
    weights: list[Floats]
    """Of each point, ``[docs]``."""
    gains: Floats
    """Of each point over production, ``[points, queries]``."""
    losses: Floats
    """Worst-case loss of each point, ``[points, queries]``."""

    @classmethod
    def of(
        cls,
        rewards: Floats,
        production: Floats,
        lists: Lists,
        rank_weights: Floats,
        *,
        per_query: float,
    ) -> "_Frontier":
        points = [production, *_points(rewards, production, lists, rank_weights)]
        kept = [_within(one, production, lists, rank_weights, per_query) for one in points]
        gains = [lists.sum(rewards * (one - production)) for one in kept]
        losses = [ndcg_losses(one, production, lists, rank_weights) for one in kept]
        return cls(lists, kept, np.array(gains), np.array(losses))

    def at(self, price: float) -> Floats:
        """Weights of each query's best point when a unit of loss costs so much, ``[docs]``."""
        best = np.argmax(self.gains - price * self.losses, axis=0)
        chosen = np.repeat(best, self.lists.lengths)
        weights: Floats = np.take_along_axis(np.array(self.weights), chosen[None], 0)[0]
        return weights


def _points(
    rewards: Floats, production: Floats, lists: Lists, rank_weights: Floats
) -> Iterator[Floats]:
    """Best weights for each step and price: no document loses more than the step allows."""
    spread = np.zeros(len(lists.lengths))
    np.maximum.at(spread, lists.owners, np.abs(rewards))
    unit = np.repeat(spread, lists.lengths)
    for step, price in product(STEPS, PRICES):
        floor = np.maximum(production - step * rank_weights[0], 0.0)
        slopes = [np.full(len(rewards), np.inf), rewards + price * unit, rewards]
        gain = PiecewiseGain(np.stack([floor, production], 1), np.stack(slopes, 1), production)
        yield best_weights(gain, lists, rank_weights)


def _within(
    weights: Floats, production: Floats, lists: Lists, rank_weights: Floats, limit: float
) -> Floats:
    """Mixed with production where a query could lose more than the limit."""
    losses = ndcg_losses(weights, production, lists, rank_weights)
    share = np.divide(limit, losses, out=np.ones(len(losses)), where=losses > limit)
    each = np.repeat(share, lists.lengths)
    mixed: Floats = production + each * (weights - production)
    return mixed


def _bracket(frontier: _Frontier, measure: Measure, budget: float) -> tuple[Floats, Floats]:
    """Weights just beyond the budget and just within it; both the same if it is not all spent."""
    free = frontier.at(0.0)
    if measure(free)[1] <= budget:
        return free, free
    low, high = 0.0, 1.0
    while measure(frontier.at(high))[1] > budget:
        low, high = high, 4 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if measure(frontier.at(middle))[1] > budget:
            low = middle
        else:
            high = middle
    return frontier.at(low), frontier.at(high)


def _mix(beyond: Floats, within: Floats, measure: Measure, budget: float) -> Floats:
    """The mixture of both that spends the budget; its loss never exceeds it."""
    if measure(beyond)[1] <= budget:
        return beyond
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if measure(within + middle * (beyond - within))[1] <= budget:
            low = middle
        else:
            high = middle
    mixed: Floats = within + low * (beyond - within)
    return mixed
