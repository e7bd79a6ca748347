r"""The policy with the best overlap whose worst-case loss of NDCG stays within a limit.

.. math:: \max_\omega \min_d \omega_d \quad \text{such that} \quad L_q(\omega) \le B

in each query, with :math:`L_q` the most that its NDCG can fall (:mod:`cltr.policies.worst_losses`).
Raising documents to a level m takes a certain weight from the others. The loss is least if that is
taken as evenly as possible, since the largest losses decide. So the maximum has the form

.. math:: \omega_d = \max(m, \omega_{0,d} - \lambda)

with one :math:`\lambda` and m per query: the largest :math:`\lambda` that keeps the limit, and the
m for which all weight is given away. Weight moves from documents above m to documents below it and
nobody passes m, so :math:`\omega` is majorised by what production gives and some distribution over
rankings has it.
"""

import numpy as np

from cltr.errors import OptionError
from cltr.types import Floats, Lists

MARGIN = 1e-9
"""What is left of the limit, as a share of it: rounding is less."""
BISECTIONS = 60
"""Halvings in the search for what documents give away."""


def explore_weights(
    production: Floats, lists: Lists, rank_weights: Floats, *, max_loss: float
) -> Floats:
    r"""Expected weights with the largest smallest one, ``[docs]``.

    Args:
        production: :math:`\omega_0` for ``rank_weights``, ``[docs]``; those of some policy.
        lists: where each query's documents lie, end to end.
        rank_weights: of DCG, ``[K]``; they must not rise.
        max_loss: B, the most that the NDCG of a query may fall, 0.01 for a point.

    Example:
        >>> lists, w = Lists.of_offsets(np.array([0, 3])), np.array([1.0])
        >>> explore_weights(np.array([1.0, 0.0, 0.0]), lists, w, max_loss=0.1)
        array([0.9 , 0.05, 0.05])
    """
    if not 0 < max_loss <= 1:
        raise OptionError(
            f"the worst-case loss is {max_loss}; expected a number above 0 and at most 1, such as "
            "0.01 for one point of NDCG"
        )
    limit = max_loss * (1 - MARGIN)
    order = np.lexsort((-production, lists.owners))
    falling = _Falling(production[order], lists, rank_weights)
    low, high = np.zeros(len(lists.lengths)), falling.largest
    low = np.where(falling.losses(high) <= limit, high, low)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        kept = falling.losses(middle) <= limit
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    weights: Floats = np.empty(len(production))
    weights[order] = falling.at(low)
    return weights


class _Falling:
    """Production's weights list by list, falling in each; sums of them are computed once."""

    def __init__(self, weights: Floats, lists: Lists, rank_weights: Floats) -> None:
        self.weights, self.lists, self.places = weights, lists, lists.places
        self.filled = lists.lengths > 0
        self.starts = lists.starts[self.filled]
        self.largest = np.zeros(len(lists.lengths))
        self.largest[self.filled] = weights[self.starts]
        most = len(rank_weights)
        sums = np.cumsum(rank_weights)
        self.ideal = sums[np.minimum(self.places, most - 1)]
        self.total = np.append(0.0, sums)[np.minimum(lists.lengths, most)]
        self.before = self._running(weights) - weights

    def _running(self, values: Floats) -> Floats:
        """Sums from the start of each list, ``[docs]``."""
        running = np.cumsum(values)
        starts = np.cumsum(self.lists.lengths) - self.lists.lengths
        before = np.concatenate([[0.0], running])[starts]
        return np.asarray(running - np.repeat(before, self.lists.lengths))

    def each(self, values: Floats) -> Floats:
        """A value of each list for each of its documents."""
        return np.asarray(np.repeat(values, self.lists.lengths))

    def at(self, given: Floats) -> Floats:
        """Weights if every document gives so much, but none falls below the common level."""
        rest = self.each(self.lists.lengths.astype(np.float64)) - self.places
        above = self.before - self.places * self.each(given)  # what is left to documents before
        levels = (self.each(self.total) - above) / rest
        level = np.zeros(len(self.lists.lengths))
        level[self.filled] = np.minimum.reduceat(levels, self.starts) if len(levels) else 0.0
        found: Floats = np.maximum(self.each(level), self.weights - self.each(given))
        return found

    def losses(self, given: Floats) -> Floats:
        """The most that the NDCG of each query can fall then, ``[queries]``."""
        lost = np.maximum(self.weights - self.at(given), 0.0)
        worst = np.zeros(len(self.lists.lengths))
        if len(lost):
            shares = self._running(lost) / self.ideal
            worst[self.filled] = np.maximum.reduceat(shares, self.starts)
        return worst
