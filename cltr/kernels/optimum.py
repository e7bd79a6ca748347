r"""The best expected weights of a query, and rankings that have given expected weights, compiled.

Expected weights that some distribution over rankings can have are those majorised by the rank
weights w: the m largest of them add up to at most :math:`W_m = w_1 + \dots + w_m`, all of them to
the total. A separable concave gain is maximised over this set by decomposition: maximise with only
the total fixed; if the m largest results exceed :math:`W_m` most, then the first m documents share
:math:`w_1 \dots w_m` in an optimum and the others the rest. A group of documents is therefore a
range of ranks, and a split never has to be undone.

References: Groenevelt, Two algorithms for maximizing a separable concave function over a
polymatroid feasible region (EJOR 1991).
"""

import numpy as np
from numba import njit, prange

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

_JIT = {"cache": True, "error_model": "numpy"}
ROUNDING = 1e-12
"""Prefix sums that exceed their limit by less, relative to the total, do not exceed it."""


@njit(parallel=True, **_JIT)
def optimal_weights(starts, lengths, kinks, slopes, production, rank_weights, out):
    """The maximiser of every query, ``[docs]``; ties are resolved towards production.

    ``kinks`` ``[docs, J]`` rise, ``slopes`` ``[docs, J + 1]`` fall; production is one of the kinks.
    """
    for q in prange(len(starts)):
        first, last = starts[q], starts[q] + lengths[q]
        _solve(
            kinks[first:last],
            slopes[first:last],
            production[first:last],
            rank_weights,
            out[first:last],
        )


@njit(**_JIT)
def _padded(rank_weights, n):
    weights = np.zeros(n)
    for k in range(min(n, len(rank_weights))):
        weights[k] = rank_weights[k]
    return weights


@njit(**_JIT)
def _solve(kinks, slopes, production, rank_weights, out):
    n = len(production)
    if n == 0:
        return
    weights = _padded(rank_weights, n)
    prefix = np.zeros(n + 1)
    prefix[1:] = np.cumsum(weights)
    tolerance = ROUNDING * prefix[n]
    order = np.arange(n)
    ends = np.empty((n + 1, 2), np.int64)  # groups to do: documents order[a:b], ranks a to b
    ends[0, 0], ends[0, 1] = 0, n
    n_groups = 1
    while n_groups > 0:
        n_groups -= 1
        a, b = ends[n_groups, 0], ends[n_groups, 1]
        group = order[a:b].copy()
        if weights[a] == weights[b - 1]:
            for d in group:
                out[d] = weights[a]
            continue
        total = prefix[b] - prefix[a]
        _fill(kinks, slopes, production, group, weights[b - 1], weights[a], total, out)
        order[a:b] = group[np.argsort(-out[group], kind="mergesort")]
        worst, cut, held = tolerance, 0, 0.0
        for m in range(1, b - a):
            held += out[order[a + m - 1]]
            excess = held - (prefix[a + m] - prefix[a])
            if excess > worst:
                worst, cut = excess, m
        if cut:
            ends[n_groups, 0], ends[n_groups, 1] = a, a + cut
            ends[n_groups + 1, 0], ends[n_groups + 1, 1] = a + cut, b
            n_groups += 2


@njit(**_JIT)
def _fill(kinks, slopes, production, group, low, high, total, out):
    """Raise documents from ``low`` piece by piece, steepest first, until they add up to the total.

    Of pieces that are equally steep those below production come first; where not all of them are
    needed, each is filled by the same share.
    """
    n_kinks = kinks.shape[1]
    owner = np.empty(len(group) * (n_kinks + 1), np.int64)
    steep = np.empty(len(owner))
    length = np.empty(len(owner))
    beyond = np.empty(len(owner), np.bool_)
    count = 0
    for d in group:
        out[d] = low
        at = low
        for j in range(n_kinks + 1):
            end = high if j == n_kinks else min(max(kinks[d, j], low), high)
            if end > at:
                owner[count], steep[count], length[count] = d, slopes[d, j], end - at
                beyond[count] = end > production[d]
                count += 1
                at = end
    rest = total - low * len(group)
    place = _steepest_first(steep[:count], beyond[:count])
    i = 0
    while i < count and rest > 0.0:
        j, size = i, 0.0
        while j < count and _alike(steep, beyond, place[i], place[j]):
            size += length[place[j]]
            j += 1
        share = min(1.0, rest / size)
        for k in range(i, j):
            out[owner[place[k]]] += share * length[place[k]]
        rest -= size
        i = j


@njit(**_JIT)
def _alike(steep, beyond, one, other):
    return steep[one] == steep[other] and beyond[one] == beyond[other]


@njit(**_JIT)
def _steepest_first(steep, beyond):
    """Places by falling slope, those below production first among equals; both sorts are stable."""
    place = np.argsort(beyond, kind="mergesort")
    return place[np.argsort(-steep[place], kind="mergesort")]
