"""The work that benchmarks share: lists like those of MSLR-WEB30k, a split ready for training."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from cltr.clicks.models import TrustBias
from cltr.documents import Documents, ModelSetup
from cltr.interfaces import Estimator, EstimatorContext
from cltr.objectives.prpo import PRPO
from cltr.plugins import registry
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.training.batches import TrainingBatch
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.scorers import Mlp
from cltr.training.torch_model import Tensors, TorchModel
from cltr.types import Dataset, Exposure, Floats, Rewards

FEATURES, TOP_K, BATCH = 136, 5, 32


def random_lists(queries: int, documents: int, *, features: int = FEATURES) -> Dataset:
    """Queries with as many documents each, normal features, grades 0 to 4."""
    rng = np.random.default_rng(0)
    n = queries * documents
    return Dataset(
        features=rng.standard_normal((n, features), dtype=np.float32),
        labels=rng.integers(0, 5, n).astype(np.float64),
        offsets=np.arange(queries + 1) * documents,
        query_ids=np.arange(queries),
        document_ids=np.arange(n),
        splits={"train": (0, queries)},
    )


@dataclass(frozen=True)
class Problem:
    """One PRPO-over-DR training problem: rewards of both signs, exposure near the policy's."""

    queries: int = 64
    documents: int = 120
    features: int = FEATURES
    top_k: int = TOP_K
    scale: float = 1.0
    """Standard deviation of the scorer's scores: small is a flat policy, 6 a very peaked one."""

    @cached_property
    def model(self) -> TorchModel:
        model = Mlp().build(ModelSetup(self.features, 0, learning_rate=1e-9), seed=0)
        factor = self.scale / float(model.scores(Documents.of(self.dataset)).std())
        with torch.no_grad():
            model.module.layers[-1].weight *= factor
            model.module.layers[-1].bias *= factor
        return model

    def network(self, features: torch.Tensor) -> torch.Tensor:
        """The scorer's layers alone."""
        return self.model.module(Tensors(features, None, None, None))

    @cached_property
    def dataset(self) -> Dataset:
        return random_lists(self.queries, self.documents, features=self.features)

    @property
    def split_features(self):
        return self.dataset.features

    @cached_property
    def ranks(self) -> Floats:
        return rank_weights("dcg", self.top_k)

    @cached_property
    def scores(self) -> Floats:
        return self.model.scores(Documents.of(self.dataset))

    @cached_property
    def split(self) -> Rewards:
        rng = np.random.default_rng(1)
        n = len(self.scores)
        noisy = self.scores + 0.3 * rng.normal(size=n)
        shown = PlackettLuce().expected_weights(noisy, self.dataset.lists, self.ranks)
        exposure = Exposure(shown, shown, shown)
        shares = np.full(self.queries, 1 / self.queries)
        return Rewards(self.dataset, rng.normal(size=n), exposure, shares)

    @cached_property
    def estimator(self) -> Estimator:
        prpo = PRPO(clip=0.1)
        prpo.prepare(EstimatorContext(10**6, self.ranks, "dcg", TrustBias()))
        return prpo

    def batches(self) -> list[TrainingBatch]:
        """All queries, a batch at a time."""
        numbers = np.arange(self.queries)
        starts = range(0, len(numbers), BATCH)
        return [TrainingBatch.of(self.split, numbers[i : i + BATCH]) for i in starts]

    def train(self, ranker: str, **options: object):
        """A function that runs one epoch of the real loop."""
        found = registry().find("ranker", ranker)(**options)
        settings = TrainingOptions(learning_rate=1e-9, batch_queries=BATCH)
        loop = Trainer(self.estimator, found, self.ranks, settings)
        share = loop.processes.share(self.split)
        return lambda: loop._epoch(self.model, self.split, share, 1, None)

    def scorer_alone(self, *, fast: bool = False):
        """A function that runs the scorer forward and backward, batch by batch, and no more.

        As anybody writes it with torch, or with the products that cltr uses.
        """
        module, features = self.model.module, torch.from_numpy(self.split_features)
        size = BATCH * self.documents
        network = self.network if fast else module.layers

        def run() -> None:
            for start in range(0, len(features), size):
                module.zero_grad(set_to_none=True)
                scores = network(features[start : start + size])
                scores.backward(torch.ones_like(scores))

        return run
