"""A confidence sequence: bounds that hold at every look, so that a canary can stop at any time."""

from typing import NamedTuple

import numpy as np

from cltr.evaluation.bounds.interval import Limits, miss_level
from cltr.types import Floats

RATES = 0.9 * 0.5 ** np.arange(16.0)
r"""The rates :math:`\lambda_k`; the smallest suits about 1e10 terms."""
SHARES = 1.0 / np.arange(1.0, 17.0) / np.sum(1.0 / np.arange(1.0, 17.0))
"""Share of the miss level that each rate gets; they add up to 1."""


class RunningBounds(NamedTuple):
    """Lower and upper bound after each term, ``[terms]`` each."""

    low: Floats
    high: Floats


def running_bounds(terms: Floats, limits: Limits, *, confidence: float) -> RunningBounds:
    r"""Bounds for the running mean that hold at all times at once (empirical Bernstein).

    After t terms, with y scaled to [0, 1], :math:`\hat y_i` the mean of the terms before the i-th
    and :math:`\hat V_t = \sum_{i \le t} (y_i - \hat y_i)^2`, the radius around the running mean is

    .. math:: \frac{1}{t} \min_k \frac{\ln(2 / (\alpha s_k)) + \psi(\lambda_k) \hat V_t}{\lambda_k},
              \qquad \psi(\lambda) = -\ln(1 - \lambda) - \lambda.

    The bound of rate :math:`\lambda_k` fails at some time with probability at most
    :math:`\alpha s_k / 2` on each side, and the shares :math:`s_k` add up to 1.

    **Valid** at every look and under every stopping rule, if each term lies within limits that were
    fixed beforehand. The terms may depend on earlier ones, and their mean may drift: the bounds are
    for the average, up to now, of each term's mean given the past. Keep the order of arrival; do
    not shuffle. Do not keep the best bound of earlier looks: under drift it is not valid now.
    In a canary, the limits follow from the smallest share that it may ever use.

    Args:
        terms: in order of arrival, ``[terms]``.
        limits: the smallest and the largest possible term.
        confidence: two-sided, for all looks together, for example 0.95.

    Example:
        >>> low, high = running_bounds(np.tile([0.2, 0.6], 500), Limits(0.0, 1.0), confidence=0.95)
        >>> low[[9, 99, 999]].round(3), high[[9, 99, 999]].round(3)
        (array([0.   , 0.28 , 0.374]), array([1.   , 0.52 , 0.426]))

    References: Howard, Ramdas, McAuliffe and Sekhon, Time-uniform, nonparametric, nonasymptotic
    confidence sequences, Annals of Statistics 2021, Theorem 4 (here with a union over rates in
    place of the stitched boundary: nothing to tune).
    """
    scaled, level = limits.scale(terms), miss_level(confidence)
    counted = np.arange(1.0, len(scaled) + 1.0)
    sums = np.cumsum(scaled)
    guesses = (0.5 + np.concatenate([[0.0], sums[:-1]])) / counted
    variation = np.cumsum((scaled - guesses) ** 2)
    radius = np.full(len(scaled), np.inf)
    for rate, share in zip(RATES, SHARES, strict=True):
        slope = -np.log1p(-rate) - rate
        line = (np.log(2.0 / (level * share)) + slope * variation) / rate
        np.minimum(radius, line, out=radius)
    low, high = (sums - radius) / counted, (sums + radius) / counted
    return RunningBounds(
        limits.low + limits.width * np.maximum(low, 0.0),
        limits.low + limits.width * np.minimum(high, 1.0),
    )
