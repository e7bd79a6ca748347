"""Guards the check of the assumed click model: it holds its level, and finds what is wrong."""

import numpy as np
import pytest

from cltr.clicks.misfit import judge_clicks, linear_relevance, rank_columns, warn_of_misfit
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.clicks.simulation import simulate_sessions, simulate_statistics
from cltr.exposure.exposure import counted_exposure
from cltr.interfaces import ClickModel
from cltr.objectives.rewards import Naive
from cltr.types import Affine, ClickData, ClickStatistics, Dataset
from tests.counting import count_log

WRONG = TrustBias(examination=(0.35, 0.45, 0.5, 0.5, 0.5), trust=(0.6, 0.3, 0.2, 0.1, 0.1))


class Moody(ClickModel):
    """Affine on average, but a user clicks much or little on the whole list."""

    name = "moody"

    def draw_context(self, n, rng):
        return {"mood": rng.choice([0.2, 1.0], size=n)}

    def probabilities(self, relevance, context):
        examination = 1 / np.arange(1, relevance.shape[1] + 1)
        return np.nan_to_num(context["mood"][:, None] * examination * relevance)

    def affine(self, top_k):
        return Affine(0.6 / np.arange(1, top_k + 1), np.zeros(top_k))


def lists(n_queries, *, seed=0, n_documents=12):
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    return Dataset(
        features=np.zeros((n, 1), np.float32),
        labels=rng.integers(0, 5, size=n).astype(np.float64),
        offsets=n_documents * np.arange(n_queries + 1),
        query_ids=np.arange(n_queries),
        document_ids=np.arange(n),
    )


def clicks(users, *, n_queries=100, displays=40, seed=0, peaked=1.0):
    dataset, rng = lists(n_queries, seed=seed), np.random.default_rng(seed + 1000)
    scores = peaked * rng.normal(size=dataset.n_documents)
    n = n_queries * displays
    return simulate_statistics(dataset, scores, users, n=n, top_k=5, rng=rng)


def test_linear_relevance_has_no_bias_and_residuals_sum_to_zero():
    impressions, affine = np.array([[30, 10], [0, 0]]), TrustBias().affine(2)
    expected = impressions * (0.4 * affine.examination + affine.trust)
    statistics = ClickStatistics(impressions, expected, np.array([40]), np.array([0, 2]))
    assert linear_relevance(statistics, affine) == pytest.approx([0.4, 0.0])
    residuals = [column.residuals for column in rank_columns(statistics, affine)]
    np.testing.assert_allclose(residuals, 0.0, atol=1e-12)


@pytest.mark.parametrize("peaked", [1.0, 50.0])
@pytest.mark.parametrize("n_queries", [20, 100])
def test_reversed_users_are_found(n_queries, peaked):
    """Also where every document was shown at one rank only, and relevance must lie in [0, 1]."""
    statistics = clicks(Adversarial(TrustBias()), n_queries=n_queries, peaked=peaked)
    verdict = judge_clicks(TrustBias(), statistics)
    assert verdict.rejected
    assert "clicked" in verdict.finding


@pytest.mark.parametrize(
    ("assumed", "users"),
    [
        (PositionBased(), TrustBias()),
        (PositionBased(eta=1.3), PositionBased()),
        (WRONG, TrustBias()),
    ],
)
def test_wrong_values_are_found(assumed, users):
    assert judge_clicks(assumed, clicks(users, displays=200)).rejected


def test_the_right_model_is_not_rejected():
    for users in (TrustBias(), PositionBased(), PositionBased(eta=0)):
        assert not judge_clicks(users, clicks(users, displays=500)).rejected


def test_a_deviation_that_matters_to_nobody_is_passed_over():
    almost = PositionBased(examination=(1.0, 0.5, 0.3334, 0.25, 0.2005))
    verdict = judge_clicks(almost, clicks(PositionBased(), n_queries=50, displays=200_000))
    assert not verdict.rejected


def test_a_model_that_is_not_affine_or_cannot_be_tested_has_no_verdict():
    class Nothing(ClickModel):
        name = "nothing"

        def probabilities(self, relevance, context):
            return relevance

    assert judge_clicks(Nothing(), clicks(TrustBias())) is None
    empty = ClickStatistics(*np.zeros((2, 4, 5), int), np.zeros(2, int), np.array([0, 2, 4]))
    assert judge_clicks(TrustBias(), empty) is None


class Leaning(Naive):
    """A stranger's reward that corrects."""

    name = "leaning"
    corrects_bias = True


def split_clicks(users):
    dataset, statistics = lists(100), clicks(users)
    ranks = 1 / np.log2(np.arange(2, 7))
    data = ClickData(dataset, statistics, counted_exposure(statistics, TrustBias(), ranks))
    return {"train": data, "valid": data}


def test_the_warning_names_what_to_do():
    wrong = split_clicks(Adversarial(TrustBias()))
    (line,) = warn_of_misfit(Leaning(), "safe", TrustBias(), wrong)
    for word in ("'trust-bias'", "safe over leaning leans on it", "--estimator prpo", "cltr fit"):
        assert word in line
    (line,) = warn_of_misfit(Leaning(), "prpo", TrustBias(), wrong)
    assert "prpo bounds what that can cost" in line
    assert warn_of_misfit(Naive(), "plain", TrustBias(), wrong) == []
    assert warn_of_misfit(Leaning(), "plain", TrustBias(), split_clicks(TrustBias())) == []


@pytest.mark.slow
@pytest.mark.parametrize(("n_queries", "displays"), [(200, 3), (30, 100), (12, 1000), (300, 30)])
@pytest.mark.parametrize("users", [TrustBias(), PositionBased()])
def test_the_level_is_about_the_nominal_one(users, n_queries, displays):
    values = [
        judge_clicks(
            users, clicks(users, n_queries=n_queries, displays=displays, seed=seed), draws=299
        ).p_value
        for seed in range(200)
    ]
    assert np.mean(np.array(values) <= 0.05) <= 0.1
    assert np.mean(np.array(values) <= 0.01) <= 0.035


@pytest.mark.slow
@pytest.mark.parametrize("make", [TrustBias, PositionBased])
def test_the_level_of_a_fitted_model_counts_its_own_error(make):
    values = []
    for seed in range(60):
        train, valid = (
            clicks(make(), n_queries=200, displays=displays, seed=2 * seed + part)
            for part, displays in ((0, 200), (1, 50))
        )
        model = make()
        model.fit(train)
        n = train.n_interactions
        values.append(judge_clicks(model, valid, n_fitted=n, draws=299).p_value)
    assert np.mean(np.array(values) <= 0.01) <= 0.06


@pytest.mark.slow
def test_clicks_that_depend_on_each_other_do_not_cry_wolf():
    values = []
    for seed in range(150):
        dataset, rng = lists(150, seed=seed), np.random.default_rng(seed)
        scores = rng.normal(size=dataset.n_documents)
        chunks = simulate_sessions(dataset, scores, Moody(), n=15_000, top_k=5, rng=rng)
        statistics = count_log(chunks, dataset.offsets)
        values.append(judge_clicks(Moody(), statistics, draws=299).p_value)
    assert np.mean(np.array(values) <= 0.05) <= 0.1
