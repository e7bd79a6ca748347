r"""[6] Draw Plackett-Luce rankings, compiled: O(K + log D) a rank, not D random numbers.

Documents are sorted by score once per list (``orders``), and ``tails[j]`` is the rate of all
documents from the j-th on. A draw leaves out the documents that are already ranked: it starts
behind the unbroken run of ranked documents at the top (so the mass that remains is never a small
difference of large numbers, however peaked the policy) and steps over the other holes.

Every list has its own seed: results do not depend on the number of threads.
"""

import math

import numpy as np
from numba import njit, prange

from cltr.ranges import FLOOR, WIDEST_GAP

_JIT = {"cache": True, "error_model": "numpy"}


@njit(**_JIT)
def _tails(scores, order):
    """The rate of all documents from the j-th best on; 0 behind the last."""
    n = len(scores)
    levels = np.zeros(n)  # below the best; no gap wider than need be, so that none underflows
    for j in range(1, n):
        gap = min(scores[order[j - 1]] - scores[order[j]], WIDEST_GAP)
        levels[j] = max(levels[j - 1] - gap, FLOOR)
    tails = np.zeros(n + 1)
    for j in range(n - 1, -1, -1):
        tails[j] = tails[j + 1] + math.exp(levels[j])
    return tails


@njit(**_JIT)
def _next_place(tails, holes, n_holes):
    """Draw one place among those not in ``holes`` (sorted), in proportion to its rate."""
    n = len(tails) - 1
    first = 0
    while first < n_holes and holes[first] == first:
        first += 1
    mass = tails[first]
    for h in range(first, n_holes):
        mass -= tails[holes[h]] - tails[holes[h] + 1]
    # Mass counted from the lightest place upwards; each hole below pushes the point up.
    point = np.random.random() * mass
    for h in range(n_holes - 1, first - 1, -1):
        if point >= tails[holes[h] + 1]:
            point += tails[holes[h]] - tails[holes[h] + 1]
    low, high = first, n - 1
    while low < high:
        middle = (low + high + 1) // 2
        if tails[middle] > point:
            low = middle
        else:
            high = middle - 1
    for h in range(first, n_holes):
        if holes[h] == low:  # rounding at a hole's edge: take the nearest free place
            return _free_place(holes, n_holes, n, low)
    return low


@njit(**_JIT)
def _free_place(holes, n_holes, n, place):
    for distance in range(1, n):
        for candidate in (place - distance, place + distance):
            taken = candidate < 0 or candidate >= n
            for h in range(n_holes):
                taken = taken or holes[h] == candidate
            if not taken:
                return candidate
    return place


@njit(**_JIT)
def _insert(holes, n_holes, place):
    h = n_holes
    while h > 0 and holes[h - 1] > place:
        holes[h] = holes[h - 1]
        h -= 1
    holes[h] = place


@njit(**_JIT)
def _draw(tails, holes, n_holes, places, depth):
    """Fill ranks ``n_holes`` to ``depth - 1`` of ``places``, given the places drawn so far."""
    for k in range(n_holes, depth):
        places[k] = _next_place(tails, holes, k)
        _insert(holes, k, places[k])


@njit(parallel=True, **_JIT)
def rankings(scores, orders, starts, lengths, top_k, seeds, out):
    """Fill ``out[q, s, k]`` with the place in list q of the document at rank k; -1 past its end."""
    for q in prange(len(starts)):
        np.random.seed(seeds[q])
        out[q] = -1
        if lengths[q] > 0:
            order = orders[starts[q] : starts[q] + lengths[q]]
            tails = _tails(scores[starts[q] : starts[q] + lengths[q]], order)
            depth = min(top_k, lengths[q])
            holes = np.empty(depth, np.int64)
            places = np.empty(depth, np.int64)
            for s in range(out.shape[1]):
                _draw(tails, holes, 0, places, depth)
                for k in range(depth):
                    out[q, s, k] = order[places[k]]


