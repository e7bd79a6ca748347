"""Guards laws and edges of bounds: scale, limits, confidence; wrong input is refused."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

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
from tests.evaluation.bounds.unit_limits import UNIT

terms_in_unit = arrays(np.float64, st.integers(1, 40), elements=st.floats(0.0, 1.0))

confidences = st.floats(0.5, 0.999)


def betting_by_seed(terms, limits, *, confidence):
    return betting_lower(terms, limits, confidence=confidence, seed=3)


def last_running_low(terms, limits, *, confidence):
    return running_bounds(terms, limits, confidence=confidence).low[-1]


LOWER_BOUNDS = [betting_by_seed, hoeffding_lower, bernstein_lower, last_running_low]

every_lower_bound = pytest.mark.parametrize("lower", LOWER_BOUNDS)


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
