"""Guards PRPO: the paper's clipped sum without its division, and the laws that make it safe."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from cltr.clicks.models import TrustBias
from cltr.errors import OptionError
from cltr.interfaces import Estimator, EstimatorContext
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO, clip_weights
from cltr.objectives.rewards import Labels
from tests import strategies
from tests.enumeration import finite_difference

DCG = 1 / np.log2(np.arange(2, 6))
DOCS = 5


def band(low: float, high: float, *, rollback: float = 0.0) -> PRPO:
    return PRPO(low=low, high=high, rollback=rollback)


def ratio_form(ratio, r, *, low, high):
    """The paper's f of Eq. 21, with its division, as printed."""
    return min(ratio, high) * r if r >= 0 else max(ratio, low) * r


def context(n_interactions: int) -> EstimatorContext:
    return EstimatorContext(n_interactions, DCG, "dcg", TrustBias())


@st.composite
def documents(draw, *, least_logging_weight: float = 0.0):
    """Weights, logging weights and rewards of a list, ``[DOCS]`` each."""
    return (
        draw(strategies.arrays(DOCS, 0.0, 1.0)),
        draw(strategies.arrays(DOCS, least_logging_weight, 1.0)),
        draw(strategies.arrays(DOCS, -3.0, 3.0)),
    )


@st.composite
def bands(draw, *, rollback: bool = False) -> PRPO:
    kappa = draw(strategies.floats(0.0, 2.0)) if rollback else 0.0
    return band(
        draw(strategies.floats(0.0, 1.0)), draw(strategies.floats(1.0, 5.0)), rollback=kappa
    )


def distance_to_bound(prpo, weights, logging_weights, rewards) -> np.ndarray:
    bound = np.where(rewards >= 0, prpo.high, prpo.low) * logging_weights
    return np.abs(weights - bound)


def test_gain_eq_21_on_three_documents():
    omega, omega_0, mu = np.array([0.9, 0.2, 0.5]), np.array([0.5, 0.5, 0.5]), np.array([2, -3, 1])
    expected = [
        min(0.9, 1.25 * 0.5)
        * 2,  # pulled up past the bound: counts to 1.25 times the logging weight
        max(0.2, 0.8 * 0.5) * -3,  # pushed down past the bound: counts to 0.8 times
        0.5 * 1,  # where it was
    ]
    np.testing.assert_allclose(band(0.8, 1.25).gain(omega, omega_0, mu), expected)


def test_gain_eq_21_is_not_clipped_on_the_other_side():
    omega, omega_0, mu = np.array([0.1, 0.9]), np.array([0.5, 0.5]), np.array([2.0, -3.0])
    np.testing.assert_allclose(band(0.8, 1.25).gain(omega, omega_0, mu), [0.1 * 2, 0.9 * -3])


def test_slope_eq_24_on_five_documents():
    omega_0 = np.full(5, 0.5)
    omega = np.array([0.6, 0.9, 0.45, 0.2, 0.5])
    mu = np.array([2.0, 2.0, -3.0, -3.0, 0.0])
    slope = band(0.8, 1.25).slope(omega, omega_0, mu)
    np.testing.assert_array_equal(slope, [2, 0, -3, 0, 0])


def test_slope_with_rollback_points_back_beyond_the_bound():
    omega_0, omega, mu = np.full(2, 0.5), np.array([0.9, 0.2]), np.array([2.0, -3.0])
    slope = band(0.8, 1.25, rollback=0.3).slope(omega, omega_0, mu)
    np.testing.assert_allclose(slope, [-0.3 * 2, -0.3 * -3])


def test_slope_at_the_bound_is_zero():
    omega_0, mu = np.full(2, 0.5), np.array([2.0, -3.0])
    bound = np.array([2.0 * 0.5, 0.5 * 0.5])
    for rollback in (0.0, 1.0):
        slope = band(0.5, 2.0, rollback=rollback).slope(bound, omega_0, mu)
        np.testing.assert_array_equal(slope, [0, 0])


