"""Guards the estimators of candidates: every ranking and every click, so no sampling error."""

from itertools import product

import numpy as np
import pytest

from cltr.evaluation.bounds import smoothed_lower, smoothed_mean
from cltr.evaluation.estimators import (
    baseline_terms,
    best_baseline,
    beta_terms,
    centred_terms,
    dr_terms,
    ips_terms,
    linear_terms,
    snips_terms,
)
from cltr.evaluation.gain_bounds import click_sum_limits, safe_limits, safe_terms
from cltr.evaluation.part import Fold, LogPart, Weights
from cltr.evaluation.units import InteractionUnits, QueryUnits
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.testing import tiny_dataset
from cltr.types import Affine, ClickLog, ClickStatistics, Lists
from tests.enumeration import all_rankings, exposure_of, plackett_luce, rank_distribution

AFFINE = Affine(np.array([0.7, 0.4]), np.array([0.2, 0.1]))
DCG = rank_weights("dcg", 2)
SCORES = np.array([0.5, 0.0, -1.0])
RELEVANCE = np.array([0.1, 0.9, 0.6])
WEIGHTS = rank_distribution([-1.0, 1.0, 0.3], 2) @ DCG
LISTS = Lists.of_offsets(np.array([0, 3]))


def outcomes(relevance=RELEVANCE, scores=SCORES):
    """All rankings of 3 documents at 2 ranks, with all clicks, and their probabilities."""
    rankings = all_rankings(3, 2)
    chances = plackett_luce(scores, rankings)
    rows, probabilities = [], []
    for (ranking, chance), clicks in product(
        zip(rankings, chances, strict=True), product([False, True], repeat=2)
    ):
        click = AFFINE.examination * relevance[ranking] + AFFINE.trust
        rows.append((ranking, clicks))
        probabilities.append(chance * np.prod(np.where(clicks, click, 1 - click)))
    documents, clicks = (np.array(column) for column in zip(*rows, strict=True))
    return documents, clicks, np.array(probabilities)


def part(documents, clicks, *, regression=0.3, scores=SCORES) -> LogPart:
    log = ClickLog(np.zeros(len(documents), np.int64), documents, clicks)
    dataset = tiny_dataset()  # production is not asked here
    ranks = rank_distribution(list(scores), 2)
    return LogPart(
        "test",
        InteractionUnits.of([log], AFFINE, LISTS),
        ClickStatistics.count(log, np.array([0, 3])),
        exposure_of(ranks, AFFINE, DCG),
        ScoredPolicy(dataset, scores, PlackettLuce()),
        np.full(3, regression),
    )


@pytest.mark.parametrize("regression", [0.0, 0.3, 1.0])
def test_ips_and_dr_are_unbiased_whatever_the_regression(regression):
    documents, clicks, chances = outcomes()
    whole = part(documents, clicks, regression=regression)
    for terms in (ips_terms, dr_terms):
        assert chances @ terms(whole, WEIGHTS) == pytest.approx(WEIGHTS @ RELEVANCE, abs=1e-12)


def test_beta_ips_is_unbiased_whatever_the_baseline():
    documents, clicks, chances = outcomes()
    whole = part(documents, clicks)
    assert chances @ centred_terms(whole, WEIGHTS) == pytest.approx(0.0, abs=1e-12)
    terms = baseline_terms(Fold(whole, whole), WEIGHTS, WEIGHTS)
    assert chances @ terms == pytest.approx(WEIGHTS @ RELEVANCE, abs=1e-12)


def test_the_best_baseline_is_the_best():
    documents, clicks, chances = outcomes()
    often = np.repeat(np.arange(len(chances)), np.round(1e5 * chances).astype(int))
    whole = part(documents[often], clicks[often])
    x, z = ips_terms(whole, WEIGHTS), centred_terms(whole, WEIGHTS)
    best = best_baseline(x, z)
    assert best == pytest.approx(np.cov(x, z)[0, 1] / z.var(ddof=1))
    variances = [np.var(x - b * z) for b in (best - 0.01, best, best + 0.01)]
    assert np.argmin(variances) == 1
    assert variances[1] < np.var(x)


