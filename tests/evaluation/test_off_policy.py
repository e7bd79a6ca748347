"""Guards off-policy values: right on average, with errors that cover, clustered by query."""

import numpy as np
import pytest

from cltr.evaluation.off_policy import estimate_value
from cltr.types import Lists


def test_the_value_is_the_weighted_sum():
    lists = Lists.of_offsets(np.array([0, 2, 3]))
    weights, rewards = np.array([1.0, 0.5, 1.0]), np.array([0.2, -0.4, 1.0])
    found = estimate_value(weights, rewards, lists, np.array([0.75, 0.25]))
    values = [1.0 * 0.2 - 0.5 * 0.4, 1.0]
    assert found.value == pytest.approx(0.75 * values[0] + 0.25 * values[1])


def test_equal_queries_have_the_usual_standard_error():
    rng = np.random.default_rng(0)
    values = rng.normal(size=50)
    lists = Lists.of_offsets(np.arange(51))
    found = estimate_value(np.ones(50), values, lists, np.full(50, 1 / 50))
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_a_single_query_has_no_error():
    found = estimate_value(np.ones(1), np.ones(1), Lists.of_offsets(np.array([0, 1])), np.ones(1))
    assert found.plain() == {"value": 1.0, "standard_error": None}


def test_queries_that_did_not_come_do_not_count():
    lists = Lists.of_offsets(np.arange(4))
    shares = np.array([0.5, 0.5, 0.0])
    rewards = np.array([1.0, 3.0, 99.0])
    found = estimate_value(np.ones(3), rewards, lists, shares)
    assert (found.value, found.error) == (2.0, pytest.approx(1.0))


def test_the_error_covers_the_truth_as_often_as_it_says():
    """Queries drawn with different frequencies; 95 % intervals, 400 times."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        n = rng.integers(1, 20, size=80)
        values = rng.normal(1.0, 1.0, size=80)
        lists = Lists.of_offsets(np.arange(81))
        found = estimate_value(np.ones(80), values, lists, n / n.sum())
        covered += abs(found.value - 1.0) < 1.96 * found.error
    assert 0.91 < covered / 400 < 0.98
