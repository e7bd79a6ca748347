"""Guards the E-steps and likelihoods against the enumeration of all hidden states."""

import hidden_states as hidden
import numpy as np
import pytest

from cltr.kernels.affine_steps import expect as expect_cells
from cltr_clickmodels.chainfit import expect
from cltr_clickmodels.counts import count_chain
from cltr_clickmodels.dbn import satisfied_share
from cltr_clickmodels.ubm import UBM, pair, pairs_of

SEEDS = range(5)
EXACT = {"rtol": 0, "atol": 1e-12}


def evidence_of(users, clicks):
    model = users.model()
    offsets = np.array([0, users.top_k])
    counts = count_chain(hidden.one_interaction(clicks), offsets, tails=True)
    return expect(model, counts, model.fitted.documents, model.fitted.shared)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in hidden.CHAIN if name != "cascade"])
def test_e_step_is_the_posterior_of_all_hidden_states(name, seed):
    users = hidden.Users.draw(name, np.random.default_rng(seed))
    for clicks, posterior in hidden.posteriors(users).items():
        found = evidence_of(users, clicks)
        assert found.log_likelihood == pytest.approx(np.log(posterior.probability), abs=1e-12)
        np.testing.assert_allclose(found.skips, posterior.skips, **EXACT)
        np.testing.assert_allclose(found.continued, posterior.continued, **EXACT)
        np.testing.assert_allclose(found.stopped, posterior.stopped, **EXACT)
        assert found.skip_continued == pytest.approx(posterior.skip_continued, abs=1e-12)
        assert found.skip_stopped == pytest.approx(posterior.skip_stopped, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_dbn_satisfaction_is_the_posterior_of_all_hidden_states(seed):
    users = hidden.Users.draw("dbn", np.random.default_rng(seed))
    share = satisfied_share(users.satisfaction, {"continuation": users.continuation})
    for clicks, posterior in hidden.posteriors(users).items():
        found = evidence_of(users, clicks).stopped * share
        np.testing.assert_allclose(found, posterior.satisfied, **EXACT)


def test_dbn_posterior_needs_the_clicks_above():
    """With the unconditional e_r the posterior of attraction is off by more than 0.01."""
    users = hidden.Users.draw("dbn", np.random.default_rng(0))
    model, log = users.model(), hidden.all_clicks(users.top_k)
    given, marginal = model.predict_given_clicks(log), model.predict(log)
    assert np.abs(given - marginal).max() > 0.01


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", hidden.CHAIN)
def test_click_probabilities_are_sums_over_all_courses(name, seed):
    users = hidden.Users.draw(name, np.random.default_rng(seed))
    model, log = users.model(), hidden.all_clicks(users.top_k)
    posteriors = hidden.posteriors(users)
    probability = np.array([posteriors[tuple(row)].probability for row in log.clicks.tolist()])
    assert probability.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(model.predict(log)[0], probability @ log.clicks, **EXACT)
    given = model.predict_given_clicks(log)
    chain = np.where(log.clicks, given, 1 - given).prod(1)
    np.testing.assert_allclose(chain, probability, **EXACT)


def test_tails_of_lists_that_end_early_end_there():
    users = hidden.Users.draw("dbn", np.random.default_rng(1))
    short = hidden.Users("dbn", users.attraction[:2], users.satisfaction[:2], users.continuation)
    log = hidden.one_interaction((True, False, False, False))
    cut = type(log)(log.queries, np.where(np.arange(4) < 2, log.documents, -1), log.clicks)
    model = users.model()
    counts = count_chain(cut, np.array([0, 4]), tails=True)
    found = expect(model, counts, model.fitted.documents, model.fitted.shared)
    posterior = hidden.posteriors(short)[True, False]
    assert found.log_likelihood == pytest.approx(np.log(posterior.probability), abs=1e-12)
    np.testing.assert_allclose(found.skips[:2], posterior.skips, **EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_trust_bias_posterior_is_bayes_over_relevance_and_click(seed):
    rng = np.random.default_rng(seed)
    relevance, irrelevant = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.5, size=2)
    relevant = irrelevant + rng.uniform(0.1, 0.5, size=2)
    shown, clicked = np.array([7.0, 4.0]), np.array([3.0, 0.0])
    starts, cells = np.array([0, 2]), np.array([0, 1])
    hits, sums, value = expect_cells(
        starts, cells, shown, clicked, relevant, irrelevant, np.array([relevance])
    )
    # P(R, C) for R in (1, 0) and C in (1, 0), rank by rank
    joint = np.array(
        [[relevance * relevant, relevance * (1 - relevant)],
         [(1 - relevance) * irrelevant, (1 - relevance) * (1 - irrelevant)]]
    )  # fmt: skip
    observed = joint.sum(0)
    posterior = joint[0] / observed
    skipped = shown - clicked
    np.testing.assert_allclose(sums[0], clicked * posterior[0], **EXACT)
    np.testing.assert_allclose(sums[1], clicked * posterior[0] + skipped * posterior[1], **EXACT)
    np.testing.assert_allclose(sums[2], clicked * (1 - posterior[0]), **EXACT)
    assert hits[0] == pytest.approx(sums[1].sum(), abs=1e-12)
    expected = clicked @ np.log(observed[0]) + skipped @ np.log(observed[1])
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_ubm_probabilities_are_sums_over_all_clicks(seed):
    rng = np.random.default_rng(seed)
    top_k = 4
    model = UBM(examination=tuple(rng.uniform(0.1, 1, size=10)))
    relevance = np.tile(rng.uniform(0.1, 0.9, size=top_k), (2**top_k, 1))
    log = hidden.all_clicks(top_k)
    given = model.conditional_probabilities(relevance, log.clicks, {})
    probability = np.where(log.clicks, given, 1 - given).prod(1)
    assert probability.sum() == pytest.approx(1.0, abs=1e-12)
    marginal = model.probabilities(relevance[:1], {})[0]
    np.testing.assert_allclose(marginal, probability @ log.clicks, **EXACT)


def test_ubm_pair_is_the_rank_and_the_last_click_above():
    clicks = np.array([[False, True, False, True, False]])
    expected = [pair(0, 0), pair(1, 0), pair(2, 2), pair(3, 2), pair(4, 4)]
    assert pairs_of(clicks).tolist() == [expected]
