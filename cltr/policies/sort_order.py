"""Sort documents by score within their lists."""

import numpy as np

from cltr.types import Floats, Integers, Lists


def order_within(keys: Floats, lists: Lists) -> Integers:
    """What sorts each list by rising key: ``np.lexsort((keys, lists.owners))``, but faster.

    Lists of similar length are sorted together, as rows of one array.

    Args:
        keys: list by list, end to end; equal keys stay as they are, NaN comes last.
        lists: their lengths.

    Example:
        >>> order_within(np.array([2.0, 1.0, 5.0]), Lists.of_offsets(np.array([0, 2, 3])))
        array([1, 0, 2])
    """
    firsts = np.cumsum(lists.lengths) - lists.lengths
    order = np.empty(len(keys), np.int64)
    sizes = np.frexp(lists.lengths.astype(np.float64))[1]  # doubling
    for size in np.unique(sizes[lists.lengths > 0]):
        rows = np.flatnonzero((sizes == size) & (lists.lengths > 0))
        lengths, start = lists.lengths[rows][:, None], firsts[rows][:, None]
        places = np.arange(int(lengths.max()))
        real, at = places < lengths, start + places
        padded = np.where(real, keys[np.minimum(at, len(keys) - 1)], np.nan)
        found = np.argsort(padded, axis=1, kind="stable")
        order[at[real]] = (start + found)[real]
    return order


def ranks_by_score(scores: Floats, lists: Lists) -> Integers:
    """Rank of each document in its list by falling score, from 0; entries of no list rank last.

    Example:
        >>> ranks_by_score(np.array([1.0, 3.0, 2.0, 5.0]), Lists.of_offsets(np.array([0, 3, 4])))
        array([2, 0, 1, 0])
    """
    flat = np.asarray(scores, dtype=np.float64).reshape(-1)
    members = lists.members
    order = order_within(-flat[members], lists)
    ranks = np.full(flat.shape, np.iinfo(np.int64).max)
    ranks[members[order]] = lists.places
    return ranks.reshape(scores.shape)


def places_by_score(scores: Floats, lists: Lists) -> Integers:
    """The other way round: the place in its list of the document at each rank, flat.

    Example:
        >>> places_by_score(np.array([1.0, 3.0, 2.0, 5.0]), Lists.of_offsets(np.array([0, 3, 4])))
        array([1, 2, 0, 0])
    """
    flat = np.asarray(scores, dtype=np.float64).reshape(-1)
    order = order_within(-flat[lists.members], lists)
    places = np.zeros(flat.shape, np.int64)
    places[lists.members] = lists.places[order]
    return places
