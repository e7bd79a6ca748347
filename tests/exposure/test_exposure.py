"""Guards what the logging policy is said to have given: exact from scores, or counted."""

import numpy as np
import pytest
from hypothesis import given

from cltr.clicks.models import TrustBias
from cltr.exposure.exposure import counted_exposure, exact_exposure
from cltr.interfaces import ClickModel
from cltr.policies import Deterministic, PlackettLuce
from cltr.types import ClickStatistics
from tests import enumeration, strategies

ALPHA = np.array([0.35, 0.53, 0.55])
BETA = np.array([0.65, 0.26, 0.15])
DCG = 1 / np.log2(np.arange(2, 5))


class Cascade(ClickModel):
    """Not affine: it has no examination of its own."""

    name = "cascade"

    def probabilities(self, relevance, context):
        return relevance * np.cumprod(1 - relevance, axis=-1)


def statistics() -> ClickStatistics:
    """Two queries of two documents; the second was never shown."""
    return ClickStatistics(
        impressions=np.array([[3, 1, 0], [1, 3, 0], [0, 0, 0], [0, 0, 0]]),
        clicks=np.array([[2, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]]),
        displays=np.array([4, 0]),
        offsets=np.array([0, 2, 4]),
    )


@given(batch=strategies.batches(max_lists=2, max_docs=5))
def test_exact_exposure_equals_enumeration(batch):
    exposure = exact_exposure(batch.scores, batch.lists, PlackettLuce(), TrustBias(), DCG)
    for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        if start == stop:
            continue
        ranks = enumeration.rank_distribution(batch.scores[start:stop], 3)
        np.testing.assert_allclose(exposure.weights[start:stop], ranks @ DCG, atol=1e-6)
        np.testing.assert_allclose(exposure.propensities[start:stop], ranks @ ALPHA, atol=1e-6)
        np.testing.assert_allclose(
            exposure.attention[start:stop], ranks @ (ALPHA + BETA), atol=1e-6
        )
    assert exposure.source == "exact"


def test_exact_exposure_of_a_deterministic_policy_is_the_ranks_own():
    scores = np.array([0.1, 0.3, 0.2, 0.0])
    batch = strategies.Batch(scores, np.array([0, 4]))
    exposure = exact_exposure(scores, batch.lists, Deterministic(), TrustBias(), DCG)
    np.testing.assert_allclose(exposure.weights, [DCG[2], DCG[0], DCG[1], 0])
    np.testing.assert_allclose(exposure.propensities, [ALPHA[2], ALPHA[0], ALPHA[1], 0])


def test_counted_exposure_eq_27_is_the_mean_over_displays():
    exposure = counted_exposure(statistics(), TrustBias(), DCG)
    weights = [(3 * DCG[0] + 1 * DCG[1]) / 4, (1 * DCG[0] + 3 * DCG[1]) / 4]
    propensities = [(3 * ALPHA[0] + 1 * ALPHA[1]) / 4, (1 * ALPHA[0] + 3 * ALPHA[1]) / 4]
    attention = [(3 * 1.0 + 1 * 0.79) / 4, (1 * 1.0 + 3 * 0.79) / 4]
    np.testing.assert_allclose(exposure.weights, [*weights, 0, 0])
    np.testing.assert_allclose(exposure.propensities, [*propensities, 0, 0])
    np.testing.assert_allclose(exposure.attention, [*attention, 0, 0])
    assert exposure.source == "counted"


def test_counted_exposure_of_fewer_ranks_leaves_the_others_out():
    exposure = counted_exposure(statistics(), TrustBias(), np.ones(1))
    np.testing.assert_allclose(exposure.weights, [3 / 4, 1 / 4, 0, 0])


def test_counts_of_many_displays_come_near_the_exact_exposure():
    scores = np.array([0.0, 0.7])
    first = 1 / (1 + np.exp(0.7))
    n = 1_000_000
    counts = np.array([[first, 1 - first, 0], [1 - first, first, 0]]) * n
    log = ClickStatistics(counts.astype(int), counts.astype(int), np.array([n]), np.array([0, 2]))
    batch = strategies.Batch(scores, np.array([0, 2]))
    exact = exact_exposure(scores, batch.lists, PlackettLuce(), TrustBias(), DCG)
    np.testing.assert_allclose(
        counted_exposure(log, TrustBias(), DCG).weights, exact.weights, atol=1e-5
    )


@pytest.mark.parametrize("how", ["exact", "counted"])
def test_without_an_affine_model_weights_are_known_but_not_propensities(how):
    scores = np.zeros(4)
    batch = strategies.Batch(scores, np.array([0, 2, 4]))
    if how == "exact":
        exposure = exact_exposure(scores, batch.lists, PlackettLuce(), Cascade(), DCG)
    else:
        exposure = counted_exposure(statistics(), Cascade(), DCG)
    assert np.isfinite(exposure.weights).all()
    assert np.isnan(exposure.propensities).all()
    assert np.isnan(exposure.attention).all()
