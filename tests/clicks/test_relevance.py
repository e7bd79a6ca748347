"""Guards where documents' parameters come from: tables and regressions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks.relevance import (
    Regression,
    RelevanceTable,
    Spread,
    predict,
    rescale_relevance,
    times_log,
)
from tests import strategies


@given(
    strategies.arrays(3, 0, 1),
    strategies.arrays(3, 0, 20),
    st.floats(0.01, 5),
    st.floats(0.05, 0.95),
)
def test_law_a_table_maximises_its_penalised_likelihood(share, trials, smoothing, prior):
    table, successes = RelevanceTable(smoothing, prior), share * trials
    best = table.update(successes, trials)

    def objective(values):
        likelihood = times_log(successes, values) + times_log(trials - successes, 1 - values)
        return likelihood.sum() + table.penalty(values)

    for other in (best * 0.99, best * 0.99 + 0.01, np.full(3, 0.5)):
        assert objective(best) >= objective(other) - 1e-9


def test_a_table_without_smoothing_is_the_ratio_and_the_prior_where_there_is_none():
    found = RelevanceTable(0.0, 0.3).update(np.array([2.0, 0.0, 0.0]), np.array([4.0, 3.0, 0.0]))
    assert found.tolist() == [0.5, 0.0, 0.3]
    assert RelevanceTable(0.0, 0.3).penalty(np.array([0.0, 1.0])) == 0.0


def test_nothing_times_the_log_of_nothing_is_nothing():
    assert times_log(np.array([0.0, 2.0]), np.array([0.0, 0.5])).tolist() == [0.0, 2 * np.log(0.5)]
    assert times_log(np.array([1.0]), np.array([0.0])).tolist() == [-np.inf]


def logistic_data(n=400):
    rng = np.random.default_rng(0)
    features = (5 * rng.normal(size=(n, 3)) + [0.0, 100.0, -3.0]).astype(np.float32)
    truth = 1 / (1 + np.exp(-(0.3 * features[:, 0] - 0.2 * (features[:, 2] + 3) - 0.5)))
    return features, truth


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_a_regression_finds_what_depends_on_features(hidden):
    features, truth = logistic_data()
    regression = Regression(features, prior=0.4, hidden=hidden)
    trials = np.full(len(truth), 500.0)
    for _ in range(15):
        values = regression.update(trials * truth, trials)
    assert np.abs(values - truth).max() < 0.05
    np.testing.assert_allclose(predict(features, regression.weights), values, atol=1e-9)


def test_a_regression_starts_at_the_prior_and_never_leaves_the_open_interval():
    features, truth = logistic_data()
    regression = Regression(features, prior=0.4)
    np.testing.assert_allclose(predict(features, regression.weights), 0.4)
    certain = (truth > 0.5).astype(np.float64)
    for _ in range(30):
        values = regression.update(certain, np.ones(len(certain)))
    assert ((values > 0) & (values < 1)).all()


def test_documents_without_trials_do_not_weigh():
    features, truth = logistic_data()
    trials = np.where(np.arange(len(truth)) < 200, 500.0, 0.0)
    regression = Regression(features, prior=0.4)
    for _ in range(15):
        values = regression.update(trials * truth, trials)
    assert np.abs(values - truth)[200:].max() < 0.05


def test_a_feature_that_does_not_vary_is_ignored():
    features, truth = logistic_data()
    features[:, 1] = 7.0
    values = Regression(features, prior=0.4).update(truth, np.ones(len(truth)))
    assert np.isfinite(values).all()


def test_relevance_moves_to_its_new_scale():
    found = rescale_relevance(np.array([0.0, 0.2, 0.5, 0.8, 1.0]), 0.2, 0.8)
    assert found == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])


def test_of_moments_is_the_beta_distribution_with_them():
    a, b = 2.0, 3.0
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert Spread.of_moments(0.4, variance) == pytest.approx((0.4, 5.0))
