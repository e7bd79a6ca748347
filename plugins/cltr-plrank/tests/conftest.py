"""One list of documents with an estimator, small enough for every ranking to be enumerated."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cltr.documents import Batch
from cltr.interfaces import Estimator, Objective, Penalised
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.types import Exposure
from tests import enumeration

WEIGHTS = {
    "dcg": 1 / np.log2(np.arange(2, 8)),
    "odd": np.array([0.3, 1.0, -0.5, 0.8, 0.1, 0.2]),
}


class Quadratic(Plain, Penalised):
    """A penalised estimator in the manner of ``safe``: the root of a mean square distance."""

    name = "quadratic"

    def divergence(self, weights: Any, exposure: Any) -> Any:
        return (weights - exposure.weights) ** 2

    def divergence_slope(self, weights: Any, exposure: Any) -> Any:
        return 2 * (weights - exposure.weights)

    def penalty(self, mean_divergence: float) -> float:
        return 0.7 * (mean_divergence + 0.01) ** 0.5

    def penalty_slope(self, mean_divergence: float) -> float:
        return 0.35 * (mean_divergence + 0.01) ** -0.5


ESTIMATORS = {
    "plain": Plain,
    "prpo": lambda: PRPO(low=0.9, high=1.2),
    "rollback": lambda: PRPO(low=0.9, high=1.2, rollback=0.5),
    "quadratic": Quadratic,
}


@dataclass(frozen=True)
class Problem:
    """One query: what an estimator says of every policy of its documents."""

    scores: np.ndarray
    rewards: np.ndarray
    logging_weights: np.ndarray
    rank_weights: np.ndarray
    estimator: Estimator

    @property
    def top_k(self) -> int:
        return len(self.rank_weights)

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Omega under Plackett-Luce, from all rankings."""
        return enumeration.rank_distribution(scores, self.top_k) @ self.rank_weights

    def exposure(self) -> Exposure:
        unused = np.ones(len(self.scores))
        return Exposure(self.logging_weights, unused, unused)

    def value(self, weights: np.ndarray) -> float:
        gain = self.estimator.gain(weights, self.logging_weights, self.rewards).sum()
        if isinstance(self.estimator, Penalised):
            spread = self.estimator.divergence(weights, self.exposure()).sum()
            gain -= self.estimator.penalty(spread)
        return float(gain)

    def objective(self, rows: int, weights: np.ndarray | None = None) -> Objective:
        """The estimator bound to the list, repeated as the rows of a batch."""
        weights = self.weights(self.scores) if weights is None else weights
        exposure = self.exposure()
        price = 0.0
        if isinstance(self.estimator, Penalised):
            price = self.estimator.penalty_slope(self.estimator.divergence(weights, exposure).sum())
        tiled = Exposure(
            np.tile(exposure.weights, (rows, 1)),
            np.tile(exposure.propensities, (rows, 1)),
            np.tile(exposure.attention, (rows, 1)),
        )
        return Objective(
            self.estimator,
            np.tile(weights, (rows, 1)),
            tiled,
            np.tile(self.rewards, (rows, 1)),
            price,
        )

    def batch(self, rows: int) -> tuple[Batch, Objective]:
        """What ``Ranker.gradient`` and ``Sampled.estimate`` take first."""
        scores = np.tile(self.scores, (rows, 1))
        batch = Batch(scores, np.ones(scores.shape, bool), self.rank_weights)
        return batch, self.objective(rows)

    def rankings(self) -> tuple[np.ndarray, np.ndarray]:
        """Every ranking, ``[rankings, K]`` with -1 past the end, and its probability."""
        real = enumeration.all_rankings(len(self.scores), self.top_k)
        padded = np.full((len(real), self.top_k), -1)
        padded[:, : real.shape[1]] = real
        return padded, enumeration.plackett_luce(self.scores, real)

    def derivative(self, weights_of: Any = None, step: float = 1e-3) -> np.ndarray:
        """Of the value by each score: central differences of fourth order."""
        weights_of = weights_of or self.weights

        def moved(by: np.ndarray) -> float:
            return self.value(weights_of(self.scores + by))

        unit = step * np.eye(len(self.scores))
        near = np.array([moved(d) - moved(-d) for d in unit])
        far = np.array([moved(2 * d) - moved(-2 * d) for d in unit])
        return (8 * near - far) / (12 * step)


def make_problem(
    estimator: str, n: int, top_k: int, *, metric: str = "dcg", seed: int = 0, scale: float = 1.0
) -> Problem:
    """Random scores and signed rewards; under PRPO some documents lie beyond the clip."""
    rng = np.random.default_rng(seed)
    scores, logged = scale * rng.normal(size=(2, n))
    rank_weights = WEIGHTS[metric][:top_k]
    logging_weights = enumeration.rank_distribution(logged, top_k) @ rank_weights
    rewards = np.abs(rng.normal(size=n)) * (-1.0) ** np.arange(n)
    return Problem(scores, rewards, logging_weights, rank_weights, ESTIMATORS[estimator]())


@pytest.fixture(name="make_problem", scope="session")
def _make_problem():
    return make_problem
