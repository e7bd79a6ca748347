"""Guards that every sampled gradient is right on average: all rankings enumerated, no sampling."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from cltr.objectives.prpo import PRPO
from cltr_plrank import Placement, PLRank, PLRank1, PLRank2, Reinforce

ONE_RANKING = {
    "pl-rank": PLRank(),
    "pl-rank, plain mean": PLRank(centre="mean"),
    "pl-rank, not centred": PLRank(centre="none"),
    "pl-rank-1": PLRank1(),
    "pl-rank-1, not centred": PLRank1(centre="none"),
    "pl-rank-2": PLRank2(),
    "placement, no baseline": Placement(baseline="none"),
    "reinforce, no baseline": Reinforce(baseline="none"),
}
TWO_RANKINGS = {"placement": Placement(samples=2), "reinforce": Reinforce(samples=2)}
SHAPES = [(4, 3), (4, 1), (4, 4), (3, 5), (1, 2)]
CASES = [("dcg", 1), ("odd", 4)]
ESTIMATORS = ["plain", "prpo", "rollback", "quadratic"]


def expected_gradient(ranker, problem, samples):
    """The mean of the estimate over every tuple of rankings that could be drawn."""
    rankings, chances = problem.rankings()
    drawn = np.array(list(product(range(len(rankings)), repeat=samples)))
    estimates = ranker.estimate(*problem.batch(len(drawn)), rankings[drawn])
    return chances[drawn].prod(-1) @ estimates


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", [*ONE_RANKING, *TWO_RANKINGS])
def test_expected_gradient_is_the_derivative(make_problem, name, shape, estimator):
    samples = 2 if name in TWO_RANKINGS else 1
    ranker = (ONE_RANKING | TWO_RANKINGS)[name]
    for metric, seed in CASES:
        problem = make_problem(estimator, *shape, metric=metric, seed=seed)
        found = expected_gradient(ranker, problem, samples)
        np.testing.assert_allclose(found, problem.derivative(), rtol=0, atol=1e-8)


@pytest.mark.parametrize(("metric", "seed"), CASES)
def test_the_problems_try_what_they_claim(make_problem, metric, seed):
    """Slopes of both signs, and documents on both sides of PRPO's clip."""
    slope = make_problem("prpo", 4, 3, metric=metric, seed=seed).objective(1).slope
    assert set(np.sign(slope).ravel()) == {-1.0, 0.0, 1.0}


@pytest.mark.parametrize("samples", [2, 3])
def test_mean_over_all_rankings_shrinks_reinforce(make_problem, samples):
    problem = make_problem("plain", 3, 2)
    found = expected_gradient(Reinforce(baseline="paper"), problem, samples)
    expected = (1 - 1 / samples) * problem.derivative()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_published_algorithm_1_is_not_the_gradient(make_problem):
    """PL-Rank-3 as printed divides by the sum over the whole list at every rank."""
    problem = make_problem("plain", 4, 3)
    rankings, chances = problem.rankings()
    rates = np.exp(problem.scores)

    def printed(ranking):
        earned = problem.rank_weights * problem.rewards[ranking]
        later = np.append(np.cumsum(earned[::-1])[::-1], 0.0)
        risk = np.cumsum(later[:-1] / rates.sum())
        own = np.cumsum(problem.rank_weights / rates.sum())
        ranks = np.array([(*ranking, d).index(d) for d in range(4)])
        cut = np.minimum(ranks, 2)
        return later[np.minimum(ranks + 1, 3)] + rates * (problem.rewards * own[cut] - risk[cut])

    error = chances @ np.array([printed(ranking) for ranking in rankings]) - problem.derivative()
    assert np.abs(error).max() > 0.01


def test_at_the_clip_between_the_one_sided_derivatives(make_problem):
    """Two documents exactly at PRPO's bound, the others free."""
    problem = make_problem("plain", 4, 3, seed=3)
    weights = problem.weights(problem.scores)
    logging_weights = np.where([True, True, False, False], weights, 10 * weights)
    logging_weights[problem.rewards < 0] /= 100.0
    logging_weights[:2] = weights[:2]
    problem = replace(problem, estimator=PRPO(clip=1.0), logging_weights=logging_weights)
    assert (problem.objective(1).slope != 0).tolist() == [[False, False, True, True]]

    found = expected_gradient(PLRank(), problem, samples=1)
    here = problem.value(weights)
    unit = 1e-6 * np.eye(4)
    right = [(problem.value(problem.weights(problem.scores + d)) - here) / 1e-6 for d in unit]
    left = [(here - problem.value(problem.weights(problem.scores - d))) / 1e-6 for d in unit]
    assert (found >= np.minimum(left, right) - 1e-5).all()
    assert (found <= np.maximum(left, right) + 1e-5).all()
    assert np.abs(np.subtract(left, right)).max() > 0.01
