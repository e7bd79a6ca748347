"""Guards fitting of position and trust bias: the scale, the relevance given it, what is open."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks import affine_em
from cltr.clicks.affine_em import Climber, levels_of_relevance
from cltr.clicks.affine_fit import (
    fit_affine,
    infer_relevance,
    rescale,
    scale_ends,
    spread_over_documents,
)
from cltr.clicks.counts import CellCounts
from cltr.clicks.fit_tools import FitOptions
from cltr.clicks.models import PositionBased, TrustBias
from cltr.clicks.relevance import RelevanceTable, Spread, rescale_relevance, times_log
from cltr.clicks.simulation import simulate_statistics
from cltr.errors import DataError, OptionError
from cltr.kernels import affine_levels, affine_steps, affine_tiles
from cltr.types import Affine, ClickStatistics, Dataset

OPTIONS = FitOptions(tolerance=1e-12, iterations=5000)


def expected_statistics(affine, relevance, *, times=10_000):
    """As many clicks as are expected, to the next whole number; every document at every rank."""
    p = relevance[:, None] * affine.examination + affine.trust
    impressions = np.full(p.shape, times)
    return ClickStatistics(
        impressions,
        np.round(p * times).astype(np.int64),
        np.array([times * p.shape[1]]),
        np.array([0, len(relevance)]),
    )


RELEVANCE = np.repeat(np.linspace(0, 1, 21), 2)
GRADES = np.tile(np.linspace(0, 1, 5), 8)


def test_position_bias_is_found_with_the_first_rank_at_1():
    truth = Affine(np.array([1.0, 0.6, 0.3, 0.1]), np.zeros(4))
    model = PositionBased(tolerance=1e-10, smoothing=0)
    model.fit(expected_statistics(truth, RELEVANCE))
    assert model.affine(4).examination == pytest.approx(truth.examination, abs=1e-3)
    assert model.affine(4).trust.tolist() == [0.0] * 4
    assert model.relevance() == pytest.approx(RELEVANCE, abs=5e-3)


def test_trust_bias_is_found_where_relevance_spans_everything():
    truth = TrustBias().affine(5)
    model = TrustBias(tolerance=1e-12, smoothing=0)
    model.fit(expected_statistics(truth, GRADES))
    assert model.affine(5).examination == pytest.approx(truth.examination, abs=1e-3)
    assert model.affine(5).trust == pytest.approx(truth.trust, abs=1e-3)
    assert model.relevance() == pytest.approx(GRADES, abs=5e-3)


def test_where_relevance_does_not_span_everything_order_and_relations_remain():
    truth, relevance = TrustBias().affine(5), 0.3 + 0.4 * RELEVANCE
    model = TrustBias(tolerance=1e-12)
    model.fit(expected_statistics(truth, relevance))
    found = model.affine(5)
    slope = truth.examination / truth.examination[0]
    assert found.examination / found.examination[0] == pytest.approx(slope, rel=0.02)
    assert np.corrcoef(model.relevance(), relevance)[0, 1] > 0.999
    assert np.abs(found.trust - truth.trust).max() > 0.05  # clicks cannot tell


def test_fitted_values_stand_in_place_of_the_options():
    model = TrustBias()
    assert model.affine(5).trust.tolist() == list(model.options.trust)
    model.fit(expected_statistics(Affine(np.full(3, 0.5), np.full(3, 0.2)), RELEVANCE))
    assert len(model.affine(3).trust) == 3
    with pytest.raises(OptionError, match="3 ranks, but 5 are needed; fit it on longer lists"):
        model.affine(5)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 3.0]))
def test_law_inferred_relevance_is_the_likeliest(seed, smoothing):
    rng = np.random.default_rng(seed)
    shown = rng.integers(0, 6, size=(4, 3))
    clicks = rng.binomial(shown, 0.4)
    statistics = ClickStatistics(shown, clicks, np.array([99]), np.array([0, 4]))
    examination = rng.uniform(0.05, 0.5, size=3)
    affine = Affine(examination, rng.uniform(0.05, 0.5, size=3))
    counts = counts_of(statistics)
    found = infer_relevance(counts, affine, Spread(0.3, 1.0), smoothing=smoothing)

    def objective(relevance):
        p = relevance[:, None] * affine.examination + affine.trust
        likelihood = (times_log(clicks, p) + times_log(shown - clicks, 1 - p)).sum(1)
        penalty = 0.3 * np.log(relevance) + 0.7 * np.log1p(-relevance)
        return likelihood + smoothing * penalty

    inside = found.clip(1e-9, 1 - 1e-9)
    for other in np.linspace(0.001, 0.999, 23):
        assert (objective(inside) >= objective(np.full(4, other)) - 1e-6).all()
    assert (found[shown.sum(1) == 0] == 0.3).all()


@given(st.integers(0, 10**6))
def test_law_rescaling_leaves_clicks_as_likely(seed):
    rng = np.random.default_rng(seed)
    affine = Affine(rng.uniform(0, 0.5, 4), rng.uniform(0, 0.4, 4))
    low, high = rng.uniform(0, 0.4), rng.uniform(0.6, 1)
    relevance = rng.uniform(low, high, size=5)
    scaled, moved = rescale(affine, low, high), rescale_relevance(relevance, low, high)
    np.testing.assert_allclose(
        moved[:, None] * scaled.examination + scaled.trust,
        relevance[:, None] * affine.examination + affine.trust,
        atol=1e-12,
    )


def counts_of(statistics):
    return CellCounts.of_statistics(statistics)


def test_without_trust_the_scale_is_the_best_cell():
    affine = Affine(np.array([0.4, 0.8]), np.zeros(2))
    assert scale_ends(affine, RELEVANCE, np.ones(len(RELEVANCE))) == (0.0, 1 / 0.8)


def test_with_trust_the_scale_is_the_outer_impressions():
    affine = TrustBias().affine(3)
    assert scale_ends(affine, RELEVANCE, np.ones(42)) == pytest.approx((0.05, 1.0))
    rare = np.where(RELEVANCE > 0.9, 0.01, 1.0)
    assert scale_ends(affine, RELEVANCE, rare)[1] == pytest.approx(0.9)
    often = np.where(RELEVANCE < 0.3, 1.0, 100.0)
    assert scale_ends(affine, RELEVANCE, often)[0] > 0.3
    assert scale_ends(affine, np.full(42, 0.4), np.ones(42)) == (0.0, 1.0)


def test_mean_relevance_corrects_the_click_rate():
    affine = Affine(np.array([0.5, 0.25]), np.array([0.2, 0.1]))
    statistics = expected_statistics(affine, np.array([0.2, 0.6]))
    assert Climber(counts_of(statistics), affine).mean == pytest.approx(0.4)


def test_ranks_that_share_no_document_are_named():
    impressions = np.array([[9, 9, 0, 0], [0, 9, 9, 0], [0, 0, 0, 3]])
    statistics = ClickStatistics(impressions, impressions // 3, np.array([40]), np.array([0, 3]))
    assert counts_of(statistics).unconnected() == (4,)
    notes = PositionBased().fit(statistics).convergence.notes
    assert notes[1] == (
        "cells 4 share no document with the others, so their examination is a guess"
    )


def test_a_document_that_is_always_or_never_clicked_is_no_trouble():
    impressions = np.full((3, 2), 50)
    clicks = np.array([[50, 50], [0, 0], [25, 10]])
    statistics = ClickStatistics(impressions, clicks, np.array([100]), np.array([0, 3]))
    for model in (PositionBased(smoothing=0), TrustBias(smoothing=0)):
        fitted = model.fit(statistics)
        assert np.isfinite(fitted.convergence.objective).all()
        assert model.relevance() == pytest.approx([1, 0, model.relevance()[2]], abs=1e-6)


def test_irrelevant_documents_are_never_clicked_more_than_relevant_ones():
    rng = np.random.default_rng(0)
    impressions = rng.integers(1, 4, size=(6, 4))
    statistics = ClickStatistics(
        impressions, rng.binomial(impressions, 0.5), np.array([30]), np.array([0, 6])
    )
    found = fit_affine(counts_of(statistics), TrustBias().start(4), OPTIONS).affine
    assert (found.examination >= 0).all()


def few_impressions(seed, *, n=7, ranks=3, most=6):
    rng = np.random.default_rng(seed)
    impressions = rng.integers(0, most, size=(n, ranks))
    clicks = rng.binomial(impressions, 0.4)
    clicks[0, 0] = impressions[0, 0] = 1
    return ClickStatistics(impressions, clicks, np.array([99]), np.array([0, n]))


@pytest.mark.parametrize("start", [TrustBias().start(3), PositionBased().start(3)])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_expected_of_each_level_is_bayes_by_numpy(seed, start):
    """Clicks and impressions by level, exactly; at level 0 without trust no click is possible."""
    statistics, levels = few_impressions(seed), levels_of_relevance()
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 2, size=len(statistics.impressions))
    weights = rng.dirichlet(np.ones(len(levels)), size=2)
    p = start.examination[:, None] * levels + start.trust[:, None]
    logs = [np.log(np.maximum(values, affine_em.TINY)) for values in (p, 1 - p)]
    groups = counts_of(statistics).grouped(strata)
    sums, documents, value = affine_levels.integrate(*groups, *logs, weights)
    clicks, skips = statistics.clicks, statistics.impressions - statistics.clicks
    likelihood = (p ** clicks[..., None] * (1 - p) ** skips[..., None]).prod(1)  # 0 ** 0 is 1
    joint = likelihood * weights[strata]
    seen = statistics.impressions.sum(1) > 0
    share = joint[seen] / joint[seen].sum(1, keepdims=True)
    np.testing.assert_allclose(sums[0], clicks[seen].T @ share, atol=1e-10)
    np.testing.assert_allclose(sums[1], statistics.impressions[seen].T @ share, atol=1e-10)
    by_stratum = [share[strata[seen] == one].sum(0) for one in (0, 1)]
    np.testing.assert_allclose(documents, by_stratum, atol=1e-10)
    assert value == pytest.approx(np.log(joint[seen].sum(1)).sum(), abs=1e-10)


@pytest.mark.parametrize("start", [TrustBias().start(3), PositionBased().start(3)])
@pytest.mark.parametrize("n", [1, 8, 21])
def test_eight_documents_together_are_expected_what_each_is_alone(n, start):
    """Some documents never shown in a cell, never or always clicked, and surely (ir)relevant."""
    statistics = few_impressions(n, n=2 * n)
    counts, some = counts_of(statistics), np.arange(2 * n) % 2 == 0
    relevance = np.random.default_rng(n).random(n)
    relevance[1:8:3], relevance[2:8:3] = 0.0, 1.0
    clicks, shown = statistics.clicks[some], statistics.impressions[some]
    values = start.examination + start.trust, start.trust, relevance
    hits, sums, value = affine_tiles.expect(*counts.tiles(some), *values)
    compact = ClickStatistics(shown, clicks, np.array([99]), np.array([0, n]))
    expected = affine_steps.expect(*counts_of(compact).arrays, *values)
    np.testing.assert_allclose(hits, expected[0], atol=1e-12)
    np.testing.assert_allclose(sums, expected[1], atol=1e-12)
    assert value == pytest.approx(expected[2], rel=1e-13)


@pytest.mark.parametrize("rare", [1e-2, 1e-9, affine_em.TINY])
def test_clicks_that_hardly_can_be_are_no_trouble(rare):
    """Below the smallest double the shares of levels are still those of their logarithms."""
    clicks = np.array([[150, 3], [0, 5], [90, 60]])
    shown = clicks + np.array([[0, 150], [9, 9], [60, 7]])
    statistics = ClickStatistics(shown, clicks, np.array([999]), np.array([0, 3]))
    levels = levels_of_relevance()
    p = rare * (1 + levels[None, :] * np.array([[1.0], [2.0]]))
    weights, strata = np.full((1, len(levels)), 1 / len(levels)), np.zeros(3, int)
    groups = counts_of(statistics).grouped(strata)
    sums, documents, value = affine_levels.integrate(*groups, np.log(p), np.log1p(-p), weights)
    logs = clicks @ np.log(p) + (shown - clicks) @ np.log1p(-p) + np.log(weights[0])
    highest = logs.max(1, keepdims=True)
    share = np.exp(logs - highest)
    total = share.sum(1, keepdims=True)
    np.testing.assert_allclose(documents[0], (share / total).sum(0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sums[0], clicks.T @ (share / total), rtol=1e-9, atol=1e-10)
    assert value == pytest.approx((highest + np.log(total)).sum(), rel=1e-13)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("heavy", [0, 8, 500])
def test_the_objective_is_the_likelihood_with_relevance_summed_over(seed, heavy, monkeypatch):
    """By numpy, level by level; documents above ``heavy`` impressions have one of their own."""
    monkeypatch.setattr(affine_em, "HEAVY", heavy)
    monkeypatch.setattr(affine_em, "STRATA", 1)
    statistics, start = few_impressions(seed), TrustBias().start(3)
    climber = Climber(counts_of(statistics), start, smoothing=0.0)
    first = climber.integrate(FitOptions(iterations=1)).convergence.objective[0]
    levels = levels_of_relevance()
    many = statistics.impressions.sum(1) >= heavy
    p = levels[:, None, None] * start.examination + start.trust
    own = climber.mean * start.examination + start.trust
    clicks, skips = statistics.clicks, statistics.impressions - statistics.clicks
    summed = np.exp((clicks * np.log(p) + skips * np.log1p(-p)).sum(-1)).mean(0)
    alone = (clicks * np.log(own) + skips * np.log1p(-own)).sum(-1)
    seen = statistics.impressions.sum(1) > 0
    expected = np.log(summed[~many & seen]).sum() + alone[many].sum()
    assert first == pytest.approx(expected, abs=1e-10)


@given(st.integers(0, 10**6), st.sampled_from([0, 8, 500]), st.sampled_from([1, 5]))
def test_law_the_climb_never_falls_whatever_is_integrated_over(seed, heavy, strata):
    statistics = few_impressions(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(affine_em, "HEAVY", heavy)
        patch.setattr(affine_em, "STRATA", strata)
        for model in (TrustBias(), PositionBased()):
            climber = Climber(counts_of(statistics), model.start(3))
            objective = climber.integrate(FitOptions(iterations=80)).convergence.objective
            assert np.isfinite(objective).all()
            assert (np.diff(objective) >= -1e-9 * (1 + np.abs(objective[1:]))).all()


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_law_the_climb_of_a_table_never_falls(seed, smoothing):
    counts = counts_of(few_impressions(seed))
    climber = Climber(counts, TrustBias().start(3), smoothing=smoothing)
    found = climber.tabulate(RelevanceTable(smoothing, 0.4), FitOptions(iterations=80)).convergence
    assert (np.diff(found.objective) >= -1e-9 * (1 + np.abs(found.objective[1:]))).all()


def simulated(n_queries, displays, *, seed, users=None, better_above=0.0):
    """Random lists of 15 documents with five grades; the ranker may know something of them."""
    rng = np.random.default_rng(seed)
    users = users or TrustBias()
    grades = rng.integers(0, 5, size=15 * n_queries).astype(np.float64)
    dataset = Dataset(
        features=np.zeros((len(grades), 1), np.float32),
        labels=grades,
        offsets=15 * np.arange(n_queries + 1),
        query_ids=np.arange(n_queries),
        document_ids=np.arange(len(grades)),
    )
    scores = rng.normal(size=len(grades)) + better_above * (dataset.relevance - 0.5)
    n = n_queries * displays
    return simulate_statistics(dataset, scores, users, n=n, top_k=5, rng=rng), dataset


@pytest.mark.parametrize("better_above", [0.0, 3.0])
def test_many_documents_with_few_impressions_each_still_tell_examination(better_above):
    """Twenty displays a query: a relevance for each document would fit chance."""
    users = PositionBased(eta=1)
    statistics, _ = simulated(300, 20, seed=0, users=users, better_above=better_above)
    model = PositionBased()
    model.fit(statistics)
    assert model.affine(5).examination == pytest.approx(1 / np.arange(1, 6), abs=0.05)
    climber = Climber(counts_of(statistics), model.start(5))
    above, _, _ = climber.tabulate(RelevanceTable(0.0, 0.5), FitOptions()).state
    naive = np.abs(above / above[0] - 1 / np.arange(1, 6)).max()
    fitted = np.abs(model.affine(5).examination - 1 / np.arange(1, 6)).max()
    assert fitted < naive


def test_relations_of_trust_bias_need_no_more_than_200_displays_a_query():
    statistics, _ = simulated(300, 200, seed=1)
    model = TrustBias()
    model.fit(statistics)
    found, truth = model.affine(5), TrustBias().affine(5)
    slope = truth.examination / truth.examination[0]
    assert found.examination / found.examination[0] == pytest.approx(slope, abs=0.12)


def test_smoothing_is_what_the_spread_of_documents_says():
    statistics, dataset = simulated(100, 500, seed=2, users=PositionBased())
    model = PositionBased()
    fitted = model.fit(statistics)
    mean, variance = dataset.relevance.mean(), dataset.relevance.var()
    assert fitted.unseen["relevance"] == pytest.approx(mean, abs=0.05)
    strength = mean * (1 - mean) / variance - 1
    assert fitted.strength["relevance"] == pytest.approx(strength, rel=0.25)


def test_a_log_without_clicks_is_an_error():
    nothing = ClickStatistics(
        np.ones((2, 2), int), np.zeros((2, 2), int), np.array([2]), np.array([0, 2])
    )
    with pytest.raises(DataError, match="no clicks"):
        TrustBias().fit(nothing)


def test_infer_uses_the_options_where_nothing_was_fitted():
    affine = Affine(np.array([0.5]), np.array([0.1]))
    model = TrustBias(examination=(0.5,), trust=(0.1,), smoothing=0)
    statistics = expected_statistics(affine, np.array([0.2, 0.6]))
    assert model.infer(statistics) == pytest.approx([0.2, 0.6], abs=1e-9)
    counts = counts_of(statistics)
    direct = infer_relevance(counts, affine, Spread(0.5, 1.0), smoothing=0.0)
    assert model.infer(statistics) == pytest.approx(direct)


@pytest.mark.parametrize(("a", "b"), [(2.0, 6.0), (0.5, 0.5), (20.0, 5.0)])
def test_the_spread_of_a_beta_distribution_is_found(a, b):
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 40, size=5000).astype(np.float64)
    successes = rng.binomial(trials.astype(int), rng.beta(a, b, size=5000)).astype(np.float64)
    found = spread_over_documents(successes, trials)
    assert found.mean == pytest.approx(a / (a + b), abs=0.02)
    assert found.strength == pytest.approx(a + b, rel=0.15)


def test_documents_that_are_alike_have_a_strong_mean():
    rng = np.random.default_rng(0)
    successes = rng.binomial(20, 0.3, size=500).astype(np.float64)
    assert spread_over_documents(successes, np.full(500, 20.0)).strength > 50


@pytest.mark.parametrize(
    ("successes", "trials", "mean"),
    [([0.0, 0.0], [5.0, 3.0], 0.0), ([3.0, 2.0], [3.0, 2.0], 1.0), ([], [], 0.5)],
)
def test_spread_where_nothing_varies(successes, trials, mean):
    found = spread_over_documents(np.array(successes), np.array(trials))
    assert 0 < found.mean < 1
    assert found.mean == pytest.approx(mean, abs=0.05)
    assert found.strength > 0
