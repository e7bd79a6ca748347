"""Guards the rewards dr and dm: arithmetic, double robustness by enumeration, fallbacks, laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cltr.clicks.models import TrustBias
from cltr.errors import DataError, UnsupportedError
from cltr.exposure.exposure import counted_exposure
from cltr.plugins import registry
from cltr.testing import check_reward
from cltr.types import ClickData, ClickStatistics, Dataset, Exposure
from cltr_dr import DM, DR
from tests import enumeration

SEVERAL = settings(deadline=None, max_examples=40, derandomize=True)
TOP_K = 3
MODEL = TrustBias()
AFFINE = MODEL.affine(TOP_K)
DCG = 1 / np.log2(np.arange(2, TOP_K + 2))


def dataset(features):
    n_documents = len(features)
    return Dataset(
        features=np.asarray(features, np.float32),
        labels=np.zeros(n_documents),
        offsets=np.array([0, n_documents]),
        query_ids=np.array(["q"]),
        document_ids=np.arange(n_documents),
    )


def with_regression(reward, guess):
    """A reward whose regression is given instead of fitted."""
    reward.affine = AFFINE
    reward.regression = lambda features: np.asarray(guess, np.float64)
    return reward


def expected_data(scores, relevance, *, wrong_propensities=False):
    ranks = enumeration.rank_distribution(scores, TOP_K)
    exposure = enumeration.exposure_of(ranks, AFFINE, DCG)
    if wrong_propensities:
        wrong = np.random.default_rng(0).uniform(0.05, 0.9, len(scores))
        exposure = Exposure(exposure.weights, wrong, exposure.attention)
    statistics = enumeration.expected_statistics(ranks, relevance, AFFINE, displays=9.0)
    return ClickData(dataset(np.zeros((len(scores), 1))), statistics, exposure)


worlds = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        arrays(float, n, elements=st.floats(-3, 3)),
        arrays(float, n, elements=st.floats(0, 1)),
        arrays(float, n, elements=st.floats(0, 1)),
    )
)


def log_of_three():
    """Three documents, ten displays of two ranks; the third document is never shown."""
    statistics = ClickStatistics(
        impressions=np.array([[6, 4], [4, 6], [0, 0]]),
        clicks=np.array([[5, 1], [3, 2], [0, 0]]),
        displays=np.array([10]),
        offsets=np.array([0, 3]),
    )
    exposure = Exposure(np.ones(3), np.array([0.45, 0.4, 0.0]), np.ones(3))
    return ClickData(dataset(np.zeros((3, 1))), statistics, exposure)


def of_two_ranks(reward, guess):
    reward = with_regression(reward, guess)
    reward.affine = MODEL.affine(2)
    return reward


def test_dr_arithmetic_of_dr22_eq_44():
    (a1, a2), (b1, b2) = MODEL.affine(2)
    expected = [
        0.3 + (0.6 - (0.6 * a1 + 0.4 * a2) * 0.3 - (0.6 * b1 + 0.4 * b2)) / 0.45,
        0.7 + (0.5 - (0.4 * a1 + 0.6 * a2) * 0.7 - (0.4 * b1 + 0.6 * b2)) / 0.4,
        0.9,
    ]
    made = of_two_ranks(DR(), [0.3, 0.7, 0.9]).mu(log_of_three())
    assert made == pytest.approx(expected, abs=1e-15)


def test_dm_is_the_regression():
    assert of_two_ranks(DM(), [0.3, 0.7, 0.9]).mu(log_of_three()).tolist() == [0.3, 0.7, 0.9]


@SEVERAL
@given(worlds)
def test_expected_dr_is_the_utility_if_propensities_are_right(world):
    scores, relevance, guess = world
    data = expected_data(scores, relevance)
    assert with_regression(DR(), guess).mu(data) == pytest.approx(relevance, abs=1e-10)


@SEVERAL
@given(worlds)
def test_expected_dr_is_the_utility_if_the_regression_is_right(world):
    scores, relevance, _ = world
    data = expected_data(scores, relevance, wrong_propensities=True)
    reward = with_regression(DR(), relevance)
    assert reward.mu(data) == pytest.approx(relevance, abs=1e-10)
    assert reward.mu(data, propensity_clip=0.5) == pytest.approx(relevance, abs=1e-10)


def test_dr_is_biased_if_both_are_wrong():
    relevance = np.array([0.2, 0.8, 0.5, 0.0])
    data = expected_data(np.array([1.0, 0.0, -1.0, 0.5]), relevance, wrong_propensities=True)
    assert np.abs(with_regression(DR(), np.full(4, 0.9)).mu(data) - relevance).max() > 0.1


@SEVERAL
@given(worlds, st.floats(0.01, 1))
def test_bias_of_clipping_is_that_of_dr22_eq_38(world, clip):
    scores, relevance, guess = world
    data = expected_data(scores, relevance)
    made = with_regression(DR(), guess).mu(data, propensity_clip=clip)
    rho = data.exposure.propensities
    clipped = np.maximum(rho, clip)
    bias = (rho - clipped) / clipped * (relevance - guess)
    assert made - relevance == pytest.approx(bias, abs=1e-10)


@SEVERAL
@given(worlds, st.floats(0, 1))
def test_dr_with_a_zero_regression_is_ips(world, clip):
    scores, relevance, _ = world
    data = expected_data(scores, relevance)
    statistics = data.statistics
    corrected = statistics.click_rate - statistics.average(AFFINE.trust)
    ips = corrected / np.maximum(data.exposure.propensities, clip)
    made = with_regression(DR(), np.zeros(len(scores))).mu(data, propensity_clip=clip)
    assert made == pytest.approx(ips, abs=1e-12)


@SEVERAL
@given(arrays(float, 3, elements=st.floats(0, 1)))
def test_with_counted_exposure_dr_of_what_was_shown_is_ips_as_in_dr22_eq_43(guess):
    data = log_of_three()
    affine = MODEL.affine(2)
    counted = counted_exposure(data.statistics, MODEL, DCG[:2])
    made = of_two_ranks(DR(), guess).mu(ClickData(data.dataset, data.statistics, counted))
    corrected = data.statistics.click_rate - data.statistics.average(affine.trust)
    assert made[:2] == pytest.approx(corrected[:2] / counted.propensities[:2], abs=1e-12)
    assert made[2] == guess[2]


@SEVERAL
@given(worlds, st.randoms(use_true_random=False))
def test_permuting_documents_permutes_mu(world, random):
    scores, relevance, guess = world
    order = list(range(len(scores)))
    random.shuffle(order)
    made = with_regression(DR(), guess).mu(expected_data(scores, relevance))
    data = expected_data(scores[order], relevance[order])
    assert with_regression(DR(), guess[order]).mu(data) == pytest.approx(made[order], abs=1e-9)


def test_a_document_that_cannot_be_shown_falls_back_to_the_regression():
    data = log_of_three()
    assert of_two_ranks(DR(), [0.3, 0.7, 0.9]).mu(data)[2] == 0.9
    assert of_two_ranks(DR(), [0.3, 0.7, 0.9]).mu(data, propensity_clip=0.2)[2] == 0.9


def test_displays_of_what_cannot_be_shown_are_an_error():
    data = log_of_three()
    contradicted = Exposure(np.ones(3), np.array([0.45, 0.0, 0.0]), np.ones(3))
    reward = of_two_ranks(DR(), [0.3, 0.7, 0.9])
    with pytest.raises(DataError, match="1 documents were shown that production never shows"):
        reward.mu(ClickData(data.dataset, data.statistics, contradicted))


@pytest.mark.parametrize("reward", [DR(), DM()])
def test_mu_before_fit_says_so(reward):
    with pytest.raises(UnsupportedError, match="call fit first"):
        reward.mu(log_of_three())


@SEVERAL
@given(worlds)
def test_variance_factor_bounds_the_exact_variance_of_each_document(world):
    scores, relevance, guess = world
    examination, trust = AFFINE
    ranks = enumeration.rank_distribution(scores, TOP_K)
    expected = trust + examination * guess[:, None]
    clicked = relevance[:, None] * examination + trust
    square = (ranks * (clicked * (1 - expected) ** 2 + (1 - clicked) * expected**2)).sum(-1)
    propensities, attention = ranks @ examination, ranks @ (examination + trust)
    variance = square / propensities**2 - (relevance - guess) ** 2
    assert np.all(variance <= DR.variance_factor * attention / propensities**2 + 1e-9)


def test_both_are_registered():
    assert registry().find("reward", "dr") is DR
    assert registry().find("reward", "dm") is DM
    assert DM.variance_factor is None


@pytest.mark.parametrize("reward", [DR(epochs=2), DM(epochs=2)])
def test_they_conform(reward):
    check_reward(reward)
