r"""The weight ratio :math:`\omega/\omega_0`: how far documents were moved."""

import numpy as np

from cltr.types import Floats, Lists


def ratio_extremes(weights: Floats, logging_weights: Floats, lists: Lists) -> tuple[Floats, Floats]:
    r"""Smallest and largest :math:`\omega/\omega_0` of every query, ``[queries]``.

    0/0 counts as 1: a document that neither policy shows has not moved.
    """
    settled = (logging_weights <= 0) & (weights <= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(settled, 1.0, weights / logging_weights)
    filled = lists.lengths > 0
    low = np.ones(len(lists.lengths))
    high = np.ones(len(lists.lengths))
    if filled.any():
        low[filled] = np.minimum.reduceat(ratio, lists.starts[filled])
        high[filled] = np.maximum.reduceat(ratio, lists.starts[filled])
    return low, high
