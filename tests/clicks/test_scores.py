"""Guards how click models are scored: likelihood, perplexity, and what is held out."""

import numpy as np
import pytest

from cltr.clicks.fit_tools import add_up
from cltr.clicks.models import PositionBased, TrustBias
from cltr.clicks.scores import (
    FLOOR,
    ClickScores,
    difference,
    hold_out,
    hold_out_statistics,
    log_probability,
    score_chunk,
    score_statistics,
)
from cltr.errors import UnsupportedError
from cltr.interfaces import ClickModel, Fittable
from cltr.types import ClickLog, ClickStatistics

CLICKS = np.array([[True, False, False], [False, True, False]])
LOG = ClickLog(np.zeros(2, np.int64), np.array([[0, 1, 2], [1, 0, -1]]), CLICKS)
OFFSETS = np.array([0, 3])


class FirstClick(ClickModel):
    """Depends on the clicks above, and does not say how."""

    name = "first-click"

    def probabilities(self, relevance, context):
        return np.nan_to_num(relevance)

    def sample(self, relevance, context, rng):
        wanted = rng.random(relevance.shape) < np.nan_to_num(relevance)
        return wanted & (wanted.cumsum(-1) == 1)


def test_likelihood_is_the_probability_of_what_came():
    relevance = np.array([[0.5, 0.25, np.nan]])
    expected = PositionBased(eta=1).conditional_probabilities(relevance, CLICKS[:1], {})
    found = log_probability(expected, CLICKS[:1], ~np.isnan(relevance))
    assert found[0] == pytest.approx([np.log(0.5), np.log(1 - 0.25 / 2), 0.0])


def test_what_cannot_happen_is_minus_infinity_and_what_must_is_zero():
    found = log_probability(np.array([0.0, 1.0]), np.array([True, True]), np.ones(2, bool))
    assert found.tolist() == [-np.inf, 0.0]


def test_independent_clicks_have_the_same_probability_given_those_above():
    relevance = np.array([[0.5, 0.25, 0.1]])
    model = TrustBias()
    np.testing.assert_array_equal(
        model.conditional_probabilities(relevance, CLICKS[:1], {}),
        model.probabilities(relevance, {}),
    )


def test_a_dependent_model_without_conditionals_has_no_likelihood():
    assert FirstClick().conditional_probabilities(np.ones((1, 3)), CLICKS[:1], {}) is None

    class Fitted(FirstClick, Fittable):
        def fit(self, counts, dataset=None):
            raise NotImplementedError

        def relevance(self, dataset=None):
            return np.full(3, 0.5)

    with pytest.raises(UnsupportedError, match="does not define conditional_probabilities"):
        Fitted().predict_given_clicks(LOG)


def fitted(relevance=(0.5, 0.2, 0.1), examination=(1.0, 0.5, 0.25)):
    model = PositionBased(examination=examination, smoothing=0)
    impressions = np.full((3, 3), 100)
    model.fit(ClickStatistics(impressions, impressions // 3, np.array([300]), OFFSETS))
    model.fitted.documents["relevance"][:] = relevance
    model.fitted.shared["examination"][:] = examination
    return model


def test_scores_arithmetic():
    scores = score_chunk(fitted(), LOG, n_queries=1)
    p = np.array([[0.5, 0.1, 0.025], [0.2, 0.25, np.nan]])
    logs = np.log(np.where(CLICKS, p, 1 - p))
    assert scores.shown.tolist() == [2.0, 2.0, 1.0]
    assert scores.log_likelihood == pytest.approx(np.nansum(logs) / 2)
    by_rank = [np.exp(-logs[:, 0].mean()), np.exp(-logs[:, 1].mean()), np.exp(-logs[0, 2])]
    assert scores.perplexity_by_rank == pytest.approx(by_rank)
    assert scores.perplexity == pytest.approx(np.mean(by_rank))
    assert scores.conditional_perplexity == pytest.approx(scores.perplexity)


def test_perplexity_of_a_coin_is_2_and_of_certainty_1():
    sums, queries = np.array([8 * np.log(0.5)]), np.array([8])
    coin = ClickScores(np.array([8.0]), sums, np.array([0.0]), sums, queries)
    assert coin.conditional_perplexity == pytest.approx(2.0)
    assert coin.perplexity == 1.0


def test_one_impossible_click_does_not_decide_alone():
    scores = score_chunk(fitted(relevance=(0.0, 0.0, 0.0)), LOG, n_queries=1)
    assert scores.given_clicks[0] == pytest.approx(np.log(FLOOR) + np.log1p(-FLOOR))


def test_scores_of_chunks_add_up():
    one = add_up(score_chunk(fitted(), LOG, n_queries=1) for _ in range(2))
    assert one.log_likelihood == pytest.approx(
        score_chunk(fitted(), LOG, n_queries=1).log_likelihood
    )
    assert one.interactions == 4


def test_statistics_give_the_same_score_as_the_interactions():
    by_counts = score_statistics(fitted(), ClickStatistics.count(LOG, OFFSETS))
    by_log = score_chunk(fitted(), LOG, n_queries=1)
    assert by_counts.given_clicks == pytest.approx(by_log.given_clicks)
    assert by_counts.perplexity == pytest.approx(by_log.perplexity)


def long_log(n=4000):
    rng = np.random.default_rng(0)
    documents = np.argsort(rng.random((n, 3)), axis=1)
    return ClickLog(
        np.zeros(n, np.int64), documents, rng.random((n, 3)) < 0.3, {"user": np.arange(n)}
    )


def test_held_out_interactions_are_a_random_share_and_none_is_lost():
    log = long_log()
    ((kept, held),) = hold_out([log], share=0.25, seed=3)
    assert len(kept) + len(held) == len(log)
    assert len(held) / len(log) == pytest.approx(0.25, abs=0.03)
    assert sorted([*kept.context["user"], *held.context["user"]]) == list(range(len(log)))
    ((again, _),) = hold_out([log], share=0.25, seed=3)
    np.testing.assert_array_equal(kept.context["user"], again.context["user"])


def test_held_out_counts_add_up_to_the_whole():
    statistics = ClickStatistics.count(long_log(), OFFSETS)
    kept, held = hold_out_statistics(statistics, share=0.25, seed=3)
    whole = kept + held
    np.testing.assert_array_equal(whole.impressions, statistics.impressions)
    np.testing.assert_array_equal(whole.clicks, statistics.clicks)
    np.testing.assert_array_equal(whole.displays, statistics.displays)
    assert (held.clicks <= held.impressions).all()
    assert held.impressions.sum() / statistics.impressions.sum() == pytest.approx(0.25, abs=0.02)


def test_a_difference_between_models_is_judged_by_query():
    """One query with many interactions is one witness: its interactions share documents."""
    displays, zero = np.array([100, 100, 0]), np.zeros(1)

    def scores(*by_query):
        return ClickScores(zero, np.array([sum(by_query)]), zero, np.array(by_query), displays)

    found = difference(scores(-50.0, -50.0, 0.0), scores(-60.0, -80.0, 0.0))
    assert found.value == pytest.approx(40 / 200)
    spread = (10 - 0.2 * 100) ** 2 + (30 - 0.2 * 100) ** 2
    assert found.standard_error == pytest.approx(np.sqrt(2 * spread) / 200)
    assert difference(scores(-5.0, 0.0, 0.0), scores(-5.0, 0.0, 0.0)).value == 0.0
