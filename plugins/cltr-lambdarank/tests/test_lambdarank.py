"""Guards LambdaRank and LambdaLoss: the swap difference, its sign, the loss, and the laws."""

import math
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltr.documents import Batch
from cltr.interfaces import Objective, Penalised
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.policies import Deterministic
from cltr.types import Exposure, Lists
from cltr_lambdarank import LambdaLoss, LambdaRank
from cltr_lambdarank.lambdarank import gain_table

DCG = 1 / np.log2(np.arange(2, 8))
SEVERAL = settings(deadline=None, max_examples=40, derandomize=True)
RANKERS = [LambdaRank(), LambdaRank(sigma=2.0), LambdaLoss(), LambdaLoss(mu=0.5)]


class Quadratic(Plain, Penalised):
    """A penalised estimator in the manner of ``safe``."""

    name = "quadratic"

    def divergence(self, weights: Any, exposure: Any) -> Any:
        return (weights - exposure.weights) ** 2

    def divergence_slope(self, weights: Any, exposure: Any) -> Any:
        return 2 * (weights - exposure.weights)

    def penalty(self, mean_divergence: float) -> float:
        return mean_divergence

    def penalty_slope(self, mean_divergence: float) -> float:
        return 1.0


ESTIMATORS = {
    "plain": (Plain(), 0.0),
    "prpo": (PRPO(low=0.8, high=1.3), 0.0),
    "rollback": (PRPO(low=0.8, high=1.3, rollback=0.5), 0.0),
    "with price": (Quadratic(), 1.7),
}


def bind(estimator, price, scores, mask, rewards, logging_weights, rank_weights):
    weights = Deterministic().expected_weights(scores, Lists.of_mask(mask), rank_weights)
    exposure = Exposure(logging_weights * mask, np.ones(mask.shape), np.ones(mask.shape))
    return Objective(estimator, weights * mask, exposure, rewards * mask, price)


def problem(name, scores, rank_weights, *, seed=0, width=None):
    """One list, padded to ``width``, with signed rewards and logging weights of its own."""
    n = len(scores)
    rng = np.random.default_rng(seed)
    rows = np.zeros((3, 1, width or n))
    rows[0] = -np.inf
    rows[0, 0, :n] = scores
    rows[1, 0, :n] = np.abs(rng.normal(size=n)) * rng.choice([-1, 1], size=n)
    rows[2, 0, :n] = rng.uniform(0.2, 1.0, size=n)
    mask = np.arange(width or n)[None] < n
    objective = bind(*ESTIMATORS[name], rows[0], mask, rows[1], rows[2], rank_weights)
    return rows[0], mask, rank_weights, objective


def gradient(ranker, problem):
    *arrays, objective = problem
    return ranker.gradient(Batch(*arrays), objective, np.random.default_rng(0))[0]


def value(objective, ranking, rank_weights):
    """What the estimator says of showing one ranking, by its own functions."""
    weights = np.zeros(objective.rewards.shape)
    for rank, document in enumerate(ranking[: len(rank_weights)]):
        weights[0, document] = rank_weights[rank]
    logging_weights = objective.exposure.weights
    total = objective.estimator.gain(weights, logging_weights, objective.rewards).sum()
    if objective.price:
        divergence = objective.estimator.divergence(weights, objective.exposure)
        total -= objective.price * divergence.sum()
    return total


def swapped(ranking, a, b):
    ranking = list(ranking)
    ranking[a], ranking[b] = ranking[b], ranking[a]
    return ranking


def scores_of(ranking):
    scores = np.empty(len(ranking))
    scores[list(ranking)] = -0.3 * np.arange(len(ranking))
    return scores


@pytest.mark.parametrize("rank_weights", [DCG[:3], DCG[:1], DCG[:6], np.array([0.3, 1.0, -0.5])])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_swap_difference_is_that_of_enumerated_values(name, rank_weights):
    from cltr_lambdarank.kernels.swaps import swap_difference

    objective = problem(name, np.zeros(4), rank_weights)[-1]
    gains = gain_table(objective, rank_weights)[0]
    for ranking in permutations(range(4)):
        here = value(objective, ranking, rank_weights)
        for a, b in combinations(range(4), 2):
            found = swap_difference(gains, ranking[a], ranking[b], a, b)
            lost = here - value(objective, swapped(ranking, a, b), rank_weights)
            assert found == pytest.approx(lost, abs=1e-12)


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_sign_of_the_difference_decides_the_order(name, ranker):
    """With two documents the upper one rises just when swapping them would lose."""
    signs = set()
    for seed in range(20):
        rows = problem(name, np.array([1.0, 0.0]), DCG[:1], seed=seed)
        lost = value(rows[-1], (0, 1), DCG[:1]) - value(rows[-1], (1, 0), DCG[:1])
        found = gradient(ranker, rows)
        assert np.sign(found).tolist() == [np.sign(lost), -np.sign(lost)]
        signs.add(np.sign(lost))
    assert {-1.0, 1.0} <= signs


def test_order_may_differ_from_that_of_rewards():
    """Under PRPO a document with the larger reward may have nothing to gain from the top."""
    rewards, logging_weights = np.array([[1.0, 0.5]]), np.array([[0.1, 1.0]])
    scores, mask = np.array([[1.0, 0.0]]), np.ones((1, 2), bool)
    objective = bind(PRPO(clip=1.0), 0.0, scores, mask, rewards, logging_weights, DCG[:2])
    upper, lower = gradient(LambdaRank(), (scores, mask, DCG[:2], objective))
    assert upper < 0 < lower


