"""Guards the effective size of a log: Kish by hand, and the error that it promises."""

import numpy as np
import pytest

from cltr.checks.effective import effective_interactions
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.types import ClickStatistics, Lists


def test_the_logging_policy_itself_keeps_everything():
    shown = np.full((4, 4), 25)
    part = ClickStatistics(shown, shown // 5, np.array([100]), np.array([0, 4]))
    found = effective_interactions(part, np.ones(4), np.ones(4) / 2, np.ones(4))
    assert found.interactions == pytest.approx(100)
    assert found.clicks == pytest.approx(part.clicks.sum())
    assert (found.largest, found.hidden) == (2.0, 0.0)


def test_weights_by_hand():
    """Weights 1/2 / (9/10) nine times and 1/2 / (1/10) once; clicks on the rare one only."""
    part = ClickStatistics(
        np.array([[9], [1], [0]]), np.array([[0], [1], [0]]), np.array([10]), np.array([0, 3])
    )
    weights, chances = np.array([0.5, 0.5, 1.0]), np.array([0.9, 0.1, 0.0])
    found = effective_interactions(part, weights, chances, np.ones(1))
    each = np.repeat([5 / 9, 5.0], [9, 1])
    assert found.interactions == pytest.approx(each.sum() ** 2 / (each**2).sum())
    assert (found.clicks, found.largest, found.hidden) == (1.0, 5.0, 0.5)


def test_impressions_count_by_examination():
    """One document at both ranks: weights ω/ρ times 1 and 1/2, twice each."""
    shown = np.array([[2, 2]])
    part = ClickStatistics(shown, shown, np.array([4]), np.array([0, 1]))
    found = effective_interactions(part, np.ones(1), np.ones(1), np.array([1.0, 0.5]))
    assert found.interactions == pytest.approx(3**2 / (2 * 1 + 2 * 0.25))


def test_hidden_weight_counts_by_traffic():
    part = ClickStatistics(
        np.array([[90], [0], [10], [0]]),
        np.zeros((4, 1), int),
        np.array([90, 10]),
        np.arange(3) * 2,
    )
    weights = np.array([1.0, 0.0, 0.5, 0.5])
    found = effective_interactions(part, weights, np.array([1.0, 0, 1, 0]), np.ones(1))
    assert found.hidden == pytest.approx(10 * 0.5 / 100)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_relative_error_is_that_of_so_many_clicks(scale):
    """IPS over repeated logs errs by 1 / sqrt(effective clicks), within a third."""
    rng = np.random.default_rng(2)
    lists, top_k = Lists.of_offsets(np.arange(0, 81, 8)), 4
    examination = 1 / np.arange(1, top_k + 1)
    chances = PlackettLuce().rank_distribution(scale * rng.normal(size=80), lists, top_k)
    relevance = rng.uniform(0, 0.5, 80)
    weights = PlackettLuce().expected_weights(np.zeros(80), lists, rank_weights("dcg", top_k))
    exposure, n = chances @ examination, 500
    truth = weights @ relevance
    errors, promised = [], []
    for _ in range(300):
        shown = rng.binomial(n, chances)
        clicks = rng.binomial(shown, examination * relevance[:, None])
        part = ClickStatistics(shown, clicks, np.full(10, n), np.arange(0, 81, 8))
        value = (weights / exposure) @ clicks.sum(-1) / n
        errors.append(value / truth - 1)
        promised.append(effective_interactions(part, weights, exposure, examination).clicks ** -0.5)
    assert np.std(errors) == pytest.approx(np.mean(promised), rel=1 / 3)
