"""Lists in which some documents are one, to find where the first of them comes."""

import numpy as np

from cltr.types import Booleans, Floats, Integers, Lists


def merge_chosen(scores: Floats, lists: Lists, chosen: Booleans) -> tuple[Floats, Lists, Integers]:
    """Lists with the chosen as one document, and where it is (-1 where none is chosen)."""
    owners, n = lists.owners, len(lists.lengths)
    top = np.full(n, -np.inf)
    np.maximum.at(top, owners[chosen], scores[chosen])
    rates = np.bincount(owners[chosen], np.exp(scores[chosen] - top[owners[chosen]]), minlength=n)
    some = rates > 0
    together = np.where(some, top + np.log(np.where(some, rates, 1.0)), 0.0)
    lengths = np.bincount(owners[~chosen], minlength=n) + some
    starts = np.cumsum(lengths) - lengths
    first = np.where(some, starts, -1)
    merged = np.empty(int(lengths.sum()))
    others = np.ones(len(merged), np.bool_)
    others[first[some]] = False
    merged[first[some]], merged[others] = together[some], scores[~chosen]
    return merged, Lists(starts, lengths), first