@pytest.mark.parametrize("rounding", [-1e-16, 1e-16, -1e-9, 1e-9])
def test_at_the_bound_means_up_to_rounding(rounding):
    """Weights come from scores in single precision: their last digits must not push."""
    omega_0, mu = np.array([0.9, 0.4, 1e-5]), np.array([2.0, -3.0, 1.0])
    moved = omega_0 * (1 + rounding)
    np.testing.assert_array_equal(PRPO(clip=1, rollback=1).slope(moved, omega_0, mu), [0, 0, 0])
    assert not PRPO(clip=1).outside(moved, omega_0).any()


def test_with_clip_1_nothing_pushes_at_the_logging_policy():
    omega_0, mu = np.array([0.9, 0.4, 0.0]), np.array([2.0, -3.0, 1.0])
    np.testing.assert_array_equal(PRPO(clip=1).slope(omega_0, omega_0, mu), [0, 0, 0])


def test_a_never_shown_document_is_not_promoted_but_may_fall():
    omega, omega_0, mu = np.array([0.3, 0.3]), np.zeros(2), np.array([5.0, -5.0])
    prpo = band(0.5, 2.0)
    np.testing.assert_array_equal(prpo.gain(omega, omega_0, mu), [0.0, 0.3 * -5])
    np.testing.assert_array_equal(prpo.slope(omega, omega_0, mu), [0.0, -5.0])


def test_two_document_counterexample_of_the_safety_theorem_ties():
    logging = np.array([1.0, 1 / np.log2(3)])  # y0 = [a, b]
    swapped = logging[::-1]
    mu = np.array([-1.0, 1.0]) / logging  # the paper's r = omega_0 * mu is -1 and +1
    values = [PRPO(clip=1).gain(weights, logging, mu).sum() for weights in (logging, swapped)]
    assert values == pytest.approx([0.0, 0.0], abs=1e-15)


def test_the_counterexample_is_no_tie_with_rollback():
    logging = np.array([1.0, 1 / np.log2(3)])
    mu = np.array([-1.0, 1.0]) / logging
    prpo = PRPO(clip=1, rollback=0.5)
    assert prpo.gain(logging[::-1], logging, mu).sum() < prpo.gain(logging, logging, mu).sum() - 0.1


@given(logging=st.permutations(range(4)), mu=strategies.arrays(4, -3, 3))
def test_law_with_clip_1_no_ranking_beats_the_logging_one(logging, mu):
    prpo = PRPO(clip=1)
    logging_weights = DCG[list(logging)]
    at_logging = prpo.gain(logging_weights, logging_weights, mu).sum()
    for ranking in permutations(range(4)):
        assert prpo.gain(DCG[list(ranking)], logging_weights, mu).sum() <= at_logging + 1e-12


@given(documents=documents(), prpo=bands(rollback=True))
def test_law_ratio_1_gives_the_plain_sum(documents, prpo):
    _, logging_weights, mu = documents
    plain = Plain().gain(logging_weights, logging_weights, mu)
    np.testing.assert_allclose(prpo.gain(logging_weights, logging_weights, mu), plain, atol=1e-12)


@given(documents=documents(least_logging_weight=1e-3))
def test_law_a_vanishing_clip_gives_the_plain_estimator(documents):
    weights, logging_weights, mu = documents
    prpo, plain = PRPO(clip=1e-4), Plain()  # 1 <= 1e-3 / 1e-4: no ratio reaches the bound above
    assume((weights > 1e-4 * logging_weights).all())
    np.testing.assert_allclose(prpo.gain(*documents), plain.gain(*documents), atol=1e-12)
    inside = weights < 1e4 * logging_weights
    np.testing.assert_allclose(prpo.slope(*documents)[inside], mu[inside])


