"""Sort documents by score within their lists."""

import numpy as np

from cltr.types import Floats, Integers, Lists


def ranks_by_score(scores: Floats, lists: Lists) -> Integers:
    """Rank of each document in its list by falling score, from 0; entries of no list rank last.

    Example:
        >>> ranks_by_score(np.array([1.0, 3.0, 2.0, 5.0]), Lists.of_offsets(np.array([0, 3, 4])))
        array([2, 0, 1, 0])
    """
    flat = np.asarray(scores, dtype=np.float64).reshape(-1)
    members = lists.members
    order = np.lexsort((-flat[members], lists.owners))
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
    order = np.lexsort((-flat[lists.members], lists.owners))
    places = np.zeros(flat.shape, np.int64)
    places[lists.members] = lists.places[order]
    return places
