"""Several candidates or clips on one log: how to keep the chance of any mistake small."""

import numpy as np

from cltr.errors import DataError
from cltr.evaluation.bounds.interval import checked_terms, miss_level
from cltr.types import Floats


def union_confidence(confidence: float, *, comparisons: int) -> float:
    r"""The confidence that each of several bounds needs so that all hold together.

    .. math:: 1 - \alpha / m

    **Valid** whatever the dependence between the bounds, if the number m of comparisons was fixed
    before the log was read. Count every candidate that could have been reported.

    Example:
        >>> round(union_confidence(0.95, comparisons=5), 4)
        0.99
    """
    if comparisons < 1:
        raise DataError(f"the number of comparisons is {comparisons}; it must be at least 1")
    return 1.0 - miss_level(confidence) / comparisons


def holm(p_values: Floats, *, comparisons: int) -> Floats:
    r"""P-values adjusted for several comparisons (Holm): reject those at most :math:`\alpha`.

    The i-th smallest p-value is multiplied by :math:`m - i + 1`; the results are made increasing
    and are at most 1. Holm rejects at least as often as the union bound.

    **Valid** (probability of any false rejection at most :math:`\alpha`) whatever the dependence
    between valid p-values, if m was fixed before the log was read. m may exceed the number of
    p-values: candidates that were dropped count as well.

    Args:
        p_values: one per reported candidate, ``[candidates]``.
        comparisons: m, the number of candidates fixed beforehand.

    Example:
        >>> holm(np.array([0.01, 0.04, 0.03]), comparisons=3)
        array([0.03, 0.06, 0.06])
    """
    p_values = checked_terms(p_values)
    if comparisons < len(p_values):
        raise DataError(
            f"there are {len(p_values)} p-values but {comparisons} comparisons; "
            "the number fixed beforehand must count all of them"
        )
    if p_values.min() < 0 or p_values.max() > 1:
        raise DataError("a p-value lies outside [0, 1]")
    order = np.argsort(p_values)
    factors = comparisons - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(p_values[order] * factors).clip(max=1.0)
    return adjusted
