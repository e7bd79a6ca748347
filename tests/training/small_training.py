"""A small data set, modules and rankers to train in tests."""

import math

import numpy as np
import torch

from cltr.clicks.models import TrustBias
from cltr.documents import ModelSetup
from cltr.exposure.exposure import exact_exposure
from cltr.interfaces import EstimatorContext, Ranker
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.plugins import registry
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.training.exact_ranker import Exact
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.score_documents import score as score_model
from cltr.training.torch_model import TorchModel
from cltr.types import Dataset, Rewards

TOP_K = 3

DCG = rank_weights("dcg", TOP_K)

SHARES = np.array([0.4, 0.0, 0.1, 0.3, 0.2])
"""How often each of the five queries came; one never did."""


class Curved(torch.nn.Module):
    """A small scorer in double precision, not linear in its weights; notes the rows it is given."""

    def __init__(self, n_features: int = 4, seed: int = 0) -> None:
        super().__init__()
        start = np.random.default_rng(seed).normal(size=n_features)
        self.weight = torch.nn.Parameter(torch.from_numpy(start))
        self.rows: list[np.ndarray] = []

    def forward(self, documents):
        self.rows.append(documents.rows.numpy())
        line = documents.features.double() @ self.weight
        return torch.tanh(line) + 0.1 * line


class Fixed(Ranker):
    """Trains nothing; its policy shows documents in order of their scores."""

    name = "fixed"
    policy = Deterministic()

    def gradient(self, batch, objective, rng):
        return np.zeros(batch.scores.shape)


class Turning(Exact):
    """Goes up for some steps and down afterwards; notes the price of every step."""

    name = "turning"

    def __init__(self, up: float = math.inf) -> None:
        super().__init__(accuracy=1e-11)
        self.up, self.prices, self.masks = up, [], []

    def gradient(self, batch, objective, rng):
        self.prices.append(objective.price)
        self.masks.append(batch.mask)
        found = super().gradient(batch, objective, rng)
        return found if len(self.prices) <= self.up else -found


def dataset(seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 4, 6, 7, 12, 20])
    features = rng.normal(size=(20, 4)).astype(np.float32)
    ids = np.arange(20)
    return Dataset(features, np.zeros(20), offsets, np.arange(5), ids)


def logged(seed: int = 0, shares: np.ndarray = SHARES) -> Rewards:
    data = dataset(seed)
    rng = np.random.default_rng([seed, 1])
    production = rng.normal(size=20)
    exposure = exact_exposure(production, data.lists, PlackettLuce(), TrustBias(), DCG)
    return Rewards(data, rng.normal(size=20), exposure, shares)


def estimators() -> dict:
    """By name; safe from its plugin, with a confidence at which its penalty matters."""
    reward = registry().find("reward", "ips")()
    made = {
        "plain": Plain(),
        "prpo": PRPO(clip=0.8, rollback=0.5),
        "safe": registry().find("estimator", "safe")(reward, confidence=0.9),
    }
    for estimator in made.values():
        estimator.prepare(EstimatorContext(100, DCG, "dcg", TrustBias()))
    return made


class ModuleTrainer(Trainer):
    """Takes modules where the loop takes models."""

    def model(self, module) -> TorchModel:
        if isinstance(module, TorchModel):
            return module
        options = self.options
        rates = {"learning_rate": options.learning_rate, "weight_decay": options.weight_decay}
        return TorchModel(module, ModelSetup(4, 20, **rates))

    def train(self, module, *splits, **options):
        return super().train(self.model(module), *splits, **options)

    def value(self, module, split) -> float:
        return super().value(self.model(module), split)

    def diagnostics(self, module, split):
        return super().diagnostics(self.model(module), split)


def score(module, data, **options) -> np.ndarray:
    return score_model(TorchModel(module, ModelSetup(4, 20)), data, **options)


def trainer(estimator=None, ranker=None, *, seed: int = 0, **options) -> ModuleTrainer:
    chosen = {"weight_decay": 0.0, "learning_rate": 0.05, "epochs": 5, "batch_queries": 2}
    loop = TrainingOptions(**{**chosen, **options})
    return ModuleTrainer(
        estimator or Plain(), ranker or Exact(accuracy=1e-11), DCG, loop, seed=seed
    )


def weights_of(module) -> np.ndarray:
    return module.weight.detach().numpy().copy()
