r"""Rankings and shares whose mean weights are given, compiled: a policy that can be served.

Repeatedly take the ranking that sorts what is left, with the largest share after which the rest is
still a mixture of rankings. Then some set of documents holds exactly the weight of as many ranks;
from there on it stays together, above the documents below it. Or documents have nothing left, and
leave. Each ranking separates documents that stood together before, so there are at most as many
rankings as documents.

A ranking changes the weights of its K documents alone, and no set of fewer than K others can hold
more than the K with the most left. So a step looks at 2K documents, and a heap keeps the others.
"""

from heapq import heapify, heappop, heappush

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
    ranks = np.zeros(2 * top_k)
    ranks[:top_k] = rank_weights[:top_k]
    rest, left, spare = weights.copy(), 1.0, _missing(weights, ranks)
    waiting = [(-weights[d], d, d) for d in range(n)]
    heapify(waiting)
    order = np.empty(2 * top_k, np.int64)  # the documents of a step, those in groups first
    starts = np.zeros(2 * top_k + 1, np.bool_)  # where documents begin that stand together
    grouped = found = 0
    while found < n:
        _sort_groups(order[:grouped], rest, starts)
        size = _draw(waiting, order, grouped)
        share, cut, members = _largest_share(rest[order[:size]], left, spare, ranks, starts)
        rankings[found, :top_k] = order[:top_k]
        shares[found] = share
        found += 1
        rest[order[:top_k]] -= share * ranks[:top_k]
        left -= share
        if cut < 0:
            break
        ends = _separate(order[:size], starts, members, cut)
        if ends < top_k:
            starts[ends] = True
            grouped = max(grouped, ends)
        else:  # the documents behind have nothing left
            spare += rest[order[ends:size]].sum()
            size = ends
        _put_back(waiting, order[:size], rest, grouped, -found * len(order))
    return found


@njit(**_JIT)
def _missing(weights, ranks):
    """What the weights lack of those of the ranks, by compensated sums; 0 if they are exact."""
    total = lost = 0.0
    for value in np.concatenate((ranks, -weights)):
        more = value - lost
        after = total + more
        lost = (after - total) - more
        total = after
    return total


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
def _draw(waiting, order, grouped):
    """Put documents with the most left behind the groups, two for each rank; return the end."""
    size = grouped
    while waiting and size < len(order) - grouped:
        order[size] = heappop(waiting)[2]
        size += 1
    return size


@njit(**_JIT)
def _put_back(waiting, order, rest, grouped, first):
    """Let the documents behind the groups wait, before those that have as much left."""
    for k in range(grouped, len(order)):
        heappush(waiting, (-rest[order[k]], first + k, order[k]))


@njit(**_JIT)
def _largest_share(values, left, spare, ranks, starts):
    """The largest share of the present ranking, and the set that limits it: group start, members.

    The start is -1 if nothing limits it: then the ranking takes all that is left.
    """
    share, cut = left, -1
    members = np.zeros(len(values), np.bool_)
    tolerance = ROUNDING * ranks.sum()
    limited = True
    while limited:
        limited = False
        a = 0
        for b in range(1, len(values) + 1):
            if not (starts[b] or b == len(values)):
                continue
            if ranks[a] > ranks[b - 1]:
                inside = min(b, len(ranks) // 2) - a
                found, chosen = _limit(
                    values[a:b], left, share, spare, ranks[a:b], inside, tolerance
                )
                if found < share:
                    share, cut, limited = found, a, True
                    members[:] = False
                    members[a:b] = chosen
            a = b
    return share, cut, members


@njit(**_JIT)
def _limit(values, left, share, spare, ranks, inside, tolerance):
    """The share that the set allows which would exceed its limit most, and its members.

    A set is of fewer documents than are ``inside`` the ranks, or of all that have something left.
    """
    after = values - share * ranks
    by_size = np.argsort(-after, kind="mergesort")
    worst, size, excess = tolerance, 0, 0.0
    for m in range(1, inside):
        excess += after[by_size[m - 1]] - (left - share) * ranks[m - 1]
        if excess > worst:
            worst, size = excess, m
    chosen = np.zeros(len(values), np.bool_)
    chosen[by_size[:size]] = True
    limit = ranks[:size].sum()
    room, pace = left * limit - values[chosen].sum(), limit - ranks[chosen].sum()
    spent = after <= 0
    if len(values) - spent.sum() >= inside and -after[spent].sum() - spare > worst:
        chosen, room, pace = ~spent, values[spent].sum() + spare, ranks[spent].sum()
    return (max(room / pace, 0.0) if pace > tolerance else share), chosen


@njit(**_JIT)
def _separate(order, starts, members, cut):
    """Put the members of a set before the others of their group; return where they end."""
    end = cut + 1
    while end < len(order) and not starts[end]:
        end += 1
    group, chosen = order[cut:end].copy(), members[cut:end]
    ends = cut + chosen.sum()
    order[cut:ends] = group[chosen]
    order[ends:end] = group[~chosen]
    return ends
