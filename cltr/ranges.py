r"""[6] How far apart scores may lie: rates :math:`e^s` must stay above 0 in floating point."""

import numpy as np

from cltr.types import Floats, Lists

FLOOR = -600.0
"""Scores further than this below the list's highest count as this far below."""
WIDEST_GAP = 40.0
"""Across a wider gap nobody overtakes: the chance is below 1e-17."""


def close_gaps(flat: Floats, lists: Lists) -> Floats:
    """The same policy with scores that ``exp`` can tell apart.

    Where scores spread further than ``FLOOR``, wide gaps between neighbours are narrowed to
    ``WIDEST_GAP``, so that the first 15 ranks are right however far apart their scores are.

    Example:
        >>> close_gaps(np.array([-900.0, 0.0, -901.0]), Lists.of_offsets(np.array([0, 3])))
        array([-40.,   0., -41.])
    """
    finite = np.isfinite(flat)
    spread = flat.max(where=finite, initial=-np.inf) - flat.min(where=finite, initial=np.inf)
    if spread <= -FLOOR:
        return flat
    falling = lists.members[np.lexsort((-flat[lists.members], lists.owners))]
    scores = flat[falling]
    drops = np.where(lists.places == 0, 0.0, -np.diff(scores, prepend=scores[:1]))
    depths = np.cumsum(np.minimum(drops, WIDEST_GAP))
    heads = np.repeat(depths[lists.places == 0], lists.lengths[lists.lengths > 0])
    closed = flat.copy()
    closed[falling] = heads - depths
    return closed
