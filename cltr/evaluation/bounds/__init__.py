"""Confidence bounds for the mean of click outcomes, and what each of them needs to be valid.

Which bound to use:

======================================== ==========================================================
Independent terms within known limits    :func:`betting_interval`: valid at every sample size.
Terms that share a session or a query    :func:`cluster_interval` (approximate) or, with known
                                         limits, :func:`cluster_betting_lower` (valid).
A canary that is watched live            :func:`running_bounds`: valid at every look.
Weights without a clip, terms unbounded  :func:`smoothed_lower`: needs a lower limit only.
Several candidates                       :func:`union_confidence` or :func:`holm`.
======================================== ==========================================================

Some logs support no interval. :func:`cluster_interval` says so if it is given limits, and
:func:`few_clicks` tells it from propensities; the result is then
:meth:`MeanInterval.without_interval`, with the reason.

A one-sided bound at confidence 0.95 is wrong in at most 5% of all logs. A two-sided interval
spends half of that on each side.
"""

from cltr.evaluation.bounds.betting import (
    betting_interval,
    betting_lower,
    betting_p_value,
    betting_upper,
    cluster_betting_lower,
    cluster_betting_upper,
)
from cltr.evaluation.bounds.clusters import (
    ClusterDiagnostics,
    ClusterTotals,
    WeightDiagnostics,
    cluster_error,
    diagnose_clusters,
    diagnose_weights,
    skew_interval,
    t_interval,
)
from cltr.evaluation.bounds.importance import click_limits
from cltr.evaluation.bounds.interval import Limits, MeanInterval, Target
from cltr.evaluation.bounds.multiplicity import holm, union_confidence
from cltr.evaluation.bounds.reference import bernstein_lower, hoeffding_lower
from cltr.evaluation.bounds.running import RunningBounds, running_bounds
from cltr.evaluation.bounds.smoothing import smoothed_lower, smoothed_mean, smoothing_rate
from cltr.evaluation.bounds.student import student_quantile
from cltr.evaluation.bounds.support import equal_clicks, few_clicks, unseen_query
from cltr.evaluation.bounds.wild import cluster_interval, wild_interval

__all__ = [
    "ClusterDiagnostics",
    "ClusterTotals",
    "Limits",
    "MeanInterval",
    "RunningBounds",
    "Target",
    "WeightDiagnostics",
    "bernstein_lower",
    "betting_interval",
    "betting_lower",
    "betting_p_value",
    "betting_upper",
    "click_limits",
    "cluster_betting_lower",
    "cluster_betting_upper",
    "cluster_error",
    "cluster_interval",
    "diagnose_clusters",
    "diagnose_weights",
    "equal_clicks",
    "few_clicks",
    "hoeffding_lower",
    "holm",
    "running_bounds",
    "skew_interval",
    "smoothed_lower",
    "smoothed_mean",
    "smoothing_rate",
    "student_quantile",
    "t_interval",
    "union_confidence",
    "unseen_query",
    "wild_interval",
]