@given(documents=documents(least_logging_weight=1e-3), prpo=bands())
def test_law_equals_the_printed_form_with_its_division(documents, prpo):
    gain = prpo.gain(*documents)
    for document, (omega, omega_0, mu) in enumerate(zip(*documents, strict=True)):
        printed = ratio_form(omega / omega_0, omega_0 * mu, low=prpo.low, high=prpo.high)
        assert gain[document] == pytest.approx(printed, abs=1e-12)


@given(documents=documents(), prpo=bands(rollback=True))
def test_law_never_more_than_plain_allows(documents, prpo):
    """Clipping is pessimistic: the gain never exceeds the plain one."""
    assert (prpo.gain(*documents) <= Plain().gain(*documents) + 1e-12).all()


@given(documents=documents(), prpo=bands(rollback=True))
def test_law_slope_is_the_finite_difference_away_from_the_bound(documents, prpo):
    weights, logging_weights, mu = documents
    away = distance_to_bound(prpo, *documents) > 1e-3
    difference = finite_difference(lambda w: prpo.gain(w, logging_weights, mu).sum(), weights)
    slope = prpo.slope(*documents)
    np.testing.assert_allclose(slope[away], difference[away], atol=1e-9)


@given(documents=documents(), prpo=bands(rollback=True))
def test_law_slope_beyond_the_bound_is_minus_rollback_times_reward(documents, prpo):
    weights, logging_weights, mu = documents
    over = np.where(
        mu >= 0, weights > prpo.high * logging_weights, weights < prpo.low * logging_weights
    )
    slope = prpo.slope(*documents)
    np.testing.assert_array_equal(slope[over], -prpo.options.rollback * mu[over])


@given(documents=documents(), prpo=bands(rollback=True))
def test_law_closed_form_slope_is_autograd_away_from_the_bound(documents, prpo):
    away = distance_to_bound(prpo, *documents) > 1e-9
    by_autograd = Estimator.slope(prpo, *documents)
    np.testing.assert_allclose(prpo.slope(*documents)[away], by_autograd[away], atol=1e-12)


@given(documents=documents(), prpo=bands(rollback=True))
def test_law_numpy_and_torch_gains_agree(documents, prpo):
    by_torch = prpo.gain(*(torch.as_tensor(array) for array in documents))
    np.testing.assert_allclose(by_torch.numpy(), prpo.gain(*documents), rtol=0, atol=1e-15)


@given(data=st.data(), documents=documents(), prpo=bands(rollback=True))
def test_law_permuting_documents_permutes_gains_and_slopes(data, documents, prpo):
    order = np.array(data.draw(st.permutations(range(DOCS))))
    permuted = [array[order] for array in documents]
    np.testing.assert_array_equal(prpo.gain(*permuted), prpo.gain(*documents)[order])
    np.testing.assert_array_equal(prpo.slope(*permuted), prpo.slope(*documents)[order])


@given(documents=documents(), prpo=bands(rollback=True))
def test_law_the_gain_is_concave_in_the_weights(documents, prpo):
    weights, logging_weights, mu = documents
    other = weights[::-1]
    middle = prpo.gain((weights + other) / 2, logging_weights, mu)
    chord = (prpo.gain(weights, logging_weights, mu) + prpo.gain(other, logging_weights, mu)) / 2
    assert (middle >= chord - 1e-12).all()


@given(prpo=bands(rollback=True))
def test_law_padding_has_no_gain_and_no_slope(prpo):
    zeros = np.zeros(3)
    np.testing.assert_array_equal(prpo.gain(zeros, zeros, zeros), zeros)
    np.testing.assert_array_equal(prpo.slope(zeros, zeros, zeros), zeros)


