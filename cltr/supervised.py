"""[6] Rankers that learn from judgements: production, on a few queries, and the skyline, on all."""

import zlib
from typing import TYPE_CHECKING

import numpy as np

from cltr.components import build
from cltr.config import Choice, RunConfig
from cltr.estimators import Plain
from cltr.interfaces import Scorer
from cltr.metrics import rank_weights
from cltr.production import Production
from cltr.rankers import Exact
from cltr.rewards import Labels
from cltr.training import LoggedQueries, Trainer, TrainingOptions, TrainingState, score
from cltr.types import Dataset, Exposure, Floats

if TYPE_CHECKING:
    import torch


class Progress:
    """What a run says while it works; this one says nothing."""

    def stage(self, text: str) -> None:
        """A new stage begins."""

    def epoch(self, state: TrainingState, options: TrainingOptions) -> None:
        """An epoch of the current stage ended."""


def seed_for(seed: int, stage: str) -> int:
    """A seed of its own for each stage, so that one stage's draws do not shift another's."""
    return int(np.random.SeedSequence([seed, zlib.crc32(stage.encode())]).generate_state(1)[0])


def new_module(scorer: Scorer, dataset: Dataset, *, seed: int) -> "torch.nn.Module":
    """A scorer's module with seeded initial weights."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return scorer.build(dataset.n_features, dataset.n_documents)


def judged_queries(dataset: Dataset, queries: Floats | None = None) -> LoggedQueries:
    """A split with its judgements as rewards, for production and skyline."""
    weights = np.ones(dataset.n_queries) if queries is None else queries
    nothing = np.zeros(dataset.n_documents)
    return LoggedQueries(
        dataset,
        dataset.relevance,
        Exposure(nothing, nothing, nothing),
        weights / max(weights.sum(), 1e-300),
    )


def supervised(options: TrainingOptions, *, top_k: int, seed: int) -> Trainer:
    """A trainer on judgements: the labels' DCG, by exact gradients."""
    return Trainer(Plain(Labels()), Exact(), rank_weights("dcg", top_k), options, seed=seed)


def production_scorer(config: RunConfig) -> Scorer:
    """The policy's own scorer unless another is named."""
    name = config.production.scorer or config.scorer.name
    choice = config.scorer if name == config.scorer.name else Choice(name=name)
    scorer: Scorer = build("scorer", choice)
    return scorer


def train_production(config: RunConfig, dataset: Dataset, progress: Progress) -> Production:
    """[1] A ranker on the judgements of a few training queries, as production would have."""
    options = config.production
    scorer = production_scorer(config)
    seed = seed_for(options.seed or config.seed, "production")
    training = dataset.part("train")
    n = min(
        training.n_queries, max(options.min_queries, round(options.fraction * training.n_queries))
    )
    chosen = np.zeros(training.n_queries)
    chosen[np.random.default_rng(seed).permutation(training.n_queries)[:n]] = 1.0
    loop = TrainingOptions(
        epochs=options.epochs, patience=options.epochs + 1, learning_rate=options.learning_rate
    )
    module = new_module(scorer, dataset, seed=seed)
    trainer = supervised(loop, top_k=config.top_k, seed=seed)
    trainer.train(
        module,
        judged_queries(training, chosen),
        None,
        on_epoch=lambda state: progress.epoch(state, loop),
    )
    return Production(score(module, dataset), scorer.name, module)


def train_skyline(
    config: RunConfig, dataset: Dataset, scorer: Scorer, progress: Progress
) -> "torch.nn.Module":
    """[7] A ranker on all judgements of the training queries: the most one can hope for."""
    seed = seed_for(config.seed, "skyline")
    module = new_module(scorer, dataset, seed=seed)
    trainer = supervised(config.training, top_k=config.top_k, seed=seed)
    trainer.train(
        module,
        judged_queries(dataset.part("train")),
        judged_queries(dataset.part("valid")),
        on_epoch=lambda state: progress.epoch(state, config.training),
    )
    return module
