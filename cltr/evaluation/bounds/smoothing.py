"""Logarithmic smoothing: a lower bound for terms without an upper limit, such as raw weights."""

import numpy as np

from cltr.errors import DataError, OptionError
from cltr.evaluation.bounds.interval import checked_terms, miss_level
from cltr.types import Floats


def smoothed_mean(terms: Floats, *, rate: float, low: float = 0.0) -> float:
    r"""Mean that damps large terms: :math:`\frac{1}{n\lambda} \sum_i \ln(1 + \lambda X_i)`.

    It is at most the sample mean, and tends to it as the rate tends to 0.

    Args:
        terms: X, ``[terms]``.
        rate: :math:`\lambda > 0`, fixed before the terms are seen.
        low: the smallest value that a term can take; the rate must be below -1/low.

    Example:
        >>> round(smoothed_mean(np.array([0.0, np.e - 1.0]), rate=1.0), 3)
        0.5
    """
    terms = checked_terms(terms)
    largest = -1.0 / low if low < 0 else np.inf
    if not 0.0 < rate < largest:
        raise OptionError(f"rate is {rate:g}; it must lie between 0 and {largest:g}")
    if terms.min() < low:
        raise DataError(f"a term is {terms.min():g}, less than the lower limit {low:g}")
    return float(np.log1p(rate * terms).mean() / rate)


def smoothed_lower(terms: Floats, *, rate: float, confidence: float, low: float = 0.0) -> float:
    r"""Lower confidence bound: :func:`smoothed_mean` minus :math:`\ln(1/\alpha) / (\lambda n)`.

    It follows from :math:`E \prod_i (1 + \lambda X_i) \le e^{\lambda n U}` and Markov's inequality.

    **Valid** at every sample size for independent terms, if the rate was fixed before they were
    seen and no term can be less than ``low``. No upper limit is needed, so weights need no clip.
    The terms may have different means. It bounds the mean from below only.

    Example:
        >>> round(smoothed_lower(np.full(1000, 0.5), rate=0.1, confidence=0.95), 3)
        0.458

    References: Sakhi, Aouali, Alquier and Chopin, Logarithmic smoothing, arXiv 2405.14335.
    """
    mean, n = smoothed_mean(terms, rate=rate, low=low), np.size(terms)
    return mean + float(np.log(miss_level(confidence))) / (rate * n)


def smoothing_rate(second_moment: float, n_terms: int, *, confidence: float) -> float:
    r"""The rate that suits terms of this size: :math:`\sqrt{2 \ln(1/\alpha) / (n\, E[X^2])}`.

    Compute the second moment on other data than the bound, for example on other folds. If terms
    can be negative, take the smaller of this rate and, say, -0.5/low.

    Example:
        >>> round(smoothing_rate(2.0, 1000, confidence=0.95), 4)
        0.0547
    """
    if not (second_moment > 0 and n_terms > 0):
        raise DataError(
            f"the second moment is {second_moment:g} over {n_terms} terms; both must be positive"
        )
    return float(np.sqrt(-2.0 * np.log(miss_level(confidence)) / (n_terms * second_moment)))
