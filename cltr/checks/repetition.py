"""Whether production showed a query the same list again and again."""

import numpy as np

from cltr.types import ClickStatistics, Floats, Lists

NEARLY_FIXED = 0.98
"""Repeat probability from which a query counts as deterministic: about one display in a hundred
shows something else at a rank (0.99 squared), too little to compare ranks or documents."""


def repeat_probabilities(statistics: ClickStatistics) -> Floats:
    r"""Chance that two displays of a query have the same document at a rank, ``[queries]``.

    .. math:: r_q = \frac{\sum_{d,k} n(d,k)(n(d,k) - 1)}{\sum_k n_q(k)(n_q(k) - 1)}

    It does not depend on how often the query came, in expectation: 1 for a fixed list, 1/2 for two
    lists without a common document at any rank, shown equally often. NaN where nothing was shown
    twice.

    Example:
        >>> shown = np.array([[2, 0], [0, 2], [2, 0], [0, 2]])
        >>> part = ClickStatistics(shown, 0 * shown, np.array([2, 2]), np.array([0, 2, 4]))
        >>> repeat_probabilities(part)
        array([1., 1.])
    """
    lists = Lists.of_offsets(statistics.offsets)
    shown = statistics.impressions.astype(np.float64)
    same = lists.sum((shown * (shown - 1)).sum(-1))
    by_rank = np.stack([lists.sum(column) for column in shown.T], -1)
    pairs = (by_rank * (by_rank - 1)).sum(-1)
    return np.asarray(np.divide(same, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))


def deterministic_share(statistics: ClickStatistics) -> float:
    """Share of interactions with queries whose list hardly ever changed.

    Of the interactions with queries that came more than once; NaN if there are none, since a query
    that came once says nothing about chance.
    """
    repeats = repeat_probabilities(statistics)
    again = ~np.isnan(repeats)
    if not again.any():
        return float("nan")
    fixed = np.where(again, repeats, 0.0) >= NEARLY_FIXED
    return float(statistics.displays[fixed].sum() / statistics.displays[again].sum())
