"""Two classical bounds for bounded terms, in closed form. Betting is tighter than both."""

import numpy as np

from cltr.evaluation.bounds.interval import Limits, miss_level
from cltr.types import Floats


def hoeffding_lower(terms: Floats, limits: Limits, *, confidence: float) -> float:
    r"""Lower confidence bound from the limits a and b alone.

    .. math:: \bar X - (b - a) \sqrt{\ln(1/\alpha) / (2n)}

    **Valid** at every sample size for independent terms within limits known beforehand. The terms
    may have different means; the bound is then for the average of these means.

    Example:
        >>> round(hoeffding_lower(np.full(100, 0.5), Limits(0.0, 1.0), confidence=0.95), 4)
        0.3776
    """
    scaled = limits.scale(terms)
    radius = np.sqrt(-np.log(miss_level(confidence)) / (2 * len(scaled)))
    return limits.restore(max(0.0, scaled.mean() - radius))


def bernstein_lower(terms: Floats, limits: Limits, *, confidence: float) -> float:
    r"""Lower confidence bound from the limits a and b and the sample variance V.

    .. math:: \bar X - \sqrt{\frac{2 V \ln(2/\alpha)}{n}} - \frac{7 (b - a) \ln(2/\alpha)}{3(n - 1)}

    **Valid** at every sample size for independent terms within limits known beforehand. The terms
    may have different means. The bound is one-sided; the 2 pays for estimating the variance.

    Example:
        >>> round(bernstein_lower(np.full(100, 0.5), Limits(0.0, 1.0), confidence=0.95), 4)
        0.4131

    References: Maurer and Pontil, Empirical Bernstein bounds and sample variance penalization,
    COLT 2009, Theorem 11.
    """
    scaled, cost = limits.scale(terms), np.log(2.0 / miss_level(confidence))
    n = len(scaled)
    if n == 1:
        return limits.low
    radius = np.sqrt(2 * scaled.var(ddof=1) * cost / n) + 7 * cost / (3 * (n - 1))
    return limits.restore(max(0.0, scaled.mean() - radius))