def loss_of_pairs(scores, ranking, pairs, sigma):
    """The logistic loss with every pair's weight held fixed; a negative one turns the pair."""
    total = 0.0
    for (a, b), force in pairs.items():
        lead = scores[ranking[a]] - scores[ranking[b]]
        total += abs(force) * math.log1p(math.exp(-sigma * math.copysign(lead, force * lead)))
    return total


def published_forces(rows, ranking, mu):
    """NDCG-Loss2++ (CIKM'18) for linear gains: (rho + mu delta) times the difference of rewards."""
    rank_weights, rewards = rows[2], rows[-1].rewards[0]
    level = np.concatenate([rank_weights, np.zeros(len(ranking) + 1)])
    return {
        (a, b): (level[a] - level[b] + mu * (level[b - a - 1] - level[b - a]))
        * (rewards[ranking[a]] - rewards[ranking[b]])
        for a, b in combinations(range(len(ranking)), 2)
    }


@pytest.mark.parametrize("top_k", [1, 2, 3, 6])
@pytest.mark.parametrize(("sigma", "mu"), [(1.0, 0.0), (2.0, 0.0), (1.0, 10.0), (0.7, 2.0)])
def test_plain_gradient_is_that_of_the_published_loss(sigma, mu, top_k):
    ranking = (2, 0, 4, 1, 3)
    scores = scores_of(ranking)
    rows = problem("plain", scores, DCG[:top_k])
    ranker = LambdaLoss(sigma=sigma, mu=mu) if mu else LambdaRank(sigma=sigma)
    pairs = published_forces(rows, ranking, mu)
    step = 1e-6 * np.eye(5)
    derivative = [
        (
            loss_of_pairs(scores + d, ranking, pairs, sigma)
            - loss_of_pairs(scores - d, ranking, pairs, sigma)
        )
        / 2e-6
        for d in step
    ]
    np.testing.assert_allclose(gradient(ranker, rows), np.negative(derivative), atol=1e-8)


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_plateaus_are_left_alone(ranker):
    """At clip 1 and the logging ranking nothing is gained by moving as the rewards pull."""
    scores, mask = scores_of((2, 0, 3, 1))[None], np.ones((1, 4), bool)
    weights = Deterministic().expected_weights(scores, Lists.of_mask(mask), DCG[:4])
    rewards = np.zeros((1, 4))
    rewards[0, [2, 1]] = -1.0, 1.0
    objective = bind(PRPO(clip=1.0), 0.0, scores, mask, rewards, weights, DCG[:4])
    assert not gradient(ranker, (scores, mask, DCG[:4], objective)).any()


@given(seed=st.integers(0, 10**6), ranking=st.permutations(range(5)), top_k=st.integers(1, 6))
@SEVERAL
def test_no_swap_gains_at_clip_one_from_the_logging_ranking(seed, ranking, top_k):
    from cltr_lambdarank.kernels.swaps import swap_difference

    scores, mask, rank_weights, objective = problem(
        "plain", scores_of(ranking), DCG[:top_k], seed=seed
    )
    logged = objective.weights
    objective = bind(PRPO(clip=1.0), 0.0, scores, mask, objective.rewards, logged, rank_weights)
    gains = gain_table(objective, rank_weights)[0]
    for a, b in combinations(range(5), 2):
        assert swap_difference(gains, ranking[a], ranking[b], a, b) >= 0


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_documents_behind_the_top_can_enter(ranker):
    """Climbing from the worst ranking ends at the best one, by plain rewards."""
    rewards = np.array([[5.0, 4.0, 3.0, 2.0, 1.0, -1.0]])
    scores, mask = np.arange(6.0)[None] / 3, np.ones((1, 6), bool)
    for _ in range(500):
        objective = bind(Plain(), 0.0, scores, mask, rewards, rewards, DCG[:2])
        scores = scores + 0.05 * gradient(ranker, (scores, mask, DCG[:2], objective))
    assert np.argsort(-scores[0])[:2].tolist() == [0, 1]


lists = st.tuples(
    st.sampled_from(sorted(ESTIMATORS)),
    st.lists(st.floats(-50, 50), min_size=1, max_size=7, unique_by=lambda s: round(s, 3)),
    st.integers(1, 6).map(lambda k: DCG[:k]),
)


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
@given(drawn=lists)
@SEVERAL
def test_padding_changes_nothing_and_forces_balance(ranker, drawn):
    name, scores, rank_weights = drawn
    found = gradient(ranker, problem(name, scores, rank_weights))
    padded = gradient(ranker, problem(name, scores, rank_weights, width=len(scores) + 2))
    np.testing.assert_allclose(padded[: len(scores)], found, rtol=1e-12, atol=1e-15)
    assert not padded[len(scores) :].any()
    assert abs(found.sum()) < 1e-9


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
@given(drawn=lists, seed=st.integers(0, 99))
@SEVERAL
def test_permuting_documents_permutes_the_gradient(ranker, drawn, seed):
    name, scores, rank_weights = drawn
    rows = problem(name, scores, rank_weights)
    moved = np.random.default_rng(seed).permutation(len(scores))
    before = rows[-1]
    after = bind(
        *ESTIMATORS[name],
        rows[0][:, moved],
        rows[1],
        before.rewards[:, moved],
        before.exposure.weights[:, moved],
        rank_weights,
    )
    permuted = gradient(ranker, (rows[0][:, moved], rows[1], rank_weights, after))
    np.testing.assert_allclose(permuted, gradient(ranker, rows)[moved], rtol=1e-9, atol=1e-12)


def test_without_loss2_it_is_lambdarank():
    rows = problem("prpo", np.array([0.3, -1.0, 2.0, 0.1]), DCG[:2])
    np.testing.assert_array_equal(gradient(LambdaLoss(mu=0.0), rows), gradient(LambdaRank(), rows))