@njit(parallel=True, **_JIT)
def ragged_rankings(scores, orders, starts, lengths, displays, rows, top_k, seeds, out):
    """As :func:`rankings`, ``displays[q]`` of them from row ``rows[q]`` on, as flat indices."""
    for q in prange(len(starts)):
        np.random.seed(seeds[q])
        if lengths[q] > 0 and displays[q] > 0:
            order = orders[starts[q] : starts[q] + lengths[q]]
            tails = _tails(scores[starts[q] : starts[q] + lengths[q]], order)
            depth = min(top_k, lengths[q])
            holes = np.empty(depth, np.int64)
            places = np.empty(depth, np.int64)
            for row in range(rows[q], rows[q] + displays[q]):
                out[row] = -1
                _draw(tails, holes, 0, places, depth)
                for k in range(depth):
                    out[row, k] = starts[q] + order[places[k]]


@njit(**_JIT)
def _binomial(n, p):
    """Exact binomial in O(log n): halve n at a Beta-distributed order statistic, then invert."""
    successes = 0
    while n > 64:
        if p <= 0.0:
            return successes
        if p >= 1.0:
            return successes + n
        middle = 1 + n // 2
        cut = np.random.beta(middle, n + 1 - middle)
        if cut >= p:
            n = middle - 1
            p /= cut
        else:
            successes += middle
            n -= middle
            p = (p - cut) / (1.0 - cut)
    for _ in range(n):
        if np.random.random() < p:
            successes += 1
    return successes


@njit(**_JIT)
def _draw_each(tails, ranked, level, n, depth, order, counts):
    """Count n rankings that share their first ``level`` places, one by one."""
    holes = np.empty(depth, np.int64)
    places = np.empty(depth, np.int64)
    for _ in range(n):
        holes[:level] = ranked[:level]
        _draw(tails, holes, level, places, depth)
        for k in range(level, depth):
            counts[order[places[k]], k] += 1


@njit(**_JIT)
def _split(tails, ranked, level, n, shares):
    """Split n over the free places of the next rank: a multinomial, binomial by binomial."""
    last = len(tails) - 1
    # The rate of the free places from j on, summed from the light end.
    rest = np.empty(last + 1)
    rest[last] = 0.0
    h = level - 1
    for j in range(last - 1, -1, -1):
        if h >= 0 and ranked[h] == j:
            rest[j] = rest[j + 1]
            h -= 1
        else:
            rest[j] = rest[j + 1] + (tails[j] - tails[j + 1])
    for j in range(last):
        shares[j] = 0
        if n > 0 and rest[j] > rest[j + 1]:
            certain = rest[j + 1] == 0.0
            shares[j] = n if certain else _binomial(n, (rest[j] - rest[j + 1]) / rest[j])
            n -= shares[j]


@njit(**_JIT)
def _count_list(tails, n, depth, order, counts):
    """Count n rankings of one list: split down the ranks while a beginning has many of them."""
    last = len(tails) - 1
    shares = np.zeros((depth, last), np.int64)
    ranked = np.zeros((depth, depth), np.int64)
    nexts = np.zeros(depth, np.int64)
    if n <= 2 * last:
        _draw_each(tails, ranked[0], 0, n, depth, order, counts)
        return
    _split(tails, ranked[0], 0, n, shares[0])
    level = 0
    while level >= 0:
        j = nexts[level]
        if j == last:
            level -= 1
            continue
        nexts[level] += 1
        share = shares[level, j]
        counts[order[j], level] += share
        if share == 0 or level + 1 == depth:
            continue
        deeper = ranked[level + 1]
        deeper[:level] = ranked[level, :level]
        _insert(deeper, level, j)
        if share <= 2 * (last - level - 1):  # cheaper to draw them one by one
            _draw_each(tails, deeper, level + 1, share, depth, order, counts)
        else:
            level += 1
            _split(tails, deeper, level, share, shares[level])
            nexts[level] = 0


@njit(parallel=True, **_JIT)
def rank_counts(scores, orders, starts, lengths, displays, top_k, seeds, out):
    """Fill ``out[d, k]``: how often d was at rank k in ``displays[q]`` rankings of its list.

    Exactly as if each ranking had been drawn, but rankings with a common beginning are drawn
    together: time grows with N only until rankings repeat, memory not at all.
    """
    for q in prange(len(starts)):
        np.random.seed(seeds[q])
        chunk = out[starts[q] : starts[q] + lengths[q]]
        chunk[:] = 0
        if lengths[q] > 0 and displays[q] > 0:
            order = orders[starts[q] : starts[q] + lengths[q]]
            tails = _tails(scores[starts[q] : starts[q] + lengths[q]], order)
            _count_list(tails, displays[q], min(top_k, lengths[q]), order, chunk)
