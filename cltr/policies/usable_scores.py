"""The gate before the kernels: scores from which rankings can be made."""

import numpy as np

from cltr.errors import NotFiniteError
from cltr.kernels.score_range import LARGEST
from cltr.types import Floats


def usable(scores: Floats, *, drawn: bool = False) -> Floats:
    """The scores, flat, as kernels take them; refuses NaN and what is infinite or far too large.

    Args:
        scores: of documents; -inf for padding, and for documents that come last.
        drawn: whether all must be finite, as for rankings that are drawn.

    Example:
        >>> usable(np.array([[1.0, -np.inf]]))
        array([  1., -inf])
        >>> usable(np.array([1.0, np.nan]))
        Traceback (most recent call last):
        cltr.errors.NotFiniteError: 1 of 2 scores is not finite or exceeds 1e+15; ...
    """
    flat = np.ascontiguousarray(scores, dtype=np.float64).reshape(-1)
    highest = flat.max(initial=-np.inf)  # NaN if there is one
    lowest = flat.min(initial=np.inf) if drawn else 0.0
    if highest <= LARGEST and lowest >= -LARGEST:
        return flat
    wrong = int((~(np.abs(flat) <= LARGEST) if drawn else ~(flat <= LARGEST)).sum())
    raise NotFiniteError(
        f"{wrong:,} of {len(flat):,} scores {'is' if wrong == 1 else 'are'} not finite or "
        f"{'exceeds' if wrong == 1 else 'exceed'} {LARGEST:g}; no ranking can be made from them"
    )
