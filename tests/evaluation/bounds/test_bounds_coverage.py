"""Guards coverage of bounds on samples with seeds, where usual bounds fail."""

import numpy as np
from scipy import optimize, stats

from cltr.evaluation.bounds import (
    Limits,
    bernstein_lower,
    betting_lower,
    hoeffding_lower,
    running_bounds,
    smoothed_lower,
    smoothing_rate,
    student_quantile,
)
from cltr.evaluation.bounds.betting import smallest_kept
from tests.evaluation.bounds.unit_limits import ONES, UNIT


def most_misses(samples, level=0.05):
    return stats.binom.ppf(0.999, samples, level)


def test_betting_holds_where_t_fails_rare_large_losses():
    """0.5% of 150 terms lose everything: t misses about half of the time (theory section 13)."""
    rng, by_t, by_betting = np.random.default_rng(0), 0, 0
    mean = 0.995 * 0.51
    for seed in range(300):
        terms = np.where(rng.random(150) < 0.005, 0.0, rng.uniform(0.50, 0.52, 150))
        error = terms.std(ddof=1) / np.sqrt(150)
        by_t += terms.mean() - student_quantile(0.95, 149) * error > mean
        by_betting += betting_lower(terms, UNIT, confidence=0.95, seed=seed) > mean
    assert 0.4 < by_t / 300 < 0.6
    assert by_betting <= most_misses(300)


def test_betting_holds_with_the_good_queries_first():
    """Click rate 0.8, then 0.2: without the shuffle the bound always misses."""
    rng, in_order, shuffled = np.random.default_rng(1), 0, 0
    for seed in range(200):
        terms = (rng.random(400) < np.repeat([0.8, 0.2], 200)).astype(float)
        in_order += smallest_kept(terms, ONES, level=0.05) > 0.5
        shuffled += betting_lower(terms, UNIT, confidence=0.95, seed=seed) > 0.5
    assert in_order == 200
    assert shuffled <= most_misses(200)


def test_betting_is_nearly_as_tight_as_t():
    terms = np.random.default_rng(2).beta(5.0, 5.0, 1000)
    by_t = terms.mean() - stats.t.ppf(0.95, 999) * stats.sem(terms)
    by_betting = betting_lower(terms, UNIT, confidence=0.95, seed=0)
    assert 1.0 < (terms.mean() - by_betting) / (terms.mean() - by_t) < 1.5
    assert by_betting > bernstein_lower(terms, UNIT, confidence=0.95)
    assert by_betting > hoeffding_lower(terms, UNIT, confidence=0.95)


def test_running_bounds_hold_at_all_looks_while_traffic_drifts():
    """A canary whose share rises from 0.1 to 0.5 while the click rate rises; the gain is 0.02."""
    rng, missed = np.random.default_rng(3), 0
    share, rate = np.repeat([0.1, 0.5], 500), np.linspace(0.2, 0.6, 1000)
    for _ in range(300):
        new = rng.random(1000) < share
        clicked = (rng.random(1000) < rate + 0.02 * new).astype(float)
        terms = np.where(new, clicked / share, -clicked / (1 - share))
        low, high = running_bounds(terms, Limits(-2.0, 10.0), confidence=0.95)
        missed += ((low > 0.02) | (high < 0.02)).any()
    assert missed <= most_misses(300)


def test_smoothing_holds_for_weights_without_a_limit():
    rng, missed = np.random.default_rng(4), 0
    rate = smoothing_rate(0.3 * 0.36 * 2.5 / 0.5, 500, confidence=0.95)
    for _ in range(500):
        terms = 0.6 * (1 + rng.pareto(2.5, 500)) * (rng.random(500) < 0.3)
        missed += smoothed_lower(terms, rate=rate, confidence=0.95) > 0.3
    assert missed <= most_misses(500)


def test_a_confidence_sequence_costs_little_more_than_a_fixed_sample():
    """At 10,000 terms it is at most 1.6 times as wide as the best bound for that size alone."""
    terms = (np.random.default_rng(5).random(10_000) < 0.5).astype(float)
    low, high = running_bounds(terms, UNIT, confidence=0.95)
    variation = 2500.0
    best = optimize.minimize_scalar(
        lambda rate: (np.log(2 / 0.05) + (-np.log1p(-rate) - rate) * variation) / rate,
        bounds=(1e-4, 0.5),
        method="bounded",
    )
    assert 1.0 < (high[-1] - low[-1]) / (2 * best.fun / 10_000) < 1.6
