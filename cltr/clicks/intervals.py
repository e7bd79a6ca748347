r"""What clicks determine of position and trust bias, and how well: relations and their intervals.

Clicks leave the scale of relevance open (:mod:`cltr.clicks.affine_fit`). All scales agree on
**relations**: how the click probability at rank k follows from that at the first rank,
:math:`p_k = \text{slope}_k\, p_1 + \text{intercept}_k`. They have **intervals**, from the
covariance of the fit (:mod:`cltr.clicks.fit_error`). Harvested position bias has intervals by
leaving out groups of queries: interactions of one query share its documents, so they are not
independent.

Examination and trust under trust bias have none: the convention that picks their scale has an error
which no resample shows, and bounds from relevance in [0, 1] rest on the least and most relevant
documents, which clicks hardly tell. Both were tried, and did not hold the truth.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cltr.types import Affine, ClickStatistics, Floats, Integers

CONFIDENCE = 0.95
"""Of every interval of bias."""
SIDE = NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2)
"""Standard errors from the estimate to an end of its interval."""
GROUPS, FEWEST = 50, 10
"""Groups of queries that are left out in turn; with fewer queries, each is a group."""


class Relation(NamedTuple):
    r""":math:`\alpha_k/\alpha_1` and :math:`\beta_k - \beta_1\alpha_k/\alpha_1`, ``[K]`` each."""

    slope: Floats
    intercept: Floats


def relations(affine: Affine) -> Relation:
    """The click probability at each rank as a function of that at the first.

    NaN where relevance changes nothing at the first rank.

    Example:
        >>> relations(Affine(np.array([0.4, 0.2]), np.array([0.5, 0.3])))
        Relation(slope=array([1. , 0.5]), intercept=array([0.  , 0.05]))
    """
    first = affine.examination[0]
    slope = affine.examination / first if first > 0 else np.full(len(affine.trust), np.nan)
    return Relation(slope, affine.trust - slope * affine.trust[0])


class Interval(NamedTuple):
    """An estimate with its interval, ``[K]`` each."""

    estimate: Floats
    low: Floats
    high: Floats


BiasEstimator = Callable[[ClickStatistics], Mapping[str, Floats]]
Spread = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Calls a function on each of several things; results are in their order."""
Given = TypeVar("Given")
Found = TypeVar("Found")


def fitted_intervals(affine: Affine, covariance: Floats | None) -> dict[str, Interval]:
    """Intervals of slope and intercept, and of examination where there is no trust.

    None at all where the error of the fit is not known, or relevance changes nothing at rank 1.

    Args:
        affine: fitted examination and trust.
        covariance: of these, ``[2, K, 2, K]``.

    Example:
        >>> affine = Affine(np.array([1.0, 0.5]), np.zeros(2))
        >>> covariance = np.zeros((2, 2, 2, 2))
        >>> covariance[0, 1, 0, 1] = 0.01**2
        >>> fitted_intervals(affine, covariance)["examination"].low.round(4)
        array([1.    , 0.4804])
    """
    if covariance is None or not np.isfinite(covariance).all() or not affine.examination[0] > 0:
        return {}
    estimates = relations(affine)
    slopes = _slope_gradients(affine)
    found = {"slope": _interval(estimates.slope, slopes, covariance)}
    gradients = -affine.trust[0] * slopes
    ranks = np.arange(len(affine.trust))
    gradients[ranks, 1, ranks] += 1.0
    gradients[:, 1, 0] -= estimates.slope
    found["intercept"] = _interval(estimates.intercept, gradients, covariance)
    if not affine.trust.any():
        alone = np.zeros(slopes.shape)
        alone[ranks, 0, ranks] = 1.0
        found["examination"] = _interval(affine.examination, alone, covariance)
    return found


def _slope_gradients(affine: Affine) -> Floats:
    r"""Of :math:`\alpha_k/\alpha_1`, ``[K, 2, K]``."""
    first, ranks = affine.examination[0], np.arange(len(affine.trust))
    gradients = np.zeros((len(ranks), 2, len(ranks)))
    gradients[ranks, 0, ranks] = 1.0 / first
    gradients[:, 0, 0] -= affine.examination / first**2
    return gradients


def _interval(estimate: Floats, gradients: Floats, covariance: Floats) -> Interval:
    variance = np.einsum("kai,aibj,kbj->k", gradients, covariance, gradients)
    reach = SIDE * np.sqrt(np.maximum(variance, 0.0))
    return Interval(estimate, estimate - reach, estimate + reach)


def in_turn(function: Callable[[Given], Found], things: Sequence[Given]) -> list[Found]:
    """Call a function on each of several things, one after the other."""
    return [function(thing) for thing in things]


@dataclass(frozen=True)
class _LeavingOut:
    """The estimate without one group of queries; it can be sent to another process."""

    estimate: BiasEstimator
    statistics: ClickStatistics
    member: Integers
    """The group of each query, ``[queries]``."""

    def __call__(self, group: int) -> Mapping[str, Floats]:
        return self.estimate(self.statistics.of_queries(self.member != group))


def jackknife(
    estimate: BiasEstimator,
    statistics: ClickStatistics,
    *,
    seed: int = 0,
    spread: Spread = in_turn,
) -> dict[str, Interval]:
    """Intervals of what is estimated from clicks, by leaving out one group of queries at a time.

    None at all with fewer than 10 queries; NaN where an estimate is unknown without some group.

    Args:
        estimate: from statistics to estimates by name.
        statistics: clicks and impressions by rank.
        seed: of the groups.
        spread: calls a function on each of several things, here or on a cluster.
    """
    seen = np.flatnonzero(statistics.displays)
    groups = min(GROUPS, len(seen))
    if groups < FEWEST:
        return {}
    member = np.full(len(statistics.displays), -1)
    member[seen] = np.random.default_rng(seed).permutation(len(seen)) % groups
    parts = spread(_LeavingOut(estimate, statistics, member), range(groups))
    found = {}
    for name, values in estimate(statistics).items():
        without = np.array([part[name] for part in parts])
        error = np.sqrt((groups - 1) / groups * ((without - without.mean(0)) ** 2).sum(0))
        reach = SIDE * (1.0 + (SIDE**2 + 1.0) / (4.0 * (groups - 1))) * error  # Student's t
        found[name] = Interval(values, values - reach, values + reach)
    return found
