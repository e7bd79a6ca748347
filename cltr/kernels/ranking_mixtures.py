r"""Rankings and shares whose mean weights are given, compiled: a policy that can be served.

Repeatedly take the ranking that sorts what is left, with the largest share after which the rest is
still a mixture of rankings. Then some set of documents holds exactly the weight of as many ranks;
from there on it stays together, above the documents below it. Each ranking separates documents that
stood together before, so there are at most as many rankings as documents.
"""

import numpy as np
from numba import njit, prange

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

_JIT = {"cache": True, "error_model": "numpy"}
ROUNDING = 1e-14
"""Sums that exceed their limit by less, relative to the total, do not exceed it."""


@njit(parallel=True, **_JIT)
def decompose_lists(starts, lengths, chosen, weights, rank_weights, rankings, shares, found):
    """Decompose every chosen list; a list's rankings lie where its documents do, ``[docs, K]``.

    ``found`` ``[queries]`` says how many there are; ranks behind a list's end are -1.
    """
    for q in prange(len(starts)):
        first, last = starts[q], starts[q] + lengths[q]
        found[q] = 0
        if chosen[q] and lengths[q] > 0:
            rankings[first:last, :] = -1
            found[q] = decompose(
                weights[first:last], rank_weights, rankings[first:last], shares[first:last]
            )


@njit(**_JIT)
def decompose(weights, rank_weights, rankings, shares):
    """Fill ``rankings`` ``[docs, K]`` and ``shares`` ``[docs]`` of one query; return how many.

    ``weights`` must be majorised by the (falling) rank weights; lists may be shorter than K.
    """
    n, top_k = len(weights), min(len(rank_weights), len(weights))
    ranks = np.zeros(n)
    ranks[:top_k] = rank_weights[:top_k]
    prefix = np.zeros(n + 1)
    prefix[1:] = np.cumsum(ranks)
    rest = weights.copy()
    left = 1.0
    order = np.arange(n)
    starts = np.zeros(n + 1, np.bool_)  # where a group of documents that stand together begins
    starts[0] = starts[n] = True
    found = 0
    while found < n:
        _sort_groups(order, rest, starts)
        rankings[found, :top_k] = order[:top_k]
        share, cut, members = _largest_share(rest, left, order, ranks, prefix, starts)
        shares[found] = share
        found += 1
        for k in range(n):
            rest[order[k]] -= share * ranks[k]
        left -= share
        if cut < 0:
            break
        _separate(order, starts, members, cut)
    return found


@njit(**_JIT)
def _sort_groups(order, values, starts):
    a = 0
    for b in range(1, len(order) + 1):
        if starts[b]:
            if b - a > 1:
                group = order[a:b].copy()
                order[a:b] = group[np.argsort(-values[group], kind="mergesort")]
            a = b


@njit(**_JIT)
def _largest_share(rest, left, order, ranks, prefix, starts):
    """The largest share of the present ranking, and the set that limits it: group start, members.

    The start is -1 if nothing limits it: then the ranking takes all that is left.
    """
    share, cut = left, -1
    members = np.zeros(len(order), np.bool_)
    tolerance = ROUNDING * prefix[-1]
    limited = True
    while limited:
        limited = False
        a = 0
        for b in range(1, len(order) + 1):
            if not starts[b]:
                continue
            if b - a > 1 and ranks[a] > ranks[b - 1]:
                m, chosen = _worst_set(
                    rest, left, share, order[a:b], ranks[a:b], prefix[a : b + 1], tolerance
                )
                if m > 0:
                    held, placed = 0.0, 0.0
                    for k in range(b - a):
                        if chosen[k]:
                            held += rest[order[a + k]]
                            placed += ranks[a + k]
                    limit = prefix[a + m] - prefix[a]
                    if limit - placed > tolerance:
                        found = max((left * limit - held) / (limit - placed), 0.0)
                        if found < share:
                            share, cut, limited = found, a, True
                            members[:] = False
                            for k in range(b - a):
                                members[order[a + k]] = chosen[k]
            a = b
    return share, cut, members


@njit(**_JIT)
def _worst_set(rest, left, share, group, ranks, prefix, tolerance):
    """The set of a group that would exceed its limit most; its size is 0 if none would."""
    after = rest[group] - share * ranks
    by_size = np.argsort(-after, kind="mergesort")
    worst, size, total = tolerance, 0, 0.0
    for m in range(1, len(group)):
        total += after[by_size[m - 1]]
        excess = total - (left - share) * (prefix[m] - prefix[0])
        if excess > worst:
            worst, size = excess, m
    chosen = np.zeros(len(group), np.bool_)
    chosen[by_size[:size]] = True
    return size, chosen


@njit(**_JIT)
def _separate(order, starts, members, cut):
    """Put the members of a set before the others of their group, and keep them apart."""
    end = cut + 1
    while not starts[end]:
        end += 1
    group = order[cut:end].copy()
    at = cut
    for d in group:
        if members[d]:
            order[at] = d
            at += 1
    starts[at] = True
    for d in group:
        if not members[d]:
            order[at] = d
            at += 1
