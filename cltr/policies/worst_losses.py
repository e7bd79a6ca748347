r"""How far a query's metric can fall below production's, whatever its documents' relevance is.

From :math:`\omega` and :math:`\omega_0` alone: no assumption on clicks, users or relevance.
"""

import numpy as np

from cltr.policies.sort_order import order_within
from cltr.types import Floats, Lists


def ndcg_losses(
    weights: Floats,
    logging_weights: Floats,
    lists: Lists,
    rank_weights: Floats,
    *,
    at_most: int | None = None,
) -> Floats:
    r"""The most that each query's NDCG can fall, whatever grades its documents have, ``[queries]``.

    For grades :math:`g \ge 0` the loss is :math:`\sum_d (\omega_0 - \omega)_d\, g_d / \sum_k w_k
    g_{(k)}`. Grades are sums of indicators of nested sets, and so are numerator and denominator.
    So the loss is largest at an indicator, and among those with m relevant documents where these
    are the m that lost most:

    .. math:: L_q = \max_m \frac{\text{top}_m\big((\omega_0 - \omega)_+\big)}{W_m}, \quad
              W_m = \sum_{k \le \min(m, K)} w_k

    Args:
        weights: :math:`\omega` for ``rank_weights``, ``[docs]``.
        logging_weights: :math:`\omega_0`, ``[docs]``.
        lists: where each query's documents lie, end to end.
        rank_weights: w, ``[K]``.
        at_most: only this many documents of a query are relevant, whatever their grades.

    Example:
        >>> lists, w = Lists.of_offsets(np.array([0, 2])), np.array([1.0, 0.5])
        >>> ndcg_losses(np.array([0.5, 1.0]), np.array([1.0, 0.5]), lists, w)  # swapped
        array([0.5])
    """
    most = len(rank_weights)
    tops = _top_sums(weights, logging_weights, lists)
    ideal = np.cumsum(rank_weights)[np.minimum(lists.places, most - 1)]
    return _worst(tops / ideal, lists, at_most)


def absolute_losses(
    weights: Floats, logging_weights: Floats, lists: Lists, *, at_most: int | None = None
) -> Floats:
    r"""The most that each query's metric can fall for relevance in [0, 1], ``[queries]``.

    .. math:: \text{top}_m\big((\omega_0 - \omega)_+\big)

    In the units of the metric, DCG for example. Arguments as of :func:`ndcg_losses`.
    """
    return _worst(_top_sums(weights, logging_weights, lists), lists, at_most)


def _worst(losses: Floats, lists: Lists, at_most: int | None) -> Floats:
    """The largest loss of each list over the numbers of relevant documents, ``[queries]``."""
    counted = np.where(lists.places < (at_most or np.inf), losses, 0.0)
    worst, filled = np.zeros(len(lists.lengths)), lists.lengths > 0
    if filled.any():
        starts = np.cumsum(lists.lengths) - lists.lengths
        worst[filled] = np.maximum.reduceat(counted, starts[filled])
    return worst


def _top_sums(weights: Floats, logging_weights: Floats, lists: Lists) -> Floats:
    """Sums of the 1, 2, ... largest losses of each list, list by list, ``[docs]``."""
    losses = np.maximum(logging_weights - weights, 0.0)
    order = order_within(-losses, lists)
    running = np.cumsum(losses[order])
    starts = np.cumsum(lists.lengths) - lists.lengths
    before = np.concatenate([[0.0], running])[starts]
    tops: Floats = running - np.repeat(before, lists.lengths)
    return tops
