"""The seam alone: components that only hand back arrays, so that nothing but the checks is left."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cltr.documents import Batch, Documents
from cltr.interfaces import Estimator, Model, Objective, Ranker, Scorer
from cltr.plugins import Provider
from cltr.plugins.seam import guard
from cltr.policies import PlackettLuce
from cltr.policies.usable_scores import usable
from cltr.training.batches import TrainingBatch
from tests.benchmarks.work import Problem

STRANGER = Provider("cltr-acme", "0.3.0", "acme")


class Idle(Model):
    """A step that only asks for the way up."""

    def scores(self, documents):
        return np.zeros(len(documents))

    def step(self, documents, ascent):
        ascent(self.given)

    def state(self):
        return {}

    def load_state(self, state):
        del state


class IdleScorer(Scorer):
    """Builds the idle model."""

    name = "idle"

    def build(self, setup, *, seed):
        return Idle()


class IdleEstimator(Estimator):
    """A slope that is given."""

    name = "idle"

    def gain(self, weights, logging_weights, rewards):
        return rewards

    def slope(self, weights, logging_weights, rewards):
        return rewards


class IdleRanker(Ranker):
    """A gradient that is given."""

    name = "idle"
    policy = PlackettLuce()

    def gradient(self, batch, objective, rng):
        return objective.slope


@dataclass(frozen=True)
class IdleAscent:
    """The way up, with nothing computed."""

    estimator: Estimator
    ranker: Ranker
    batch: TrainingBatch
    scored: Batch

    def __call__(self, scores):
        del scores
        usable(self.scored.scores)  # before the weights, and before the gradient
        usable(self.scored.scores)
        exposure, rewards = self.batch.exposure, self.batch.rewards
        objective = Objective(self.estimator, exposure.weights, exposure, rewards)
        return self.ranker.gradient(self.scored, objective, None)


def checks_of(problem: Problem) -> Callable[[], None]:
    """All checks of an epoch: of scores, slopes and gradients, and the gate before the kernels."""
    parts = (IdleScorer, "scorer"), (IdleEstimator, "estimator"), (IdleRanker, "ranker")
    for component, role in parts:
        guard(component, role, STRANGER)
    model = IdleScorer().build(None, seed=0)
    estimator, ranker = IdleEstimator(), IdleRanker()
    prepared = []
    for batch in problem.batches():
        scores = np.where(batch.mask, 0.5, -np.inf)
        n = int(batch.mask.sum())
        documents = Documents(np.zeros((n, 0), np.float32), np.arange(n), np.array([0, n]))
        prepared.append((batch, Batch(scores, batch.mask, problem.ranks), documents))

    def epoch() -> None:
        for batch, scored, documents in prepared:
            model.given = np.zeros(len(documents))
            model.step(documents, IdleAscent(estimator, ranker, batch, scored))

    return epoch
