r"""What clicks determine of position and trust bias, and how well: relations and their intervals.

Clicks leave the scale of relevance open (:mod:`cltr.clicks.affine_fit`). All scales agree on
**relations**: how the click probability at rank k follows from that at the first rank,
:math:`p_k = \text{slope}_k\, p_1 + \text{intercept}_k`. They have **intervals**, by the bootstrap
over queries, since interactions of one query share its documents and are not independent.

Examination and trust under trust bias have none: the convention that picks their scale has an error
which no resample shows, and bounds from relevance in [0, 1] rest on the least and most relevant
documents, which clicks hardly tell. Both were tried, and did not hold the truth.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from cltr.clicks.fit_tools import FitOptions
from cltr.types import Affine, ClickStatistics, Floats, Integers, Lists

INSIDE = 0.95
"""Highest click probability that a fit starts from: from a rounding error below 1, where a fit of
position bias may end, the next climb goes astray."""


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
Drawing = Callable[[ClickStatistics, Integers], ClickStatistics]
"""Counts in which each query comes so many times, ``[queries]``."""


def bootstrap(
    estimate: BiasEstimator,
    statistics: ClickStatistics,
    *,
    draw: Drawing | None = None,
    resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Percentile intervals of whatever is estimated from clicks, over queries drawn anew.

    Args:
        estimate: from statistics to estimates by name.
        statistics: clicks and impressions by rank.
        draw: :func:`repeat_queries` by default; :func:`copy_queries` where an estimate looks at
            documents one by one.
        resamples: how often queries are drawn, with replacement.
        confidence: nominal coverage of each interval.
        seed: of the draws.
    """
    rng, draw = np.random.default_rng(seed), draw or repeat_queries
    seen = np.flatnonzero(statistics.displays)
    drawn: dict[str, list[Floats]] = {}
    for _ in range(resamples):
        times = np.zeros(len(statistics.displays), np.int64)
        times[seen] = rng.multinomial(len(seen), np.full(len(seen), 1.0 / len(seen)))
        for name, values in estimate(draw(statistics, times)).items():
            drawn.setdefault(name, []).append(values)
    tail, wider = (1.0 - confidence) / 2, _few_queries(len(seen), confidence)
    found = {}
    for name, values in estimate(statistics).items():
        estimated = np.asarray(values)
        ends = np.quantile(drawn[name], [tail, 1.0 - tail], axis=0)
        found[name] = Interval(estimated, *(estimated + wider * (ends - estimated)))
    return found


def _few_queries(n: int, confidence: float) -> float:
    """How much wider an interval is for few queries: t over normal, and draws that vary too little.

    Example:
        >>> round(_few_queries(20, 0.95), 2), round(_few_queries(10_000, 0.95), 2)
        (1.09, 1.0)
    """
    free = max(n - 1, 1)
    z = NormalDist().inv_cdf((1.0 + confidence) / 2)
    return (1.0 + (z * z + 1.0) / (4.0 * free)) * float(np.sqrt((free + 1.0) / free))


def copy_queries(statistics: ClickStatistics, times: Integers) -> ClickStatistics:
    """Each query so many times, as queries of their own with documents of their own.

    A document that is drawn twice is two documents with as many impressions as it has, and not one
    of whose relevance twice as much is known.
    """
    queries = np.repeat(np.arange(len(times)), times)
    lengths = np.diff(statistics.offsets)[queries]
    rows = Lists(statistics.offsets[queries], lengths).members
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return ClickStatistics(
        statistics.impressions[rows],
        statistics.clicks[rows],
        statistics.displays[queries],
        offsets,
    )


def repeat_queries(statistics: ClickStatistics, times: Integers) -> ClickStatistics:
    """Each query's counts, so many times; ``[queries]``."""
    by_document = np.repeat(times, np.diff(statistics.offsets))[:, None]
    return replace(
        statistics,
        impressions=statistics.impressions * by_document,
        clicks=statistics.clicks * by_document,
        displays=statistics.displays * times,
    )


def bias_estimator(fitted: Affine, options: FitOptions) -> BiasEstimator:
    """What clicks determine of bias by rank, for :func:`bootstrap` with :func:`copy_queries`.

    Slope and intercept; and examination where there is no trust, as its highest value is 1.

    Args:
        fitted: to all queries; each fit starts near by. Trust 0 stays 0.
        options: how it is fitted; relevance is a table.
    """
    from cltr.clicks.affine_fit import fit_affine
    from cltr.clicks.counts import CellCounts

    lower = INSIDE / max(INSIDE, float((fitted.examination + fitted.trust).max()))
    start = Affine(lower * fitted.examination, lower * fitted.trust)

    def estimate(statistics: ClickStatistics) -> dict[str, Floats]:
        found = fit_affine(CellCounts.of_statistics(statistics), start, options).affine
        examination = {} if start.trust.any() else {"examination": found.examination}
        return examination | relations(found)._asdict()

    return estimate
