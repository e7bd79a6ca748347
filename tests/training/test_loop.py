"""Guards the loop: value and gradient are the estimator's, and the penalty has its price."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from cltr.interfaces import Penalised
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.types import Dataset, Exposure, Rewards
from tests.enumeration import finite_difference
from tests.training.small_training import (
    DCG,
    SHARES,
    Curved,
    Fixed,
    Turning,
    dataset,
    estimators,
    logged,
    score,
    trainer,
    weights_of,
)


def three_documents(rewards, logging_weights, shares=(1.0,)) -> tuple[Curved, Rewards]:
    """Lists of three documents each, ranked as they stand."""
    n = 3 * len(shares)
    features = np.tile(np.array([[3.0], [2.0], [1.0]], np.float32), (len(shares), 1))
    module = Curved(1)
    with torch.no_grad():
        module.weight.fill_(1.0)
    data = Dataset(features, np.zeros(n), np.arange(0, n + 1, 3), np.arange(len(shares)), None)
    exposure = Exposure(*3 * [np.asarray(logging_weights, float)])
    return module, Rewards(data, np.asarray(rewards, float), exposure, np.asarray(shares))


def test_plain_value_is_weight_times_reward():
    module, split = three_documents([0.2, -0.5, 7.0], [1.0, 1.0, 1.0])
    value = replace(trainer(Plain(), Fixed()), rank_weights=np.array([1.0, 0.6])).value
    found = value(module, split)
    assert found == pytest.approx(1.0 * 0.2 + 0.6 * -0.5)


def test_prpo_value_is_clipped_on_the_side_of_the_reward_eq_21():
    module, split = three_documents([0.2, -0.5, 7.0], [0.5, 1.0, 0.1])
    loop = replace(trainer(PRPO(clip=0.8), Fixed()), rank_weights=np.array([1.0, 0.6]))
    found = loop.value(module, split)
    assert found == pytest.approx(0.5 / 0.8 * 0.2 + 0.8 * -0.5 + 0.0 * 7.0)
    assert loop.diagnostics(module, split)["clip_fraction"] == pytest.approx(2 / 3)


def test_the_penalty_is_of_the_mean_over_queries():
    module, split = three_documents([1.0] * 6, [1.0, 0.6, 0.1] * 2, shares=(0.75, 0.25))

    class Priced(Plain, Penalised):
        def divergence(self, weights, exposure):
            return (weights > 0.9) * exposure.weights * 4.0

        def penalty(self, mean_divergence):
            return math.sqrt(mean_divergence)

        def penalty_slope(self, mean_divergence):
            return 0.5 / math.sqrt(mean_divergence)

    loop = replace(trainer(Priced(), Fixed()), rank_weights=np.array([1.0, 0.6]))
    assert loop.value(module, split) == pytest.approx(1.6 - math.sqrt(4.0))


def test_queries_count_by_how_often_they_came():
    rewards = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    module, split = three_documents(rewards, np.ones(6), shares=(0.75, 0.25))
    loop = replace(trainer(Plain(), Fixed()), rank_weights=np.array([1.0, 0.6]))
    assert loop.value(module, split) == pytest.approx(0.75 * 1.0 + 0.25 * 0.6)


def test_clipped_counts_rewarded_documents_of_logged_queries_alone():
    rewards = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    logging_weights = [0.1, 0.6, 0.1, 0.1, 0.1, 0.1]
    module, split = three_documents(rewards, logging_weights, shares=(1.0, 0.0))
    loop = replace(trainer(PRPO(clip=0.8), Fixed()), rank_weights=np.array([1.0, 0.6]))
    assert loop.diagnostics(module, split)["clip_fraction"] == 0.5


@pytest.mark.parametrize("name", ["plain", "prpo", "safe"])
def test_a_full_step_follows_the_gradient_of_the_value(name):
    split, module = logged(), Curved()
    loop = trainer(estimators()[name], epochs=1, batch_queries=100)

    def value(at: np.ndarray) -> float:
        probe = Curved()
        with torch.no_grad():
            probe.weight.copy_(torch.from_numpy(at))
        return loop.value(probe, split)

    expected = finite_difference(value, weights_of(module), step=1e-3)
    loop.train(module, split, None)
    np.testing.assert_allclose(-module.weight.grad.numpy(), expected, rtol=1e-6, atol=1e-7)
    assert np.abs(expected).max() > 0.01


@pytest.mark.parametrize("name", ["plain", "prpo", "safe"])
def test_training_goes_uphill(name):
    split, module = logged(), Curved()
    loop = trainer(estimators()[name], learning_rate=0.005, epochs=10)
    before = loop.value(module, split)
    loop.train(module, split, None)
    assert loop.value(module, split) > before + 1e-3


def test_query_weights_decide_where_a_step_leads():
    steps = []
    for shares in (SHARES, SHARES[::-1].copy()):
        module = Curved()
        trainer(epochs=1, batch_queries=100).train(module, logged(shares=shares), None)
        steps.append(module.weight.grad.numpy())
    assert not np.allclose(steps[0], steps[1], atol=1e-3)


@pytest.mark.parametrize("name", ["plain", "prpo", "safe"])
def test_a_query_without_clicks_does_not_matter(name):
    split = logged()
    absent = np.repeat(split.query_weights == 0, split.dataset.lists.lengths)
    other = replace(split, values=np.where(absent, 1e6, split.values))
    results = []
    for each in (split, other):
        module = Curved()
        state = trainer(estimators()[name]).train(module, each, each)
        results.append((weights_of(module).tolist(), state.history))
    assert results[0] == results[1]


def test_every_logged_query_is_seen_once_an_epoch():
    split, ranker = logged(), Turning()
    trainer(Plain(), ranker, epochs=3).train(Curved(), split, None)
    seen = sorted(int(n) for mask in ranker.masks for n in mask.sum(1))
    assert seen == sorted([4, 1, 5, 8] * 3)
    assert max(mask.shape[0] for mask in ranker.masks) <= 2


def test_lists_without_documents_are_no_trouble():
    data = dataset()
    offsets = np.array([0, 0, 4, 6, 7, 12, 20, 20])
    split = logged()
    split = replace(
        split,
        dataset=replace(data, offsets=offsets),
        query_weights=np.concatenate([[0.1], SHARES * 0.8, [0.1]]),
    )
    state = trainer().train(Curved(), split, split)
    assert all(np.isfinite(record["valid_value"]) for record in state.history)


def test_the_price_is_that_of_the_mean_over_all_queries():
    split, ranker, safe = logged(), Turning(), estimators()["safe"]
    module = Curved()
    loop = trainer(safe, ranker, epochs=1, batch_queries=1, learning_rate=1e-300)
    omega = ranker.policy.expected_weights(score(module, split.dataset), split.dataset.lists, DCG)
    terms = safe.divergence(omega, split.exposure)
    each = np.add.reduceat(terms, split.dataset.offsets[:-1])
    loop.train(module, split, None)
    assert len(ranker.prices) == np.count_nonzero(SHARES)
    np.testing.assert_allclose(ranker.prices, safe.penalty_slope(SHARES @ each), rtol=1e-9)


def test_the_price_follows_the_policy_within_an_epoch():
    ranker = Turning()
    loop = trainer(estimators()["safe"], ranker, epochs=1, batch_queries=1, learning_rate=0.5)
    loop.train(Curved(), logged(), None)
    assert len(set(ranker.prices)) >= 3  # of four; a list of one document cannot move