def test_snips_has_the_value_of_its_formula_and_the_error_of_leaving_one_out():
    documents, clicks, chances = outcomes()
    drawn = np.random.default_rng(0).choice(len(chances), 500, p=chances)
    whole = part(documents[drawn], clicks[drawn])
    weights = Weights(Fold(whole, whole), {"test": WEIGHTS}, {"test": whole.exposure.weights})
    found = snips_terms([weights], whole.units.counts).candidate
    each = WEIGHTS / whole.exposure.propensities
    x, e = whole.units.clicked(each), whole.units.examined(each)
    assert found.mean() == pytest.approx(WEIGHTS.sum() * x.sum() / e.sum(), abs=1e-12)
    left_out = WEIGHTS.sum() * (x.sum() - x) / (e.sum() - e)
    jackknife = np.sqrt(((left_out - left_out.mean()) ** 2).sum() * 499 / 500)
    assert found.std(ddof=1) / np.sqrt(500) == pytest.approx(jackknife, rel=0.01)


def test_smoothing_is_low_on_average_and_its_bound_rarely_too_high():
    documents, clicks, chances = outcomes()
    whole = part(documents, clicks)
    terms, low = ips_terms(whole, WEIGHTS), -10.0
    truth, rate, confidence = WEIGHTS @ RELEVANCE, 0.05, 0.8
    smoothed = np.array([smoothed_mean(np.array([x]), rate=rate, low=low) for x in terms])
    assert chances @ smoothed < truth
    missed = 0.0
    for (x, p), (y, q) in product(zip(terms, chances, strict=True), repeat=2):
        bound = smoothed_lower(np.array([x, y]), rate=rate, confidence=confidence, low=low)
        missed += p * q * (bound > truth)
    assert missed <= 1 - confidence


@pytest.mark.parametrize("clip", [0.0, 0.1, 0.3, 0.9])
@pytest.mark.parametrize("relevance", [(0.1, 0.9, 0.6), (0, 1, 0), (1, 0, 0), (1, 1, 1)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_clipped_terms_never_promise_more_than_the_gain(clip, relevance, sign):
    relevance = np.array(relevance, float)
    documents, clicks, chances = outcomes(relevance)
    whole = part(documents, clicks)
    differences = sign * (WEIGHTS - whole.exposure.weights)
    terms = safe_terms(whole, differences, clip=clip)
    mean, gain = chances @ terms, differences @ relevance
    assert mean <= gain + 1e-12
    if clip == 0.0:
        assert mean == pytest.approx(gain, abs=1e-12)
    limits = safe_limits(whole, differences, clip=clip)
    assert limits.low - 1e-12 <= terms.min()
    assert terms.max() <= limits.high + 1e-12


def test_a_document_that_is_never_shown_counts_against_the_candidate():
    hidden = np.array([0.5, 0.0, -80.0])  # the last one is never among the first two
    documents, clicks, chances = outcomes(scores=hidden)
    whole = part(documents, clicks, scores=hidden)
    whole.exposure.propensities[2] = 0.0
    differences = np.array([-1.0, 0.0, 1.0])
    assert chances @ safe_terms(whole, differences, clip=0.0) == pytest.approx(-RELEVANCE[0])
    assert whole.unsupported(np.array([0.0, 1.0, 3.0])) == pytest.approx(0.75)


def test_limits_hold_all_terms_of_ips_and_dr():
    documents, clicks, _ = outcomes()
    whole = part(documents, clicks)
    weights = Weights(Fold(whole, whole), {"test": WEIGHTS}, {"test": whole.exposure.weights})
    for terms, regression in ((ips_terms, False), (dr_terms, True)):
        found = linear_terms([weights], terms).difference
        limits = click_sum_limits([weights], regression=regression)
        assert limits.low - 1e-12 <= found.min()
        assert found.max() <= limits.high + 1e-12


def test_queries_as_units_have_the_sums_of_their_interactions():
    documents, clicks, _ = outcomes()
    one = part(documents, clicks)
    by_query = QueryUnits(one.statistics, AFFINE)
    each = np.array([0.3, -1.0, 2.0])
    for method in ("clicked", "examined", "own"):
        summed = getattr(one.units, method)(each).sum()
        assert getattr(by_query, method)(each) == pytest.approx([summed])
    assert by_query.n_interactions == one.units.n_interactions


def test_the_difference_has_a_baseline_of_its_own():
    documents, clicks, chances = outcomes()
    whole = part(documents, clicks)
    weights = Weights(Fold(whole, whole), {"test": WEIGHTS}, {"test": whole.exposure.weights})
    found = beta_terms([weights])
    gain = (WEIGHTS - whole.exposure.weights) @ RELEVANCE
    assert chances @ found.difference == pytest.approx(gain, abs=1e-12)
