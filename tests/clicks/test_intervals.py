"""Guards what is said of position and trust bias: relations, and intervals that cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks.intervals import fitted_intervals, jackknife, relations
from cltr.clicks.models import PositionBased, TrustBias
from cltr.types import Affine, ClickStatistics


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


def halves(n: int) -> ClickStatistics:
    """Queries of one document that are always or never clicked: only their number is random."""
    clicks = np.repeat([[100], [0]], n // 2, axis=0)
    return ClickStatistics(np.full((n, 1), 100), clicks, np.full(n, 100), np.arange(n + 1))


def rate(statistics):
    return {"rate": statistics.clicks.sum(0) / statistics.impressions.sum(0)}


@pytest.mark.parametrize("n", [40, 400])
def test_the_jackknife_of_a_mean_is_that_of_queries(n):
    found = jackknife(rate, halves(n), seed=1)["rate"]
    assert found.estimate.tolist() == [0.5]
    assert found.high - found.low == pytest.approx([2 * 1.96 * 0.5 / np.sqrt(n)], rel=0.3)
    again = jackknife(rate, halves(n), seed=1)["rate"]
    np.testing.assert_array_equal(found.low, again.low)


def test_each_query_is_left_out_if_there_are_few():
    found = jackknife(rate, halves(40), seed=1)["rate"]
    quantile = 2.0227  # Student's t with 39 degrees
    assert found.high - found.low == pytest.approx([2 * quantile * 0.5 / np.sqrt(39)], rel=1e-3)


def test_very_few_queries_have_no_intervals():
    assert jackknife(rate, halves(8)) == {}


@given(st.integers(0, 10**6))
def test_law_intervals_follow_the_delta_method(seed):
    """Against differences of relations of moved values."""
    rng = np.random.default_rng(seed)
    affine, factor = random_affine(rng), 1e-6 * rng.normal(size=(2, 4))
    covariance = np.einsum("ai,bj->aibj", factor, factor)
    found = fitted_intervals(affine, covariance)
    moved = relations(Affine(affine.examination + factor[0], affine.trust + factor[1]))
    for name, before, after in zip(
        relations(affine)._fields, relations(affine), moved, strict=True
    ):
        reach = (found[name].high - found[name].low) / 2
        np.testing.assert_allclose(reach, 1.959964 * np.abs(after - before), rtol=2e-3, atol=1e-10)


def test_only_what_is_determined_has_intervals():
    given_values = TrustBias().affine(5)
    covariance = np.full((2, 5, 2, 5), 1e-4)
    assert set(fitted_intervals(given_values, covariance)) == {"slope", "intercept"}
    alone = fitted_intervals(PositionBased().affine(5), covariance)
    assert set(alone) == {"slope", "intercept", "examination"}
    assert fitted_intervals(given_values, None) == {}
    assert fitted_intervals(given_values, np.full((2, 5, 2, 5), np.nan)) == {}
