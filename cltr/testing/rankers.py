"""Conformance of rankers."""

import numpy as np

from cltr.documents import Batch
from cltr.interfaces import Objective, Policy, Ranker
from cltr.objectives.plain import Plain
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.testing.demands import check_component, demand, demand_floats, unchanged
from cltr.testing.tiny_data import TOP_K
from cltr.types import Exposure, Floats, Lists


def check_ranker(ranker: Ranker) -> None:
    """Finite, blind to padding, right for short lists, and uphill on a plain objective."""
    check_component(ranker)
    policy = getattr(ranker, "policy", None)
    demand(isinstance(policy, Policy), "policy is not a cltr.interfaces.Policy")
    rng = np.random.default_rng(0)
    lengths = np.array([1, 3, 8, 8])
    mask = np.arange(8) < lengths[:, None]
    scores = np.where(mask, rng.normal(size=mask.shape), -np.inf)
    rewards = np.where(mask, rng.normal(size=mask.shape), 0.0)
    dcg = rank_weights("dcg", TOP_K)

    def run(scores: Floats, mask: np.ndarray, rewards: Floats) -> Floats:
        weights = ranker.policy.expected_weights(scores, Lists.of_mask(mask), dcg)
        zeros = np.zeros(mask.shape)
        objective = Objective(Plain(), weights, Exposure(zeros, zeros, zeros), rewards)
        batch, draws = Batch(scores, mask, dcg), np.random.default_rng(7)
        with unchanged(scores=scores, mask=mask, **{"objective.slope": objective.slope}):
            return ranker.gradient(batch, objective, draws)

    gradient = run(scores, mask, rewards)
    demand(gradient.shape == scores.shape, "the gradient has another shape than the scores")
    demand(bool(np.isfinite(gradient).all()), "the gradient is not finite")
    demand_floats(gradient, scores.shape, "the gradient")
    demand(bool((gradient[~mask] == 0).all()), "the gradient is not 0 at padding")
    demand(
        bool((np.abs(gradient[0]) < 1e-5).all()), "the gradient of a list of one document is not 0"
    )
    demand(
        np.array_equal(gradient, run(scores, mask, rewards)), "the same seed gives another gradient"
    )
    wide = [
        np.pad(a, ((0, 0), (0, 3)), constant_values=c)
        for a, c in ((scores, -np.inf), (mask, False), (rewards, 0.0))
    ]
    demand(np.allclose(gradient, run(*wide)[:, :8]), "more padding changes the gradient")
    steps = np.where(mask, gradient, 0.0)
    demand(
        bool((steps[2:] * _exact(scores, mask, rewards)[2:]).sum() > 0),
        "a step along the gradient lowers the objective",
    )


def _exact(scores: Floats, mask: np.ndarray, rewards: Floats) -> Floats:
    lists = Lists.of_mask(mask)
    return PlackettLuce().gradient(scores, rewards, lists, rank_weights("dcg", TOP_K))
