"""Sort documents by score within their lists."""

import numpy as np

from cltr.types import Floats, Integers, Lists


def order_within(keys: Floats, lists: Lists) -> Integers:
    """What sorts each list by rising key: ``np.lexsort((keys, lists.owners))``, but faster.

    Args:
        keys: list by list, end to end; equal keys stay as they are, NaN comes last.
        lists: their lengths.

    Example:
        >>> order_within(np.array([2.0, 1.0, 5.0]), Lists.of_offsets(np.array([0, 2, 3])))
        array([1, 0, 2])
    """
    from cltr.kernels import sorting

    firsts = np.cumsum(lists.lengths) - lists.lengths
    order = np.empty(len(keys), np.int64)
    sorting.orders(np.ascontiguousarray(keys, np.float64), firsts, lists.lengths, order)
    order += np.repeat(firsts, lists.lengths)
    return order


def ranks_by_score(scores: Floats, lists: Lists) -> Integers:
    """Rank of each document in its list by falling score, from 0; entries of no list rank last.

    Example:
        >>> ranks_by_score(np.array([1.0, 3.0, 2.0, 5.0]), Lists.of_offsets(np.array([0, 3, 4])))
        array([2, 0, 1, 0])
    """
    from cltr.kernels import sorting

    flat = np.asarray(scores, dtype=np.float64).reshape(-1)
    ranks = np.full(flat.shape, np.iinfo(np.int64).max)
    sorting.ranks(-flat, *lists, ranks)
    return ranks.reshape(scores.shape)


def places_by_score(scores: Floats, lists: Lists) -> Integers:
    """The other way round: the place in its list of the document at each rank, flat.

    Example:
        >>> places_by_score(np.array([1.0, 3.0, 2.0, 5.0]), Lists.of_offsets(np.array([0, 3, 4])))
        array([1, 2, 0, 0])
    """
    from cltr.kernels import sorting

    flat = np.asarray(scores, dtype=np.float64).reshape(-1)
    places = np.zeros(flat.shape, np.int64)
    sorting.orders(-flat, *lists, places)
    return places
