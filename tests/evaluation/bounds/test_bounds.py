"""Guards the bounds for independent terms: right by formula, valid by enumeration, and lawful."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize, stats

from cltr.errors import DataError, OptionError
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

UNIT = Limits(0.0, 1.0)
ONES = np.ones(1)

terms_in_unit = arrays(np.float64, st.integers(1, 40), elements=st.floats(0.0, 1.0))
confidences = st.floats(0.5, 0.999)


def betting_by_seed(terms, limits, *, confidence):
    return betting_lower(terms, limits, confidence=confidence, seed=3)


def last_running_low(terms, limits, *, confidence):
    return running_bounds(terms, limits, confidence=confidence).low[-1]


LOWER_BOUNDS = [betting_by_seed, hoeffding_lower, bernstein_lower, last_running_low]
every_lower_bound = pytest.mark.parametrize("lower", LOWER_BOUNDS)


# Arithmetic


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


# Exact: all samples of a small size, with their probabilities


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


# Laws


@every_lower_bound
@given(
    terms=terms_in_unit, confidence=confidences, scale=st.floats(0.1, 50), shift=st.floats(-9, 9)
)
def test_law_bounds_follow_scale_and_shift(lower, terms, confidence, scale, shift):
    plain = lower(terms, UNIT, confidence=confidence)
    moved = lower(scale * terms + shift, Limits(shift, shift + scale), confidence=confidence)
    assert moved == pytest.approx(scale * plain + shift, abs=1e-6 * (scale + abs(shift)))


@every_lower_bound
@given(terms=terms_in_unit, confidence=confidences)
def test_law_bounds_lie_within_the_limits_and_below_the_largest_term(lower, terms, confidence):
    low = lower(terms, Limits(-0.5, 1.5), confidence=confidence)
    assert -0.5 <= low <= terms.max() + 1e-9


@pytest.mark.parametrize("lower", [hoeffding_lower, bernstein_lower, last_running_low])
@given(terms=terms_in_unit, confidence=confidences, more=st.floats(0.0, 0.9))
def test_law_more_confidence_gives_a_lower_bound(lower, terms, confidence, more):
    higher = confidence + more * (0.9999 - confidence)
    low, lower_still = (lower(terms, UNIT, confidence=c) for c in (confidence, higher))
    assert lower_still <= low + 1e-9


@pytest.mark.parametrize("lower", [hoeffding_lower, bernstein_lower])
@given(terms=terms_in_unit, below=st.floats(0.0, 3.0), above=st.floats(0.0, 3.0))
def test_law_wider_limits_give_a_lower_bound(lower, terms, below, above):
    wide = lower(terms, Limits(-below, 1.0 + above), confidence=0.9)
    assert wide <= lower(terms, UNIT, confidence=0.9) + 1e-9


@every_lower_bound
@pytest.mark.parametrize("seed", range(20))
def test_adaptive_bounds_widen_with_confidence_and_limits(lower, seed):
    """Bets follow the terms, so betting and running bounds do this in all but odd samples."""
    terms = np.random.default_rng(seed).beta(2.0, 3.0, 200)
    at = [lower(terms, UNIT, confidence=c) for c in (0.8, 0.9, 0.95, 0.99)]
    assert (np.diff(at) < 0).all()
    wide = [lower(terms, Limits(-x, 1 + x), confidence=0.9) for x in (0.0, 1.0, 3.0, 10.0)]
    assert (np.diff(wide) < 0).all()


@given(terms=terms_in_unit, confidence=confidences, seed=st.integers(0, 2**32 - 1))
def test_law_the_same_seed_gives_the_same_interval_and_it_contains_the_mean(
    terms, confidence, seed
):
    def run():
        return betting_interval(terms, UNIT, confidence=confidence, seed=seed, target="new queries")

    found = run()
    assert found.low <= found.value <= found.high
    if len(terms) > 1:
        assert found == run()


@given(terms=terms_in_unit, confidence=confidences)
def test_law_the_upper_bound_mirrors_the_lower(terms, confidence):
    upper = betting_upper(terms, UNIT, confidence=confidence, seed=1)
    mirrored = betting_lower(1.0 - terms, UNIT, confidence=confidence, seed=1)
    assert upper == pytest.approx(1.0 - mirrored, abs=1e-6)


@given(terms=terms_in_unit, mean=st.floats(0.0, 1.0), other=st.floats(0.0, 1.0))
def test_law_capital_falls_as_the_mean_rises(terms, mean, other):
    assume(mean != other)
    low, high = sorted((mean, other))
    p_low, p_high = (
        betting_p_value(terms, UNIT, mean=m, confidence=0.9, seed=0) for m in (low, high)
    )
    assert p_low <= p_high + 1e-12


@given(terms=terms_in_unit, rate=st.floats(0.01, 0.9))
def test_law_smoothing_lies_below_the_mean_and_tends_to_it(terms, rate):
    assert smoothed_mean(terms, rate=rate) <= terms.mean() + 1e-12
    assert smoothed_mean(terms, rate=1e-7) == pytest.approx(terms.mean(), abs=1e-6)


@given(p_values=arrays(np.float64, st.integers(1, 8), elements=st.floats(0, 1)))
def test_law_holm_keeps_the_order_and_lies_between_p_and_the_union_bound(p_values):
    adjusted = holm(p_values, comparisons=10)
    assert (adjusted >= p_values).all()
    assert (adjusted <= np.minimum(1.0, 10 * p_values)).all()
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


# Edges


@every_lower_bound
def test_one_term_and_equal_terms_leave_room_for_the_unseen(lower):
    assert lower(np.array([0.7]), UNIT, confidence=0.95) == pytest.approx(0.0, abs=1e-9)
    assert 0.3 < lower(np.full(200, 0.7), UNIT, confidence=0.95) < 0.7


@every_lower_bound
def test_limits_of_width_zero_leave_one_value(lower):
    assert lower(np.full(5, 0.7), Limits(0.7, 0.7), confidence=0.95) == 0.7


@every_lower_bound
@pytest.mark.parametrize(
    ("terms", "limits", "message"),
    [
        ([], UNIT, "there are no terms"),
        ([0.5, np.nan], UNIT, "1 of 2 terms are not finite"),
        ([0.5, 1.5, 2.0], UNIT, r"2 of 3 terms lie outside the limits \[0.0, 1.0\]"),
        ([0.5], Limits(1.0, 0.0), "not a finite range"),
        ([0.5], Limits(0.0, np.inf), "not a finite range"),
    ],
)
def test_wrong_terms_are_refused(lower, terms, limits, message):
    with pytest.raises(DataError, match=message):
        lower(np.array(terms), limits, confidence=0.95)


@every_lower_bound
@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, np.nan])
def test_a_wrong_confidence_is_refused(lower, confidence):
    with pytest.raises(OptionError, match="confidence is"):
        lower(np.array([0.5]), UNIT, confidence=confidence)


def test_other_wrong_input_is_refused():
    with pytest.raises(OptionError, match=r"between 0 and 0\.5"):
        smoothed_mean(np.array([1.0]), rate=0.5, low=-2.0)
    with pytest.raises(DataError, match="less than the lower limit"):
        smoothed_lower(np.array([-1.0]), rate=0.1, confidence=0.9)
    with pytest.raises(OptionError, match="rate is 0"):
        smoothed_lower(np.ones(2), rate=0.0, confidence=0.9)
    with pytest.raises(DataError, match="no terms"):
        smoothed_lower(np.array([]), rate=0.1, confidence=0.9)
    with pytest.raises(DataError, match="3 p-values but 2 comparisons"):
        holm(np.full(3, 0.1), comparisons=2)
    with pytest.raises(DataError, match="at least 1"):
        union_confidence(0.9, comparisons=0)
    with pytest.raises(DataError, match="no t quantile"):
        student_quantile(0.9, 0)
    with pytest.raises(DataError, match="second moment"):
        smoothing_rate(0.0, 10, confidence=0.9)


def test_json_has_no_numbers_that_are_not_finite():
    found = betting_interval(np.ones(1), UNIT, confidence=0.9, seed=0, target="new queries")
    assert found.plain() == {
        "value": 1.0,
        "standard_error": None,
        "low": found.low,
        "high": 1.0,
        "confidence": 0.9,
        "method": "betting",
        "target": "new queries",
        "no_interval_because": None,
    }


# Coverage, with seeds: a bound at level 0.05 may miss so often in so many samples


def most_misses(samples, level=0.05):
    return stats.binom.ppf(0.999, samples, level)


def test_betting_holds_where_t_fails_rare_large_losses():
    """0.5 % of 150 terms lose everything: t misses about half of the time (theory section 13)."""
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
