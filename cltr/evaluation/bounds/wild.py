r"""Wild cluster bootstrap: an interval for few clusters, or clusters of very different size.

To test a candidate mean m, the bootstrap multiplies each cluster's error :math:`S_c - m N_c` by a
random weight with mean 0 and variance 1, and looks how often the t statistic comes out as large as
the observed one. The interval holds all m that are not rejected.

References: Cameron, Gelbach and Miller, REStat 2008 (the bootstrap, with the null imposed); Webb,
Queen's University working paper 1315 (the weights); MacKinnon, Nielsen and Webb, Journal of
Econometrics 2023 (a guide).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cltr.evaluation.bounds.clusters import (
    ClusterTotals,
    cluster_error,
    diagnose_clusters,
    skew_interval,
    t_interval,
)
from cltr.evaluation.bounds.interval import Limits, MeanInterval, Target, miss_level
from cltr.evaluation.bounds.support import unseen_query
from cltr.types import Floats

METHOD = "wild cluster bootstrap"
WEBB = np.sqrt([0.5, 1.0, 1.5, 0.5, 1.0, 1.5]) * [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]
"""Webb's six weights, each with probability 1/6: mean 0, variance 1."""
DISTANCES = np.concatenate([[0.0], 2.0 ** np.arange(-4.0, 12.5, 0.5)])
"""Candidate means that are tried first: distance from the estimate, in linearised errors."""
REFINEMENTS = 5
"""Searches between two of them, with 12 steps each; the result is exact to 2e-6 of itself."""
ROUNDING = 1e-12
"""Relative size of differences that may be floating-point error."""
BLOCK = 4096
"""Clusters whose weights are drawn at a time, to bound memory."""


class _Sums(NamedTuple):
    """All that the bootstrap needs of the clusters, so that testing a mean costs few operations.

    Each cluster has an error e at the estimate, a count c and, in each draw, a random weight v.
    """

    linear: Floats  # [4, draws]: sums of v*e, v*c, v*e*c, v*c*c
    squared: Floats  # [3, draws]: sums of v*v*e*e, v*v*e*c, v*v*c*c
    size: float  # sum of c
    square_error: float  # sum of e*e
    square_count: float  # sum of c*c

    def mirrored(self) -> "_Sums":
        """The sums of the negated terms."""
        return self._replace(
            linear=self.linear * np.array([[-1.0], [1.0], [-1.0], [1.0]]),
            squared=self.squared * np.array([[1.0], [-1.0], [1.0]]),
        )


def wild_interval(
    totals: ClusterTotals, *, confidence: float, target: Target, seed: int, draws: int = 1999
) -> MeanInterval:
    """Interval by the studentised wild cluster bootstrap with Webb's weights, null imposed.

    It need not be symmetric. An end is infinite if no mean within 4096 linearised standard errors
    is rejected; with one cluster, or at 95% with two, both ends are. If all clusters have the
    same mean, the interval is a point. It takes 2 to 3 s for 100,000 clusters.

    **Valid approximately** if the clusters are independent and their errors roughly symmetric;
    clusters may be few and of very different size. **Not valid** with rare large losses: like t,
    it cannot know of a loss that did not occur in the log.

    Args:
        totals: sums and counts of the clusters.
        confidence: two-sided, for example 0.95.
        target: passed on to the result.
        seed: seed of the weights.
        draws: number of bootstrap samples.

    Example:
        >>> totals = ClusterTotals(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 8.0]), np.ones(6))
        >>> found = wild_interval(totals, confidence=0.95, target="new queries", seed=0)
        >>> found.low < found.value < found.high
        True
    """
    half = miss_level(confidence) / 2
    if len(totals.seen()[0]) == 1:
        unbounded = t_interval(totals, confidence=confidence, target=target)
        return replace(unbounded, method=METHOD)
    sums = _draw_sums(totals, draws=draws, rng=np.random.default_rng(seed))
    return MeanInterval(
        value=totals.value,
        error=cluster_error(totals),
        low=totals.value - _reach(sums, level=half),
        high=totals.value + _reach(sums.mirrored(), level=half),
        confidence=confidence,
        method=METHOD,
        target=target,
    )


