"""Conformance of estimators."""

from typing import get_args

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.interfaces import Enforced, Estimator, EstimatorContext, Guarantee, Penalised
from cltr.policies.rank_weights import rank_weights
from cltr.testing.demands import check_component, demand, demand_floats, unchanged
from cltr.testing.tiny_data import TOP_K
from cltr.types import Exposure, Floats, Lists


def check_estimator(estimator: Estimator) -> None:
    """Elementwise, defined where production never shows a document, slope = derivative."""
    check_component(estimator)
    demand(
        estimator.guarantee in get_args(Guarantee),
        f"guarantee is {estimator.guarantee!r}; it must be one of {', '.join(get_args(Guarantee))}",
    )
    demand(
        (estimator.guarantee == "enforced") == isinstance(estimator, Enforced),
        "an estimator enforces a guarantee if, and only if, it is an Enforced estimator",
    )
    dcg = rank_weights("dcg", TOP_K)
    estimator.prepare(EstimatorContext(10_000, dcg, "dcg", TrustBias()))
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.05, 1, size=(3, 40))
    logging_weights = rng.uniform(0.05, 1, size=(3, 40))
    logging_weights[:, :3] = 0.0
    rewards = rng.normal(size=(3, 40))
    rewards[:, 3:5] = 0.0
    with unchanged(weights=weights, logging_weights=logging_weights, rewards=rewards):
        gain = estimator.gain(weights, logging_weights, rewards)
        slope = estimator.slope(weights, logging_weights, rewards)
    shapes = {np.shape(gain), np.shape(slope)}
    demand(shapes == {weights.shape}, "gain or slope is not elementwise")
    demand(bool(np.isfinite(gain).all() and np.isfinite(slope).all()), "gain or slope not finite")
    demand_floats(gain, weights.shape, "gain")
    demand_floats(slope, weights.shape, "slope")
    demand(
        np.allclose(
            gain[:, ::-1],
            estimator.gain(weights[:, ::-1], logging_weights[:, ::-1], rewards[:, ::-1]),
        ),
        "gain is not elementwise: it depends on the order of documents",
    )
    _check_separable(estimator, weights, logging_weights, rewards)
    _check_slope(estimator, weights, logging_weights, rewards)
    _check_direction(estimator, logging_weights[:, 5:], rewards[:, 5:])
    padding = estimator.gain(np.zeros(2), np.zeros(2), np.zeros(2))
    demand(bool((padding == 0).all()), "padding (weight, logging weight, reward 0) has a gain")
    lists = Lists.of_offsets(np.array([0, 40]))
    if isinstance(estimator, Enforced):
        share = estimator.served_share(weights[0], logging_weights[0], lists)
        demand(bool((share >= 0).all() and (share <= 1).all()), "served_share is no share")
    exposure = Exposure(*3 * [logging_weights[0]])
    for given in (rewards[0], None):
        numbers = estimator.diagnostics(weights[0], exposure, given, lists)
        demand(all(np.isfinite(list(numbers.values()))), "a number of diagnostics is not finite")


def _check_slope(
    estimator: Estimator, weights: Floats, logging_weights: Floats, rewards: Floats
) -> None:
    step = 1e-6

    def gain(at: Floats) -> Floats:
        values: Floats = estimator.gain(at, logging_weights, rewards)
        return values

    forward = (gain(weights + step) - gain(weights)) / step
    backward = (gain(weights) - gain(weights - step)) / step
    slope = estimator.slope(weights, logging_weights, rewards)
    low, high = np.minimum(forward, backward), np.maximum(forward, backward)
    fits = (slope >= low - 1e-4) & (slope <= high + 1e-4)
    demand(
        bool(fits.all()),
        f"slope is not the derivative of gain: {slope[~fits][:1]} against {forward[~fits][:1]}",
    )
    if not isinstance(estimator, Penalised):
        return
    exposure = Exposure(logging_weights + 0.1, logging_weights + 0.1, logging_weights + 0.1)
    divergence = estimator.divergence(weights, exposure)
    moved = (estimator.divergence(weights + step, exposure) - divergence) / step
    demand(
        np.allclose(moved, estimator.divergence_slope(weights, exposure), rtol=1e-3, atol=1e-3),
        "divergence_slope is not the derivative of divergence",
    )
    for at in (0.1, 1.0, 10.0):
        step = 1e-5 * at
        slope_there = (estimator.penalty(at + step) - estimator.penalty(at - step)) / (2 * step)
        demand(
            bool(np.isclose(slope_there, estimator.penalty_slope(at), rtol=1e-3, atol=1e-6)),
            f"penalty_slope is not the derivative of penalty at {at:g}",
        )
    demand(estimator.penalty(10.0) >= estimator.penalty(0.1), "a larger divergence costs less")


def _check_separable(
    estimator: Estimator, weights: Floats, logging_weights: Floats, rewards: Floats
) -> None:
    """What a document adds does not depend on the weights of others."""
    moved = weights.copy()
    moved[:, ::2] *= 0.5
    before, after = (
        estimator.gain(at, logging_weights, rewards)[:, 1::2] for at in (weights, moved)
    )
    demand(
        np.allclose(before, after, atol=1e-12),
        "gain is not separable: the weight of one document changes the gain of others",
    )


def _check_direction(estimator: Estimator, logging_weights: Floats, rewards: Floats) -> None:
    """At production itself, a rewarded document gains by moving up."""
    slope = estimator.slope(logging_weights, logging_weights, rewards)
    demand(
        bool((slope * rewards).sum() > 0),
        "at production's own weights the gain falls where the reward is positive: wrong sign",
    )
