"""Guards the bounds for independent terms: right by formula, and valid by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from cltr.evaluation.bounds import (
    Limits,
    bernstein_lower,
    betting_interval,
    betting_lower,
    betting_p_value,
    betting_upper,
    hoeffding_lower,
    holm,
    running_bounds,
    smoothed_lower,
    smoothed_mean,
    smoothing_rate,
    student_quantile,
    union_confidence,
)
from cltr.evaluation.bounds.betting import smallest_kept
from cltr.evaluation.bounds.running import RATES, SHARES
from tests.evaluation.bounds.unit_limits import ONES, UNIT


def capital_as_written(mean, terms, level):
    """Theory section 13, term by term: the largest logarithm of the capital."""
    n, log_goal = len(terms), np.log(1 / level)
    total, largest, seen, deviations = 0.0, -np.inf, 0.0, 0.0
    variance = 1 / 4
    for i, term in enumerate(terms, start=1):
        bet = np.sqrt(2 * log_goal / (n * variance))
        if mean > 0:
            bet = min(bet, 0.5 / mean)
        total += np.log(1 + bet * (term - mean))
        largest = max(largest, total)
        seen += term
        running_mean = (1 / 2 + seen) / (i + 1)
        deviations += (term - running_mean) ** 2
        variance = (1 / 4 + deviations) / (i + 1)
    return largest


@pytest.mark.parametrize("n", [3, 30, 300])
def test_betting_is_the_smallest_mean_that_the_formula_keeps(n):
    terms = np.random.default_rng(n).beta(3.0, 1.0, n)
    low = smallest_kept(terms, ONES, level=0.1)
    assert 0 < low < 1
    assert capital_as_written(low, terms, 0.1) >= np.log(1 / 0.1) - 1e-9
    assert capital_as_written(low + 1e-8, terms, 0.1) < np.log(1 / 0.1)


def test_betting_on_one_term_by_hand():
    """With y = 1 the capital at m is 1 + (1 - m)/(2m); it is 1/level at m = level/(2 - level)."""
    assert betting_lower(np.ones(1), UNIT, confidence=0.5, seed=0) == pytest.approx(0.5 / 1.5)


def test_the_seed_shuffles_the_terms():
    terms = np.random.default_rng(0).random(50)
    shuffled = np.random.default_rng(7).permutation(terms)
    expected = smallest_kept(shuffled, ONES, level=1 - 0.9)
    assert betting_lower(terms, UNIT, confidence=0.9, seed=7) == pytest.approx(expected)
    assert betting_lower(terms, UNIT, confidence=0.9, seed=8) != pytest.approx(expected)


def test_the_betting_interval_spends_half_on_each_side():
    terms, limits = np.random.default_rng(1).uniform(-1, 2, 60), Limits(-1.5, 2.5)
    found = betting_interval(terms, limits, confidence=0.9, seed=4, target="these queries")
    assert found.low == betting_lower(terms, limits, confidence=0.95, seed=4)
    assert found.high == betting_upper(terms, limits, confidence=0.95, seed=4)
    assert found.value == pytest.approx(terms.sum() / 60)
    assert found.error == pytest.approx(stats.sem(terms))
    assert (found.confidence, found.method) == (0.9, "betting")
    assert found.target == "these queries"


def test_a_p_value_agrees_with_the_bound():
    terms, limits = np.random.default_rng(2).uniform(-1, 2, 80), Limits(-2.0, 3.0)
    low = betting_lower(terms, limits, confidence=0.95, seed=0)
    for mean, rejected in ((low - 1e-6, True), (low + 1e-6, False), (-2.0, True), (-9.0, True)):
        p = betting_p_value(terms, limits, mean=mean, confidence=0.95, seed=0)
        assert (p <= 0.05) == rejected
    assert betting_p_value(terms, limits, mean=3.0, confidence=0.95, seed=0) == 1.0


def test_hoeffding_and_bernstein_by_formula():
    terms, limits = np.tile([1.0, 2.0, 6.0], 100), Limits(0.0, 8.0)
    hoeffding = 3.0 - 8.0 * np.sqrt(np.log(1 / 0.05) / (2 * 300))
    assert hoeffding_lower(terms, limits, confidence=0.95) == pytest.approx(hoeffding)
    variance = (4.0 + 1.0 + 9.0) * 100 / 299
    cost = np.log(2 / 0.05)
    bernstein = 3.0 - np.sqrt(2 * variance * cost / 300) - 7 * 8.0 * cost / (3 * 299)
    assert bernstein_lower(terms, limits, confidence=0.95) == pytest.approx(bernstein)


def test_running_bounds_by_formula():
    terms = np.array([0.25, 0.75, 0.5] * 100)
    found = running_bounds(terms, UNIT, confidence=0.9)
    for t in (1, 2, 100, 300):
        guesses = [(0.5 + terms[:i].sum()) / (i + 1) for i in range(t)]
        variation = sum((terms[i] - guesses[i]) ** 2 for i in range(t))
        radius = min(
            (np.log(2 / (0.1 * share)) + (-np.log(1 - rate) - rate) * variation) / (rate * t)
            for rate, share in zip(RATES, SHARES, strict=True)
        )
        assert found.low[t - 1] == pytest.approx(max(0.0, terms[:t].mean() - radius))
        assert found.high[t - 1] == pytest.approx(min(1.0, terms[:t].mean() + radius))
    assert SHARES.sum() == pytest.approx(1.0)
    assert found.low[-1] > 0.4


def test_smoothing_by_formula():
    terms = np.array([-0.5, 0.0, 40.0])
    mean = (np.log(1 - 0.5 * 0.2) + 0.0 + np.log(1 + 40 * 0.2)) / (3 * 0.2)
    assert smoothed_mean(terms, rate=0.2, low=-1.0) == pytest.approx(mean)
    low = smoothed_lower(terms, rate=0.2, low=-1.0, confidence=0.9)
    assert low == pytest.approx(mean - np.log(1 / 0.1) / (0.2 * 3))
    rate = smoothing_rate(4.0, 50, confidence=0.9)
    assert rate == pytest.approx(np.sqrt(2 * np.log(1 / 0.1) / (50 * 4.0)))


def test_holm_and_the_union_bound_by_formula():
    p_values = np.array([0.04, 0.001, 0.02])
    expected = [max(2 * 0.04, 3 * 0.02), 4 * 0.001, 3 * 0.02]
    assert holm(p_values, comparisons=4) == pytest.approx(expected)
    assert holm(np.array([0.9, 0.5]), comparisons=2) == pytest.approx([1.0, 1.0])
    assert union_confidence(0.95, comparisons=10) == pytest.approx(1 - 0.05 / 10)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 18, 99, 1000, 12345, 10**6, 10**7])
@pytest.mark.parametrize("probability", [0.5, 0.51, 0.9, 0.975, 0.995, 0.99995, 0.025, 0.2])
def test_student_quantiles_equal_those_of_scipy(probability, degrees):
    expected = stats.t.ppf(probability, degrees)
    assert student_quantile(probability, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def all_samples(values, probabilities, n):
    samples = np.array(list(product(values, repeat=n)))
    chances = np.prod(list(product(probabilities, repeat=n)), axis=1)
    return samples, chances, float(np.dot(values, probabilities))


DISTRIBUTIONS = [
    ((0.0, 1.0), (0.6, 0.4)),
    ((0.0, 0.5, 1.0), (0.1, 0.3, 0.6)),
    ((0.0, 0.9, 1.0), (0.1, 0.8, 0.1)),  # rare large losses
    ((0.0, 1.0), (0.95, 0.05)),
]

every_distribution = pytest.mark.parametrize("distribution", DISTRIBUTIONS)


@every_distribution
@pytest.mark.parametrize("level", [0.05, 0.2, 0.4])
def test_exact_no_lower_bound_misses_more_often_than_it_may(distribution, level):
    samples, chances, mean = all_samples(*distribution, 6)
    confidence = 1 - level
    bounds = {
        "betting": lambda x: smallest_kept(x, ONES, level=level),
        "hoeffding": lambda x: hoeffding_lower(x, UNIT, confidence=confidence),
        "bernstein": lambda x: bernstein_lower(x, UNIT, confidence=confidence),
        "smoothing": lambda x: smoothed_lower(x, rate=0.8, confidence=confidence),
        "smoothing of losses": lambda x: (
            smoothed_lower(x - 1.0, rate=0.8, low=-1.0, confidence=confidence) + 1.0
        ),
    }
    for name, bound in bounds.items():
        missed = np.array([bound(x) > mean + 1e-12 for x in samples])
        assert chances @ missed <= level + 1e-12, name


@every_distribution
def test_exact_running_bounds_miss_at_any_look_no_more_often_than_they_may(distribution):
    samples, chances, mean = all_samples(*distribution, 6)
    found = [running_bounds(x, UNIT, confidence=0.2) for x in samples]
    missed = np.array([((b.low > mean) | (b.high < mean)).any() for b in found])
    assert chances @ missed <= 0.8


def test_exact_betting_on_shuffled_terms_with_different_means():
    """Three clicks with rate p and three with rate r, in random order: all cases."""
    samples = np.array(list(product((0.0, 1.0), repeat=6)))
    groups = np.array([g for g in product((0, 1), repeat=6) if sum(g) == 3])
    for level in (0.05, 0.2, 0.4):
        low = np.array([smallest_kept(x, ONES, level=level) for x in samples])
        for rates in product((0.0, 0.1, 0.35, 0.5, 0.9, 1.0), repeat=2):
            chance = np.array(rates)[groups][:, None, :]
            likely = np.prod(np.where(samples == 1, chance, 1 - chance), axis=2).mean(axis=0)
            assert likely @ (low > np.mean(rates) + 1e-12) <= level


def test_exact_holm_rejects_a_true_hypothesis_no_more_often_than_it_may():
    """Two true hypotheses with dependent p-values: u and 1 - u, u on a fine grid."""
    grid = (np.arange(10_000) + 0.5) / 10_000
    any_rejected = [holm(np.array([u, 1 - u]), comparisons=2).min() <= 0.05 for u in grid]
    assert np.mean(any_rejected) <= 0.05
