"""Conformance of metrics."""

from dataclasses import replace

import numpy as np

from cltr.extensions import Metric
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.on_dataset import ScoredPolicy
from cltr.testing.demands import check_component, demand
from cltr.testing.tiny_data import TOP_K, tiny_dataset


def check_metric(metric: Metric) -> None:
    """A finite number for each query, the best ranking first, the same each time, in any order."""
    check_component(metric)
    data = tiny_dataset(40)
    scores = data.features[:, 1].astype(np.float64)
    for policy in (PlackettLuce(), Deterministic()):
        values = metric.values(ScoredPolicy(data, scores, policy), top_k=TOP_K)
        if values is None:
            continue
        demand(values.shape == (data.n_queries,), "values are not one number per query")
        demand(bool(np.isfinite(values).all()), "a value is not finite")
        again = metric.values(ScoredPolicy(data, scores, policy), top_k=TOP_K)
        demand(again is not None and np.array_equal(values, again), "another value each time")
    best, worst = (
        metric.values(ScoredPolicy(data, sign * data.labels, Deterministic()), top_k=TOP_K)
        for sign in (1.0, -1.0)
    )
    demand(best is not None and worst is not None, "sorted rankings have no value")
    if best is not None and worst is not None:
        higher = bool((best >= worst - 1e-12).all() and (best > worst).any())
        demand(higher, "the ideal ranking is not better than the reverse; a metric rises")
        unseen = replace(data, highest_grade=data.highest_grade, features=data.features * 0)
        same = metric.values(ScoredPolicy(unseen, data.labels, Deterministic()), top_k=TOP_K)
        demand(same is not None and np.array_equal(same, best), "it depends on features")