def test_clip_weights_broadcasts_over_queries():
    weights = np.tile([0.5, 4.0], (3, 1))
    rewards = np.array([[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    clipped = clip_weights(weights, np.ones((3, 2)), rewards, low=0.8, high=1.25)
    np.testing.assert_array_equal(clipped, [[0.5, 1.25], [0.8, 4.0], [0.5, 1.25]])


def test_outside_says_which_documents_left_the_band():
    prpo = band(0.5, 2.0)
    outside = prpo.outside(np.array([0.2, 0.25, 0.5, 1.0, 1.1]), np.full(5, 0.5))
    np.testing.assert_array_equal(outside, [True, False, False, False, True])


def test_clip_is_shorthand_for_low_and_high():
    prpo = PRPO(clip=0.25)
    assert (prpo.low, prpo.high) == (0.25, 4.0)
    prpo = PRPO(clip=0.25, high=1.5)
    assert (prpo.low, prpo.high) == (0.25, 1.5)
    prpo = PRPO(clip=0.25, low=0.0)
    assert (prpo.low, prpo.high) == (0.0, 4.0)


@pytest.mark.parametrize(("n", "low"), [(10, 1.0), (100, 1.0), (1000, 0.1), (10**9, 1e-7)])
def test_the_papers_clip_is_100_over_n_and_never_above_1(n, low):
    prpo = PRPO(clip="100/N")
    prpo.prepare(context(n))
    assert prpo.low == pytest.approx(low)
    assert prpo.high == pytest.approx(1 / low)


def test_before_it_knows_n_a_schedule_is_at_its_safest():
    assert (PRPO().low, PRPO().high) == (1.0, 1.0)


def test_wraps_any_reward_and_shows_it():
    reward = Labels()
    assert PRPO(reward=reward, clip=0.1).reward is reward
    assert PRPO(reward, clip=0.1).reward is reward
    assert PRPO().reward is None


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"clip": 1.5}, "prpo.clip is 1.5: it must lie in (0, 1]"),
        ({"clip": 0}, "prpo.clip is 0: input should be positive and finite"),
        (
            {"clip": "100/M"},
            "prpo.clip is '100/M': input should be a number or a schedule such as "
            "100/N, 1/sqrt(N), 1/log(N), 1/log10(N)",
        ),
        ({"low": 1.2}, "prpo.low is 1.2: input should be less than or equal to 1"),
        ({"high": 0.9}, "prpo.high is 0.9: input should be greater than or equal to 1"),
        (
            {"rollback": -1},
            "prpo.rollback is -1: input should be greater than or equal to 0",
        ),
        (
            {"rolback": 1},
            "no option 'prpo.rolback'; prpo has: clip, high, low, rollback. "
            "Did you mean 'rollback'?",
        ),
    ],
)
def test_wrong_options_are_one_line(options, line):
    with pytest.raises(OptionError) as caught:
        PRPO(**options)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("n", "queries", "clip"),
    [(100_000, 400, 0.025), (100_000, 50, 0.2), (10_000, 10_000, 0.05), (10**9, 10, 1.0)],
)
def test_default_clip_grows_with_interactions_and_with_queries(n, queries, clip):
    prpo = PRPO()
    prpo.prepare(replace(context(n), n_queries=queries))
    assert (prpo.low, prpo.high, prpo.rollback) == pytest.approx((clip, 1 / clip, 1.0))


@pytest.mark.parametrize("options", [{}, {"clip": "100/N"}, {"clip": 1e-9}])
def test_a_doubt_narrows_every_band(options):
    prpo = PRPO(**options)
    prpo.prepare(replace(context(10**6), n_queries=10**6, narrow=True))
    assert (prpo.low, prpo.high, prpo.rollback) == pytest.approx((0.8, 1.25, 1.0))


def test_a_doubt_widens_no_band():
    prpo = PRPO(low=0.95, high=1.0)
    prpo.prepare(replace(context(10**6), narrow=True))
    assert (prpo.low, prpo.high) == (0.95, 1.0)


def test_given_bounds_have_the_papers_rollback():
    assert PRPO(low=0.5, high=2.0).rollback == PRPO(clip=0.5).rollback == 0.0
    assert PRPO(rollback=0.3).rollback == 0.3
