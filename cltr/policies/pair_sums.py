"""Sums over all pairs of documents of a list: in bounded memory, and linear for long lists."""

from collections.abc import Callable

import numpy as np

from cltr.types import Floats, Integers, Lists

PAIRS = 4_000_000
"""Pairs of documents from which on a list is summed by interpolation."""
AT_ONCE = 100_000
"""Pairs that are held at a time, or those of one document: they stay in the cache."""
NODES = 28
"""Chebyshev nodes of an interval; the logistic and the normal curve are met to 1e-13."""

Before = Callable[[Floats], Floats]
"""Elementwise; it may write into what it is given."""


def sum_of_pairs(
    scores: Floats, lists: Lists, rows: Integers, before: Before, *, scale: float = 1.0
) -> Floats:
    """For each row, the sum of ``before(s_j - s_d)`` over its list, itself included, ``[rows]``.

    Args:
        scores: of all documents.
        lists: where each query's documents lie.
        rows: documents to sum for, list by list.
        before: a smooth function of the gap, elementwise.
        scale: over which gaps ``before`` changes.
    """
    scores = np.asarray(scores, np.float64)
    owners = lists.owners[rows]
    wanted = np.bincount(owners, minlength=len(lists.lengths))
    long = wanted * lists.lengths > PAIRS
    found = np.zeros(len(rows))
    short = ~long[owners]
    found[short] = _pair_by_pair(scores, lists, rows[short], before)
    for query in np.flatnonzero(long):
        here = owners == query
        first = int(lists.starts[query])
        list_scores = scores[first : first + int(lists.lengths[query])]
        found[here] = _interpolated(list_scores, scores[rows[here]], before, scale)
    return found


def _pair_by_pair(scores: Floats, lists: Lists, rows: Integers, before: Before) -> Floats:
    from cltr.kernels import pair_gaps

    owners, own = lists.owners[rows], scores[rows]
    lengths = lists.lengths[owners]
    found = np.zeros(len(rows))
    ends = np.cumsum(lengths)
    room = np.empty(max(AT_ONCE, int(lengths.max(initial=0))))
    start = 0
    while start < len(rows):
        first = ends[start] - lengths[start]
        stop = max(start + 1, int(np.searchsorted(ends, first + AT_ONCE)))
        here, gaps = slice(start, stop), room[: ends[stop - 1] - first]
        pair_gaps.fill(scores, *lists, owners[here], own[here], gaps)
        found[here] = pair_gaps.add_up(before(gaps), lists.lengths, owners[here])
        start = stop
    return found


def _interpolated(scores: Floats, points: Floats, before: Before, scale: float) -> Floats:
    """The sum as a smooth function of the score, from its values at Chebyshev nodes.

    Intervals are two scales wide. One with fewer points than nodes is summed point by point.
    """
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    nodes = np.cos(angles)
    signs: Floats = np.sin(angles) * np.where(np.arange(NODES) % 2, -1.0, 1.0)
    width = 2.0 * scale
    interval = np.floor((points - points.min()) / width)
    found = np.empty(len(points))
    for number in np.unique(interval):
        here = interval == number
        inside = points[here]
        if len(inside) <= NODES:
            found[here] = _sums_at(inside, scores, before)
            continue
        middle = points.min() + (number + 0.5) * width
        places = middle + nodes * width / 2
        found[here] = _barycentric(inside, places, _sums_at(places, scores, before), signs)
    return found


def _sums_at(places: Floats, scores: Floats, before: Before) -> Floats:
    return np.array([before(scores - place).sum() for place in places])


def _barycentric(points: Floats, places: Floats, values: Floats, signs: Floats) -> Floats:
    gaps = points[:, None] - places
    at_node = gaps == 0.0
    shares = signs / np.where(at_node, 1.0, gaps)
    found: Floats = (shares @ values) / shares.sum(-1)
    exact = at_node.any(-1)
    found[exact] = values[at_node[exact].argmax(-1)]
    return found