def cluster_interval(
    totals: ClusterTotals,
    *,
    confidence: float,
    target: Target,
    seed: int,
    limits: Limits | None = None,
) -> MeanInterval:
    """The interval to use for a mean over clusters, or none where the data support none.

    With many effective clusters it is :func:`skew_interval`, and valid like it. With few, each end
    is the farther one of :func:`wild_interval` and :func:`t_interval`: the bootstrap alone is
    slightly too narrow where the means of clusters are skewed.

    Neither knows of rare large losses that are not in the log. Give ``limits`` and the result has
    no interval where such losses could matter (:func:`unseen_query`).

    Args:
        totals: sums and counts of the clusters.
        confidence: two-sided, for example 0.95.
        target: passed on to the result.
        seed: of the bootstrap.
        limits: the least and the most that the mean of a cluster can be, if known.

    Example:
        >>> few = ClusterTotals(np.arange(10.0), np.ones(10))
        >>> cluster_interval(few, confidence=0.95, target="new queries", seed=0).method
        'wild cluster bootstrap and t'
        >>> many = ClusterTotals(np.arange(50.0), np.ones(50))
        >>> cluster_interval(many, confidence=0.95, target="new queries", seed=0).method
        'clustered t with skewness'
    """
    found = t_interval(totals, confidence=confidence, target=target)
    reason = None if limits is None else unseen_query(found, totals, limits)
    if reason is not None:
        return found.without_interval(reason)
    if not diagnose_clusters(totals).few:
        return skew_interval(totals, confidence=confidence, target=target)
    drawn = wild_interval(totals, confidence=confidence, target=target, seed=seed)
    return replace(
        drawn,
        low=min(found.low, drawn.low),
        high=max(found.high, drawn.high),
        method=f"{METHOD} and t",
    )


def _draw_sums(totals: ClusterTotals, *, draws: int, rng: np.random.Generator) -> _Sums:
    counted, counts = totals.seen()
    errors = counted - totals.value * counts
    once = np.stack([errors, counts, errors * counts, counts**2])
    twice = np.stack([errors**2, errors * counts, counts**2])
    linear, squared = np.zeros((4, draws)), np.zeros((3, draws))
    for start in range(0, len(counts), BLOCK):
        block = slice(start, start + BLOCK)
        weights = WEBB[rng.integers(6, size=(len(counts[block]), draws), dtype=np.int8)]
        linear += once[:, block] @ weights
        squared += twice[:, block] @ weights**2
    return _Sums(
        linear=linear,
        squared=squared,
        size=float(counts.sum()),
        square_error=float(errors @ errors),
        square_count=float(counts @ counts),
    )


def _tail(sums: _Sums, distances: Floats) -> Floats:
    """P-value of "the mean is at most the estimate minus this distance", ``[distances]``."""
    # At the candidate mean the error of a cluster is e + distance * c.
    e, c, ec, cc = sums.linear
    vee, vec, vcc = sums.squared
    distances = distances[:, None]
    total = e + distances * c
    mean = total / sums.size
    spread = vee + distances * (2.0 * vec + distances * vcc)
    spread += mean * (mean * sums.square_count - 2.0 * (ec + distances * cc))
    observed = distances * sums.size / np.sqrt(sums.square_error)
    # Draws with equal weights tie with the observed statistic; rounding must not break the tie.
    spread -= ROUNDING * (vee + distances**2 * vcc + mean**2 * sums.square_count)
    as_large = total >= observed * np.sqrt(np.maximum(spread, 0.0))
    return np.asarray((1.0 + np.count_nonzero(as_large, axis=1)) / (1.0 + len(e)))


def _reach(sums: _Sums, *, level: float) -> float:
    """How far below the estimate a candidate mean is still kept; the farthest one, if several."""
    if sums.square_error == 0:
        return 0.0
    steps = DISTANCES * np.sqrt(sums.square_error) / sums.size
    for _ in range(1 + REFINEMENTS):
        last = int(np.flatnonzero(_tail(sums, steps) > level + ROUNDING).max(initial=0))
        if last == len(steps) - 1:
            return float("inf")
        steps = np.linspace(steps[last], steps[last + 1], 13)
    return float(steps[-1])
