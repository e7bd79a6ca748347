"""The direction of one step: from scores to the gradient of the objective."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cltr.documents import Batch
from cltr.interfaces import Estimator, Objective, Penalised, Ranker
from cltr.training.batches import TrainingBatch
from cltr.training.processes import ALONE, Processes
from cltr.types import Floats, Rewards


@dataclass(frozen=True)
class BatchAscent:
    """Answers a model in a step (``cltr.interfaces.Ascent``), on some queries of a split."""

    estimator: Estimator
    ranker: Ranker
    rank_weights: Floats
    training: Rewards
    batches: Sequence[TrainingBatch]
    divergences: Floats | None
    """Divergence of every owned query, ``[queries]``, kept up to date; None without a penalty."""
    rng: np.random.Generator
    n_queries: int
    """Queries of the step, also those of other processes."""
    processes: Processes = ALONE

    def __call__(self, scores: Floats) -> Floats:
        """Direction of ascent at the scores of the batches' documents, ``[docs]``."""
        padded = self._padded(scores)
        policy = self.ranker.policy
        weights = [
            policy.expected_weights(batch.scores, batch.lists, self.rank_weights)
            for batch in padded
        ]
        price = self._price(weights)
        found = []
        for here, batch, at in zip(self.batches, padded, weights, strict=True):
            objective = Objective(self.estimator, at, here.exposure, here.rewards, price)
            gradient = self.ranker.gradient(batch, objective, self.rng)
            found.append(self._scaled(gradient, here))
        return np.concatenate([np.empty(0), *found])

    def curvature(self, scores: Floats) -> Floats | None:
        """Curvature at these scores, in the scale of the direction, ``[docs]``."""
        found = []
        for here, batch in zip(self.batches, self._padded(scores), strict=True):
            curvature = self.ranker.curvature(batch, self.rng)
            if curvature is None:
                return None
            found.append(self._scaled(curvature, here))
        return np.concatenate(found)

    def _padded(self, scores: Floats) -> list[Batch]:
        if not self.batches:  # another process owns all queries of the step
            return []
        ends = np.cumsum([len(batch.rows) for batch in self.batches])[:-1]
        parts = zip(self.batches, np.split(scores, ends), strict=True)
        return [batch.scored(part, self.rank_weights) for batch, part in parts]

    def _price(self, weights: Sequence[Floats]) -> float:
        """Slope of the penalty, once the divergence of these queries is up to date."""
        if self.divergences is None or not isinstance(self.estimator, Penalised):
            return 0.0
        for batch, at in zip(self.batches, weights, strict=True):
            terms = self.estimator.divergence(at, batch.exposure) * batch.mask
            self.divergences[batch.queries] = terms.sum(-1)
        total = self.processes.total(mean(self.divergences, self.training.query_weights))
        return self.estimator.penalty_slope(total)

    def _scaled(self, values: Floats, batch: TrainingBatch) -> Floats:
        """Queries count by how often they came; a step is one query's on average, ``[docs]``."""
        share = batch.shares * np.count_nonzero(self.training.query_weights) / self.n_queries
        return np.asarray((values * share[:, None])[batch.mask])


def mean(values: Floats, shares: Floats) -> float:
    """Weighted mean; not by ``@``, whose last digit depends on the number of threads."""
    return float((shares * values).sum())
