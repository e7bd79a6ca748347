r"""Pairs of documents to gradients of scores, compiled, parallel over queries.

``gains[d, k]`` is what document d adds to the objective at rank k, all ranks behind K alike in the
last column. Only pairs that can matter are visited, O(K D) a query.
"""

import math

from numba import njit, prange

_JIT = {"cache": True, "error_model": "numpy"}


@njit(**_JIT)
def swap_difference(gains, upper, lower, rank, lower_rank):
    r"""What is lost by swapping ``upper``, now at ``rank``, with ``lower`` at ``lower_rank``.

    .. math:: S_{ij} = [G_i(w_a) - G_i(w_b)] - [G_j(w_a) - G_j(w_b)]
    """
    last = gains.shape[1] - 1
    a, b = min(rank, last), min(lower_rank, last)
    return (gains[upper, a] - gains[upper, b]) - (gains[lower, a] - gains[lower, b])


@njit(**_JIT)
def _adjacent(weights, distance):
    r"""Signed :math:`\delta_m = w_m - w_{m+1}`, m the distance of two ranks; ranks from 1."""
    last = len(weights) - 1
    return weights[min(distance - 1, last)] - weights[min(distance, last)]


@njit(**_JIT)
def pair_force(gains, slopes, weights, upper, lower, rank, lower_rank, mu):
    """How much the pair matters: above 0 keeps its order, below 0 turns it.

    The swap difference, and mu times the weight of Loss2 with the same sign. Where both ranks
    weigh the same the difference of gains per weight is that of the slopes.
    """
    force = swap_difference(gains, upper, lower, rank, lower_rank)
    if mu > 0.0:
        last = len(weights) - 1
        drop = weights[min(rank, last)] - weights[min(lower_rank, last)]
        adjacent = _adjacent(weights, lower_rank - rank)
        if drop == 0.0:
            force += mu * adjacent * (slopes[upper] - slopes[lower])
        else:
            force += mu * abs(adjacent / drop) * force
    return force


@njit(parallel=True, **_JIT)
def gradient(scores, lengths, order, gains, slopes, weights, sigma, mu, out):
    r"""Add to the winner of every pair what its loss takes off, and to the loser the reverse.

    .. math:: \lambda = \sigma |F_{ij}| \, \text{sigmoid}(-\sigma (s_{win} - s_{lose}))

    Args:
        scores: ``[queries, docs]``
        lengths: ``[queries]``
        order: columns of the documents by rank, ``[queries, docs]``.
        gains: ``[queries, docs, K + 1]``
        slopes: ``[queries, docs]``
        weights: of the ranks, and 0 behind them, ``[K + 1]``.
        sigma: steepness of the logistic loss.
        mu: weight of Loss2.
        out: zeros, ``[queries, docs]``.
    """
    top_k = len(weights) - 1
    for q in prange(len(lengths)):
        n = lengths[q]
        for a in range(n):
            # Behind the top K nothing changes by a swap, and Loss2 reaches K ranks far.
            reach = n if a < top_k else (min(a + top_k + 1, n) if mu > 0.0 else 0)
            for b in range(a + 1, reach):
                upper, lower = order[q, a], order[q, b]
                force = pair_force(gains[q], slopes[q], weights, upper, lower, a, b, mu)
                if force != 0.0:
                    lead = scores[q, upper] - scores[q, lower]
                    sign = 1.0 if force > 0.0 else -1.0
                    step = sigma * force / (1.0 + math.exp(sigma * sign * lead))
                    out[q, upper] += step
                    out[q, lower] -= step
