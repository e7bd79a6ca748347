"""Guards StochasticRank: exact on average with Gumbel noise, within its error with Gaussian."""

from itertools import product

import numpy as np
import pytest

from cltr.documents import Batch
from cltr.policies import Gaussian, PlackettLuce
from cltr.types import Lists
from cltr_plrank import StochasticRank

ESTIMATORS = ["plain", "prpo", "rollback", "quadratic"]
NODES, NODE_WEIGHTS = np.polynomial.laguerre.laggauss(24)


def expected_gumbel_gradient(problem):
    """The mean over every ranking, and over the gaps between arrivals by quadrature."""
    from cltr_plrank.kernels import conditional

    n = len(problem.scores)
    deeper = np.append(problem.rank_weights, 0.0)
    rankings, chances = type(problem)(
        problem.scores, problem.rewards, problem.logging_weights, deeper, problem.estimator
    ).rankings()
    depth = min(n, len(deeper))
    grid = np.array(list(product(range(len(NODES)), repeat=depth)))
    gaps = np.zeros((len(grid), len(deeper)))
    gaps[:, :depth] = NODES[grid]
    times = np.tile(gaps, (len(rankings), 1))[:, None, :]
    drawn = np.repeat(rankings, len(grid), axis=0)[:, None, :]
    batch, objective = problem.batch(len(drawn))
    scores, mask, rank_weights = batch.scores, batch.mask, batch.rank_weights
    order = np.argsort(-scores, axis=-1)
    rates, out = np.zeros(scores.shape), np.zeros(scores.shape)
    conditional.arrivals(scores, mask.sum(-1), order, drawn, times, rates)
    drops = -np.diff(rank_weights, append=0.0)
    slope = np.ascontiguousarray(objective.slope)
    conditional.gradient(rates, mask.sum(-1), drawn, times, slope, drops, False, out)
    chance = np.repeat(chances, len(grid)) * np.tile(NODE_WEIGHTS[grid].prod(-1), len(rankings))
    return chance @ out


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("shape", [(3, 2), (3, 1), (3, 3), (2, 4)], ids=str)
def test_gumbel_gradient_is_that_of_plackett_luce(make_problem, shape, estimator):
    for metric, seed in [("dcg", 1), ("odd", 4)]:
        problem = make_problem(estimator, *shape, metric=metric, seed=seed, scale=0.4)
        found = expected_gumbel_gradient(problem)
        np.testing.assert_allclose(found, problem.derivative(), rtol=0, atol=1e-8)


def worst_deviation(ranker, problem, derivative, objective, rows=20_000):
    """The largest distance from the derivative, in standard errors of the mean of many rows."""
    scores = np.tile(problem.scores, (rows, 1))
    mask = np.ones(scores.shape, bool)
    rng = np.random.default_rng(8)
    found = ranker.gradient(Batch(scores, mask, problem.rank_weights), objective, rng)
    error = found.std(0) / np.sqrt(rows)
    assert (error < 0.05).all()
    return np.abs((found.mean(0) - derivative) / error).max()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("shape", [(5, 3), (4, 1), (3, 5)], ids=str)
def test_gumbel_gradient_as_drawn(make_problem, shape, estimator):
    problem = make_problem(estimator, *shape, seed=1)
    objective = problem.objective(20_000)
    ranker = StochasticRank(samples=1)
    assert worst_deviation(ranker, problem, problem.derivative(), objective) < 4


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("shape", [(5, 3), (4, 1), (3, 5)], ids=str)
@pytest.mark.parametrize("sigma", [1.0, 0.4])
def test_gaussian_gradient_is_that_of_the_gaussian_policy(make_problem, shape, estimator, sigma):
    problem = make_problem(estimator, *shape, metric="odd", seed=4, scale=0.5)
    lists = Lists.of_offsets(np.array([0, len(problem.scores)]))
    policy = Gaussian(sigma=sigma, accuracy=1e-12)

    def weights(scores):
        return policy.expected_weights(scores, lists, problem.rank_weights)

    ranker = StochasticRank(samples=1, noise="gaussian", sigma=sigma)
    objective = problem.objective(20_000, weights(problem.scores))
    assert worst_deviation(ranker, problem, problem.derivative(weights), objective) < 4


def test_trains_the_policy_of_its_noise():
    assert StochasticRank().policy == PlackettLuce()
    assert StochasticRank(noise="gaussian", sigma=0.3).policy == Gaussian(sigma=0.3)
