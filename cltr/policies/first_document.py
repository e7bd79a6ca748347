"""Lists in which some documents are one, to find where the first of them comes."""

import numpy as np

from cltr.types import Booleans, Floats, Integers, Lists


def merge_chosen(scores: Floats, lists: Lists, chosen: Booleans) -> tuple[Floats, Lists, Integers]:
    """Lists with the chosen as one document, and where it is (-1 where none is chosen)."""
    rows, n = np.flatnonzero(chosen), len(lists.lengths)
    owners, own = lists.owners[rows], scores[rows]
    counts, top = np.bincount(owners, minlength=n), np.full(n, -np.inf)
    if len(rows):
        top[counts > 0] = np.maximum.reduceat(own, (np.cumsum(counts) - counts)[counts > 0])
    rates = np.bincount(owners, np.exp(own - top[owners]), minlength=n)
    some = rates > 0
    together = np.where(some, top + np.log(np.where(some, rates, 1.0)), 0.0)
    lengths = lists.lengths - counts + some
    starts = np.cumsum(lengths) - lengths
    first = np.where(some, starts, -1)
    merged = np.empty(int(lengths.sum()))
    others = np.ones(len(merged), np.bool_)
    others[first[some]] = False
    merged[first[some]], merged[others] = together[some], scores[~chosen]
    return merged, Lists(starts, lengths), first
