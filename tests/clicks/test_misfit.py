"""Guards the check of the assumed click model: it holds its level, and finds what is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.clicks.misfit import (
    LEVEL,
    NEGLIGIBLE,
    MisfitVerdict,
    _Column,
    _judge,
    fit_inflation,
    half_columns,
    judge_clicks,
    linear_relevance,
    rank_columns,
)
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.clicks.simulation import simulate_sessions, simulate_statistics
from cltr.interfaces import ClickModel
from cltr.plugins import registry
from cltr.types import Affine, ClickStatistics
from tests.counting import count_log
from tests.misfit_tables import CHANGED, SIZES, fitted_verdicts, lists, parts

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
    columns = rank_columns(statistics, affine, np.arange(2))
    np.testing.assert_allclose([column.sums for column in columns], 0.0, atol=1e-12)


@pytest.mark.parametrize("peaked", [1.0, 50.0])
@pytest.mark.parametrize("n_queries", [20, 100])
def test_reversed_users_are_found(n_queries, peaked):
    """Also where every document was shown at one rank only, and relevance must lie in [0, 1]."""
    statistics = clicks(Adversarial(TrustBias()), n_queries=n_queries, peaked=peaked)
    verdict = judge_clicks(TrustBias(), statistics)
    assert verdict.rejected
    assert "users click" in verdict.finding


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
    assert abs(verdict.size) < 0.01


def test_a_click_model_is_rejected_at_one_in_a_thousand_and_one_per_cent_and_nowhere_else():
    """Both thresholds decide what users are told: move them only with new tables of rates."""
    assert (LEVEL, NEGLIGIBLE) == (0.001, 0.01)
    assert MisfitVerdict(0.00099, "", size=-0.01).rejected
    assert not MisfitVerdict(0.001, "", size=-0.5).rejected
    assert not MisfitVerdict(0.0001, "", size=0.0099).rejected
    assert not MisfitVerdict(None, "", size=0.5).rejected


def test_the_largest_of_the_sure_deviations_is_told_and_not_the_surest():
    """A small deviation on many clicks, however sure, does not hide a large one on few."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(2, 400))
    surest = _Column(0.5 + noise[0], np.full(400, 100.0), 1.0, "0.5% off on many clicks")
    largest = _Column(0.4 + noise[1], np.full(400, 1.0), 1.0, "40% off on few clicks")
    assert surest.sums.sum() / surest.error > largest.sums.sum() / largest.error
    verdict = _judge([surest, largest], draws=9999, seed=0)
    assert verdict.finding == "40% off on few clicks"
    assert verdict.rejected
    assert verdict.size == pytest.approx(0.4, abs=0.15)
    assert verdict.standard_error == pytest.approx(np.std(largest.sums) / np.sqrt(400))
    assert str(verdict) == "40% off on few clicks (this is not chance, p = 0.0001)"
    unsure = replace(verdict, p_value=0.3)
    assert str(unsure) == "40% off on few clicks (p = 0.3)"


def fitted(make=PositionBased, users=None, sizes=(20_000, 20_000), *, seed=0):
    """A model, and clicks that it was not fitted to."""
    first, second = parts([users or make()] * 2, sizes, seed=seed)
    model = make()
    model.fit(first)
    return model, second


def test_the_error_of_fitted_values_counts_by_the_impressions_that_compare_ranks():
    model, held_out = fitted(sizes=(5_000, 20_000))
    affine = model.affine(5)
    found = fit_inflation(held_out, affine, model.fitted.compared)
    assert found == pytest.approx(np.full(5, 1 + 20 / 5), rel=0.1)
    plain = rank_columns(held_out, affine, np.arange(len(held_out.clicks)))
    wider = rank_columns(held_out, affine, np.arange(len(held_out.clicks)), found)
    for rank in range(5):
        assert wider[rank].error == pytest.approx(plain[rank].error * np.sqrt(found[rank]))


def test_the_error_of_fitted_values_is_in_the_p_value_and_in_the_standard_error():
    model, held_out = fitted(users=PositionBased(eta=1.05))
    more = replace(model.fitted, compared=model.fitted.compared * 1e9)
    less = replace(model.fitted, compared=model.fitted.compared / 1e9)
    verdicts = []
    for model.fitted in (more, less):
        verdicts.append(judge_clicks(model, held_out))
    assert verdicts[1].p_value > 0.99 > verdicts[0].p_value
    assert verdicts[1].standard_error > 1000 * verdicts[0].standard_error


def test_a_model_that_does_not_say_what_it_rests_on_is_not_tested():
    """As one from a file of 0.1.0: no p-value is better than a wrong one."""
    model, held_out = fitted(users=TrustBias())
    assert judge_clicks(model, held_out).rejected
    model.fitted = replace(model.fitted, compared=None)
    verdict = judge_clicks(model, held_out)
    assert not verdict.tested and verdict.p_value is None and not verdict.rejected
    assert str(verdict).startswith("not tested: the fitted model does not record")
    assert "cltr fit" in str(verdict)


def test_halves_of_documents_and_of_queries_hold_all_residuals():
    statistics = clicks(TrustBias())
    affine, clusters = TrustBias().affine(5), np.zeros(len(statistics.clicks), int)
    ranks = rank_columns(statistics, affine, clusters)
    columns = half_columns(statistics, affine, clusters, ranks, seed=0)
    assert len(columns) == 4 * 5
    less, more, less_queries, more_queries = (columns[k : k + 5] for k in range(0, 20, 5))
    for one, two in ((more, less), (more_queries, less_queries)):
        shown = [a.shown + b.shown for a, b in zip(one, two, strict=True)]
        assert shown == statistics.impressions.sum(0).tolist()
    rates = [
        sum(c.expected.sum() for c in some) / sum(c.shown for c in some) for some in (more, less)
    ]
    assert rates[0] > rates[1]


@pytest.mark.parametrize("make", [TrustBias, PositionBased])
def test_users_who_read_down_the_list_reject_fitted_models(make):
    """The sums of ranks alone see nothing: fitted examination explains them."""
    users = registry().find("click-model", "dbn")()
    model, held_out = fitted(make, users, (100_000, 50_000))
    verdict = judge_clicks(model, held_out)
    assert verdict.rejected
    assert "half of the documents" in verdict.finding


def test_users_who_changed_after_the_fit_are_found():
    first, second = parts([PositionBased(), CHANGED], (200_000, 50_000), seed=0)
    model = PositionBased()
    model.fit(first)
    assert judge_clicks(model, second).rejected


def test_a_model_that_is_not_affine_or_cannot_be_tested_has_no_verdict():
    class Nothing(ClickModel):
        name = "nothing"

        def probabilities(self, relevance, context):
            return relevance

    assert judge_clicks(Nothing(), clicks(TrustBias())) is None
    empty = ClickStatistics(*np.zeros((2, 4, 5), int), np.zeros(2, int), np.array([0, 2, 4]))
    assert judge_clicks(TrustBias(), empty) is None


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
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("make", [TrustBias, PositionBased])
def test_the_level_of_a_fitted_model_is_about_the_nominal_one(make, sizes):
    """Three standard errors of the rates over 300 logs are .038 and .0055."""
    verdicts = fitted_verdicts(make, [make(), make()], sizes, logs=300)
    p_values = np.array([one.p_value for one in verdicts])
    assert np.mean(p_values <= 0.05) <= 0.05 + 0.038
    assert np.mean(p_values < LEVEL) <= LEVEL + 0.0055


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
