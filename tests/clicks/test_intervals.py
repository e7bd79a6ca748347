"""Guards what is said of position and trust bias: relations, and intervals that cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks.intervals import (
    bias_estimator,
    bootstrap,
    copy_queries,
    relations,
    repeat_queries,
)
from cltr.clicks.models import PositionBased, TrustBias
from cltr.testing import tiny_clicks
from cltr.types import Affine, ClickStatistics
from tests.interval_tables import coverage, reranked


def random_affine(rng):
    examination = rng.uniform(0.05, 0.5, size=4)
    return Affine(examination, rng.uniform(0.0, 0.4, size=4))


@given(st.integers(0, 10**6))
def test_law_relations_are_the_same_on_every_scale(seed):
    rng = np.random.default_rng(seed)
    affine, m, s = random_affine(rng), rng.uniform(-0.2, 0.2), rng.uniform(0.5, 2)
    mapped = Affine(s * affine.examination, affine.trust + m * affine.examination)
    for before, after in zip(relations(affine), relations(mapped), strict=True):
        np.testing.assert_allclose(before, after, atol=1e-9)


def test_position_bias_has_no_intercept():
    found = relations(PositionBased().affine(4))
    assert found.slope == pytest.approx(1 / np.arange(1, 5))
    assert found.intercept.tolist() == [0.0] * 4


def test_queries_are_drawn_whole():
    statistics = tiny_clicks().statistics
    times = np.arange(len(statistics.displays))
    found = repeat_queries(statistics, times)
    for query, n in enumerate(times):
        rows = slice(statistics.offsets[query], statistics.offsets[query + 1])
        np.testing.assert_array_equal(found.clicks[rows], n * statistics.clicks[rows])
    np.testing.assert_array_equal(found.displays, times * statistics.displays)


def test_bootstrap_of_a_mean_is_that_of_queries():
    """Queries whose documents are always or never clicked: only their number is random."""
    n = 400
    clicks = np.repeat([[100], [0]], n // 2, axis=0)
    statistics = ClickStatistics(np.full((n, 1), 100), clicks, np.full(n, 100), np.arange(n + 1))

    def rate(drawn):
        return {"rate": drawn.clicks.sum(0) / drawn.impressions.sum(0)}

    found = bootstrap(rate, statistics, resamples=400, confidence=0.9, seed=1)["rate"]
    half_width = 1.645 * 0.5 / np.sqrt(n)
    assert found.estimate.tolist() == [0.5]
    assert found.high - found.low == pytest.approx([2 * half_width], rel=0.15)
    again = bootstrap(rate, statistics, resamples=400, confidence=0.9, seed=1)["rate"]
    np.testing.assert_array_equal(found.low, again.low)


def test_intervals_of_bias_hold_the_estimate():
    _, statistics = reranked(TrustBias(), n_queries=20, displays=500, seed=0)
    model = TrustBias()
    model.fit(statistics)
    estimator = bias_estimator(model.affine(5), model.options)
    found = bootstrap(estimator, statistics, draw=copy_queries, resamples=10, seed=0)
    assert set(found) == {"slope", "intercept"}  # those of examination and trust do not cover
    assert (found["slope"].low <= found["slope"].high).all()
    assert found["slope"].estimate[0] == 1.0


def test_draws_lie_around_the_estimate_though_it_is_at_the_bound():
    """From a click probability just below 1, draws used to end ten standard deviations away."""
    _, statistics = reranked(PositionBased(), n_queries=60, displays=2000, seed=1)
    model = PositionBased()
    model.fit(statistics)
    fitted = Affine(np.append(np.nextafter(1.0, 0.0), model.affine(5).examination[1:]), np.zeros(5))
    estimate, rng = bias_estimator(fitted, model.options), np.random.default_rng(1)
    slopes = []
    for _ in range(8):
        times = rng.multinomial(60, np.full(60, 1 / 60))
        slopes.append(estimate(copy_queries(statistics, times))["slope"])
    away = (np.mean(slopes, axis=0) - relations(fitted).slope)[1:] / np.std(slopes, axis=0)[1:]
    assert (np.abs(away) < 2.0).all()


def test_copied_queries_are_queries_of_their_own():
    statistics = tiny_clicks().statistics
    times = np.arange(len(statistics.displays)) % 3
    found = copy_queries(statistics, times)
    lengths = np.diff(statistics.offsets)
    assert np.diff(found.offsets).tolist() == np.repeat(lengths, times).tolist()
    assert found.displays.tolist() == np.repeat(statistics.displays, times).tolist()
    repeated = repeat_queries(statistics, times)
    np.testing.assert_array_equal(found.clicks.sum(0), repeated.clicks.sum(0))
    rows = slice(statistics.offsets[1], statistics.offsets[2])
    np.testing.assert_array_equal(found.impressions[: lengths[1]], statistics.impressions[rows])


@pytest.mark.slow
@pytest.mark.parametrize("users", [TrustBias(), PositionBased()])
def test_intervals_of_what_is_determined_cover_at_about_the_nominal_rate(users):
    """Two hundred logs: three standard errors of a rate are .046, and few queries cost some."""
    found = coverage(users, n_queries=60, displays=2000, logs=200, resamples=100)
    alone = set() if users.affine(5).trust.any() else {"examination"}
    assert set(found) == {"slope", "intercept"} | alone
    for shares in found.values():
        assert (shares >= 0.95 - 0.046 - 0.02).all()
