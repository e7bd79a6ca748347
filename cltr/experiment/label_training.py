"""Rankers trained on true labels: production, on a few queries, and the skyline, on all.

The skyline is the upper reference: what a ranker could reach if clicks told the truth.
"""

import numpy as np

from cltr.errors import DataError
from cltr.experiment.components import build
from cltr.experiment.config import RunConfig
from cltr.experiment.initial_model import new_model, standardizes
from cltr.experiment.joint_work import PRODUCTION, joint
from cltr.experiment.progress import Progress
from cltr.experiment.seeds import seed_for
from cltr.exposure.production_ranker import Production
from cltr.interfaces import Model, Scorer
from cltr.objectives.plain import Plain
from cltr.objectives.rewards import Labels
from cltr.options import Choice
from cltr.policies.rank_weights import rank_weights
from cltr.training.exact_ranker import Exact
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.score_documents import score
from cltr.types import Dataset, Exposure, Floats, Rewards


def has_labels(dataset: Dataset) -> bool:
    """Whether a ranker can be trained on labels: training and validation queries have some."""
    return all(dataset.part(split).judged for split in ("train", "valid"))


def require_judgements(dataset: Dataset, who: str) -> None:
    """Refuse a data set in which some query has no judgements.

    Args:
        dataset: its queries.
        who: needs them, such as "simulated users need".
    """
    missing = int(np.count_nonzero(~dataset.judged_queries))
    if missing:
        raise DataError(
            f"{dataset.name or 'data set'}: {who} judgements, but {missing:,} of "
            f"{dataset.n_queries:,} queries have none; train on a log (--log), or import the data "
            "with judgements"
        )


def train_production(config: RunConfig, dataset: Dataset, progress: Progress) -> Production:
    """A ranker on the labels of a few training queries, such as a team has in production."""
    with joint(PRODUCTION):
        model = production_model(config, dataset, progress)
    return Production(score(model, dataset), production_scorer(config).name, model)


def production_model(config: RunConfig, dataset: Dataset, progress: Progress) -> Model:
    """The model of that ranker."""
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
    model = new_model(
        scorer,
        dataset,
        seed=seed,
        options=loop,
        standardize=standardizes(config, dataset),
    )
    _trainer(loop, top_k=config.top_k, seed=seed).train(
        model,
        _labels(training, chosen),
        None,
        on_epoch=lambda state: progress.epoch(state, loop),
    )
    return model


def production_scorer(config: RunConfig) -> Scorer:
    """The policy's own scorer unless another is named."""
    name = config.production.scorer or config.scorer.name
    choice = config.scorer if name == config.scorer.name else Choice(name=name)
    scorer: Scorer = build("scorer", choice)
    return scorer


def train_skyline(config: RunConfig, dataset: Dataset, scorer: Scorer, progress: Progress) -> Model:
    """A ranker on the labels of all training queries."""
    seed = seed_for(config.seed, "skyline")
    model = new_model(
        scorer,
        dataset,
        seed=seed,
        options=config.training,
        standardize=standardizes(config, dataset),
    )
    _trainer(config.training, top_k=config.top_k, seed=seed).train(
        model,
        _labels(dataset.part("train")),
        _labels(dataset.part("valid")),
        on_epoch=lambda state: progress.epoch(state, config.training),
    )
    return model


def _trainer(options: TrainingOptions, *, top_k: int, seed: int) -> Trainer:
    """Maximise the labels' DCG, by exact gradients."""
    return Trainer(Plain(Labels()), Exact(), rank_weights("dcg", top_k), options, seed=seed)


def _labels(dataset: Dataset, queries: Floats | None = None) -> Rewards:
    """The labels of a split as rewards, of all judged queries or of those that are given."""
    weights = dataset.judged_queries.astype(np.float64) if queries is None else queries
    nothing = np.zeros(dataset.n_documents)
    return Rewards(
        dataset,
        np.nan_to_num(dataset.relevance, nan=0.0),  # has no weight
        Exposure(nothing, nothing, nothing),
        weights / max(weights.sum(), 1e-300),
        source=Labels.name,
    )
