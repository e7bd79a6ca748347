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
    tops = top_sums(weights, logging_weights, lists)
    return worst_of(ideal_shares(tops, lists, rank_weights), lists, at_most)


def ideal_shares(tops: Floats, lists: Lists, rank_weights: Floats) -> Floats:
    """Sums of :func:`top_sums` by the DCG of as many relevant documents, ``[docs]``."""
    ideal = np.cumsum(rank_weights)[np.minimum(lists.places, len(rank_weights) - 1)]
    shares: Floats = tops / ideal
    return shares


def worst_of(losses: Floats, lists: Lists, at_most: int | None) -> Floats:
    """The largest loss of each list over the numbers of relevant documents, ``[queries]``.

    Args:
        losses: with 1, 2, ... relevant documents, at least 0, list by list.
        lists: their lengths.
        at_most: only so many documents of a query are relevant.
    """
    worst, filled = np.zeros(len(lists.lengths)), lists.lengths > 0
    starts = (np.cumsum(lists.lengths) - lists.lengths)[filled]
    if not filled.any():
        return worst
    if at_most is None:
        worst[filled] = np.maximum.reduceat(losses, starts)
    else:
        lasts = starts + np.minimum(lists.lengths[filled], at_most)
        ends = np.stack([starts, lasts], -1).reshape(-1)
        worst[filled] = np.maximum.reduceat(np.append(losses, 0.0), ends)[::2]
    return worst


def top_sums(weights: Floats, logging_weights: Floats, lists: Lists) -> Floats:
    r"""Sums of the 1, 2, ... largest losses of each list, list by list, ``[docs]``.

    .. math:: \text{top}_m\big((\omega_0 - \omega)_+\big)

    This is the most that a query's metric can fall for relevance in [0, 1] if m of its documents
    are relevant, in the units of the metric, DCG for example.
    """
    losses = np.maximum(logging_weights - weights, 0.0)
    order = order_within(-losses, lists)
    running = np.cumsum(losses[order])
    starts = np.cumsum(lists.lengths) - lists.lengths
    before = np.concatenate([[0.0], running])[starts]
    tops: Floats = running - np.repeat(before, lists.lengths)
    return tops
