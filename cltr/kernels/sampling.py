r"""Plackett-Luce rankings, drawn or counted, compiled and parallel over lists.

Documents are sorted by score once per list (``orders``). Every list has its own seed: results do
not depend on the number of threads.
"""

import numpy as np
from numba import njit, prange

from cltr.kernels.one_ranking import draw, generator, guide_to, tails_of

_JIT = {"cache": True, "error_model": "numpy"}


@njit(**_JIT)
def _insert(ranked, n_ranked, place):
    """Add a place to those that are ranked, in order."""
    h = n_ranked
    while h > 0 and ranked[h - 1] > place:
        ranked[h] = ranked[h - 1]
        h -= 1
    ranked[h] = place


@njit(parallel=True, **_JIT)
def rankings(scores, orders, starts, lengths, top_k, seeds, out):
    """Fill ``out[q, s, k]`` with the place in list q of the document at rank k; -1 past its end."""
    for q in prange(len(starts)):
        out[q] = -1
        if lengths[q] > 0:
            order = orders[starts[q] : starts[q] + lengths[q]]
            tails = tails_of(scores[starts[q] : starts[q] + lengths[q]], order)
            guide = guide_to(tails)
            state = generator(seeds[q])
            stamps = np.zeros(len(tails), np.int64)
            depth = min(top_k, lengths[q])
            places = np.empty(depth, np.int64)
            for s in range(out.shape[1]):
                draw(tails, guide, state, stamps, places, 0)
                for k in range(depth):
                    out[q, s, k] = order[places[k]]


@njit(parallel=True, **_JIT)
def ragged_rankings(scores, orders, starts, lengths, displays, rows, top_k, seeds, out):
    """As :func:`rankings`, ``displays[q]`` of them from row ``rows[q]`` on, as flat indices."""
    for q in prange(len(starts)):
        if lengths[q] > 0 and displays[q] > 0:
            order = orders[starts[q] : starts[q] + lengths[q]]
            tails = tails_of(scores[starts[q] : starts[q] + lengths[q]], order)
            guide = guide_to(tails)
            state = generator(seeds[q])
            stamps = np.zeros(len(tails), np.int64)
            depth = min(top_k, lengths[q])
            places = np.empty(depth, np.int64)
            for row in range(rows[q], rows[q] + displays[q]):
                out[row] = -1
                draw(tails, guide, state, stamps, places, 0)
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
def _draw_each(tails, guide, state, stamps, places, ranked, level, n, order, counts):
    """Count n rankings that share their first ``level`` places, one by one."""
    places[:level] = ranked[:level]
    for _ in range(n):
        draw(tails, guide, state, stamps, places, level)
        for k in range(level, len(places)):
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
def _count_list(tails, n, depth, order, seed, counts):
    """Count n rankings of one list: split down the ranks while a beginning has many of them."""
    np.random.seed(seed)
    last = len(tails) - 1
    guide = guide_to(tails)
    state = generator(seed)
    stamps = np.zeros(len(tails), np.int64)
    places = np.empty(depth, np.int64)
    shares = np.zeros((depth, last), np.int64)
    ranked = np.zeros((depth, depth), np.int64)
    nexts = np.zeros(depth, np.int64)
    if n <= 2 * last:
        _draw_each(tails, guide, state, stamps, places, ranked[0], 0, n, order, counts)
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
            _draw_each(tails, guide, state, stamps, places, deeper, level + 1, share, order, counts)
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
        chunk = out[starts[q] : starts[q] + lengths[q]]
        chunk[:] = 0
        if lengths[q] > 0 and displays[q] > 0:
            order = orders[starts[q] : starts[q] + lengths[q]]
            tails = tails_of(scores[starts[q] : starts[q] + lengths[q]], order)
            depth = min(top_k, lengths[q])
            _count_list(tails, displays[q], depth, order, seeds[q], chunk)
