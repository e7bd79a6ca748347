"""Guards: the optimum ranker is never beaten on logged queries, and says what it cannot do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import UnsupportedError
from cltr.experiment.components import compose
from cltr.experiment.config import resolve
from cltr.interfaces import Estimator, QueryTask
from cltr.objectives.band import Band
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.optimum import PiecewiseGain
from cltr.policies.rank_weights import rank_weights
from cltr.training.optimum_ranker import Optimum
from cltr.types import Lists

LISTS = Lists.of_offsets(np.array([0, 4, 4, 5, 11]))
DCG = rank_weights("dcg", 5)
ESTIMATORS = [
    Plain(),
    PRPO(clip=0.5),
    PRPO(clip=0.5, rollback=1.0),
    PRPO(low=0.0, high=3.0),
    Band(clip=0.8, price=0.4),
    Band(clip=0.8, price=0.4, box=True),
]


def weights_of(scores, policy=None):
    return (policy or PlackettLuce()).expected_weights(scores, LISTS, DCG)


def solve(estimator, rewards, production):
    task = QueryTask(estimator, rewards, production, LISTS, DCG, np.ones(4))
    return Optimum().query_weights(task)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@given(st.integers(0, 2**32 - 1))
def test_law_no_policy_has_a_higher_value(estimator, seed):
    rng = np.random.default_rng(seed)
    production = weights_of(rng.normal(scale=2, size=11))
    if seed % 3 == 0:  # deterministic: some documents are never shown
        production = weights_of(rng.normal(size=11), Deterministic())
    rewards = rng.normal(size=11) if seed % 2 else rng.choice([-1.0, 0.0, 1.0], 11)
    best = estimator.gain(solve(estimator, rewards, production), production, rewards).sum()
    rivals = [production, weights_of(rewards, Deterministic()), weights_of(3 * rewards)]
    rivals += [weights_of(rng.normal(scale=4, size=11)) for _ in range(5)]
    for rival in rivals:
        assert estimator.gain(rival, production, rewards).sum() <= best + 1e-6


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_pieces_are_the_gain(estimator):
    rng = np.random.default_rng(3)
    production, rewards = rng.random(40), rng.normal(size=40)
    production[:5], rewards[3:8] = 0.0, 0.0
    pieces = PiecewiseGain.of(estimator, production, rewards)
    start = estimator.gain(np.zeros(40), production, rewards)
    for _ in range(5):
        weights = rng.uniform(0, 2, size=40)
        gain = estimator.gain(weights, production, rewards)
        np.testing.assert_allclose(pieces.value(weights), gain - start, atol=1e-12)


@pytest.mark.parametrize("estimator", [PRPO(clip=1), Band(clip=1, price=9.0)], ids=repr)
def test_a_clip_of_1_returns_production(estimator):
    rng = np.random.default_rng(5)
    some = [weights_of(rng.normal(size=11), Deterministic()) for _ in range(4)]
    production = np.mean(some, axis=0)
    assert np.abs(solve(estimator, rng.normal(size=11), production) - production).max() < 1e-15


def test_an_estimator_with_a_penalty_is_refused():
    config = {"estimator": {"name": "safe-dr"}, "ranker": {"name": "optimum"}}
    with pytest.raises(UnsupportedError) as caught:
        compose(resolve(config))
    assert str(caught.value) == (
        "ranker 'optimum' finds the best policy of one query after the other, but the penalty of "
        "the estimator 'safe' depends on all queries together; use --ranker exact, or another "
        "estimator"
    )


class Curved(Estimator):
    name = "curved"

    def gain(self, weights, logging_weights, rewards):
        return rewards * weights - weights**2


def test_an_estimator_without_kinks_is_refused():
    assert "does not say where its kinks are" in Optimum().objection(Curved())
    with pytest.raises(UnsupportedError, match="exact optimum cannot be computed"):
        PiecewiseGain.of(Curved(), np.ones(2), np.ones(2))
    assert Optimum().objection(Plain()) is None
