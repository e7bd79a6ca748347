"""Sums over all pairs of documents of a list, in bounded memory."""

from collections.abc import Callable

import numpy as np

from cltr.types import Floats, Integers, Lists

PAIRS = 4_000_000
"""Pairs of documents that are held at a time."""


def sum_of_pairs(
    scores: Floats, lists: Lists, rows: Integers, before: Callable[[Floats], Floats]
) -> Floats:
    """For each row, the sum of ``before(s_j - s_d)`` over its list, itself included, ``[rows]``."""
    owners = lists.owners[rows]
    lengths = lists.lengths[owners]
    found = np.zeros(len(rows))
    ends = np.cumsum(lengths)
    start = 0
    while start < len(rows):
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] - lengths[start] + PAIRS)))
        here = slice(start, stop)
        pairs = Lists(lists.starts[owners[here]], lengths[here])
        gaps = scores[pairs.members] - np.repeat(scores[rows[here]], lengths[here])
        found[here] = np.bincount(pairs.owners, before(gaps), minlength=stop - start)
        start = stop
    return found
