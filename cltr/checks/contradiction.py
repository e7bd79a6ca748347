"""Whether click rates by rank can come from a click model."""

import numpy as np

from cltr.errors import CltrError
from cltr.interfaces import ClickModel
from cltr.types import Integers


def contradiction(model: ClickModel, impressions: Integers, clicks: Integers) -> str:
    """The first rank whose click rate an affine model excludes, in words; empty if there is none.

    Args:
        model: what is assumed.
        impressions: by rank, ``[K]``.
        clicks: by rank, ``[K]``.
    """
    top_k = most_ranks(model, len(impressions))
    if top_k == 0:
        return ""
    shown, (examination, trust) = impressions[:top_k], model.require_affine(top_k)
    rates = clicks[:top_k] / np.maximum(shown, 1)
    error = 3 * np.sqrt(rates * (1 - rates) / np.maximum(shown, 1))
    low, high = np.minimum(trust, examination + trust), np.maximum(trust, examination + trust)
    outside = np.flatnonzero((shown > 0) & ((rates + error < low) | (rates - error > high)))
    if not len(outside):
        return ""
    rank = int(outside[0])
    return (
        f"'{model.name}' says that rank {rank + 1} is clicked between {low[rank]:.2f} and "
        f"{high[rank]:.2f} of the time; in the log it is {rates[rank]:.3f}"
    )


def most_ranks(model: ClickModel, top_k: int) -> int:
    """The most ranks that an affine model has values for; 0 if it is not affine."""
    for n_ranks in range(top_k, 0, -1):
        try:
            return 0 if model.affine(n_ranks) is None else n_ranks
        except CltrError:  # it has values for fewer ranks
            continue
    return 0
