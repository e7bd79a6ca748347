"""Guards when an interval is printed: not where unseen clicks or queries could decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.evaluation.bounds import (
    ClusterTotals,
    Limits,
    cluster_interval,
    equal_clicks,
    few_clicks,
    skew_interval,
    t_interval,
    unseen_query,
    wild_interval,
)

UNIT = Limits(0.0, 1.0)


def terms(values) -> ClusterTotals:
    return ClusterTotals(np.asarray(values, np.float64), np.ones(len(values)))


@given(st.integers(1, 500), st.floats(1e-3, 1e3))
def test_law_equal_clicks_are_as_many_as_there_are(n, size):
    assert equal_clicks(np.full(n, -size), np.full(n, 2.0)) == pytest.approx(2.0 * n)


@given(st.integers(0, 10**6))
def test_law_one_heavier_click_never_adds_more_than_itself(seed):
    rng = np.random.default_rng(seed)
    sizes, expected = rng.exponential(size=8), rng.uniform(1, 50, size=8)
    before = equal_clicks(sizes, expected)
    heavy = equal_clicks(np.append(sizes, 100 * sizes.max()), np.append(expected, 1.0))
    assert heavy < max(before, 2.0)


def test_clicks_that_add_nothing_decide_nothing():
    assert equal_clicks(np.zeros(3), np.ones(3)) == np.inf
    assert few_clicks(np.zeros(3), np.ones(3)) is None
    assert equal_clicks(np.array([1.0, 1e200]), np.array([50.0, 0.0])) == 50.0


def test_a_rare_click_with_a_large_weight_supports_no_interval():
    sizes, expected = np.array([1.0, 1000.0]), np.array([1000.0, 0.01])
    assert "weigh as much as 0 equal clicks" in few_clicks(sizes, expected)
    assert few_clicks(sizes[:1], expected[:1]) is None


def test_a_loss_that_did_not_occur_supports_no_interval():
    """The mean is .51 unless queries that lose everything are missing from the log."""
    values = np.random.default_rng(0).uniform(0.50, 0.52, 150)
    quiet = cluster_interval(
        terms(values), confidence=0.95, target="new queries", seed=0, limits=UNIT
    )
    assert "one more query could move the estimate by 0.0034" in quiet.no_interval_because
    assert (quiet.low, quiet.high) == (-np.inf, np.inf)
    assert np.isnan(quiet.error)
    assert quiet.value == pytest.approx(values.mean())
    assert quiet.plain()["low"] is None
    values[0] = 0.0
    shown = cluster_interval(
        terms(values), confidence=0.95, target="new queries", seed=0, limits=UNIT
    )
    assert shown.no_interval_because is None
    assert shown.low < shown.value < shown.high


def test_without_limits_nothing_is_held_back():
    values = terms(np.random.default_rng(0).uniform(0.50, 0.52, 150))
    found = cluster_interval(values, confidence=0.95, target="new queries", seed=0)
    assert found.no_interval_because is None


def test_a_single_query_supports_no_interval():
    one = terms([0.5])
    found = t_interval(one, confidence=0.95, target="new queries")
    assert unseen_query(found, one, UNIT) == "there is only one query"


def test_with_few_clusters_each_end_is_the_farther_one():
    totals = ClusterTotals(np.array([0.0, 1.0, 2.0, 9.0, 4.0]), np.array([1.0, 1.0, 1.0, 3.0, 1.0]))
    chosen = cluster_interval(totals, confidence=0.95, target="new queries", seed=3)
    drawn = wild_interval(totals, confidence=0.95, target="new queries", seed=3)
    t = t_interval(totals, confidence=0.95, target="new queries")
    assert chosen.low == min(drawn.low, t.low)
    assert chosen.high == max(drawn.high, t.high)


def test_skewness_moves_one_end_outwards():
    rng = np.random.default_rng(0)
    right = terms(rng.exponential(size=60))
    t = t_interval(right, confidence=0.95, target="new queries")
    found = skew_interval(right, confidence=0.95, target="new queries")
    assert found.low == t.low
    assert found.high > t.high + 0.1 * (t.high - t.value)
    mirrored = skew_interval(terms(-right.sums), confidence=0.95, target="new queries")
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))
    even = terms(np.concatenate([right.sums, -right.sums]))
    flat = skew_interval(even, confidence=0.95, target="new queries")
    same = t_interval(even, confidence=0.95, target="new queries")
    assert (flat.low, flat.high) == pytest.approx((same.low, same.high))


def test_another_error_adds_by_squares():
    found = t_interval(terms(np.arange(60.0)), confidence=0.95, target="new queries")
    wider = found.with_error(2 * found.error)
    assert wider.error == pytest.approx(np.sqrt(5) * found.error)
    reach = np.hypot(found.high - found.value, 1.959964 * 2 * found.error)
    assert wider.high - wider.value == pytest.approx(reach)
    same = found.with_error(0.0)
    assert (same.low, same.high) == pytest.approx((found.low, found.high))
