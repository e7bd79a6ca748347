"""[1]..[8] in order, by name; nothing else knows the order."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cltr.components import Components, build
from cltr.config import Choice, RunConfig
from cltr.errors import DataError, UsageError
from cltr.estimators import Plain
from cltr.evaluation import Scored, Served, certificate, ndcg
from cltr.exposure import counted_exposure, exact_exposure
from cltr.interfaces import ClickModel, EstimatorContext, Scorer
from cltr.metrics import rank_weights
from cltr.policies import PlackettLuce
from cltr.rankers import Exact
from cltr.rewards import Labels
from cltr.training import (
    LoggedQueries,
    Trainer,
    TrainingOptions,
    TrainingState,
    fit_scores,
    score,
)
from cltr.types import ClickData, ClickStatistics, Dataset, Exposure, Floats, Rewards

if TYPE_CHECKING:
    import torch


Drawn = TypeVar("Drawn")


class Progress:
    """What a run says while it works; this one says nothing."""

    def stage(self, text: str) -> None:
        """A new stage begins."""

    def epoch(self, state: TrainingState, options: TrainingOptions) -> None:
        """An epoch of the current stage ended."""


def seed_for(seed: int, stage: str) -> int:
    """A seed of its own for each stage, so that one stage's draws do not shift another's."""
    return int(np.random.SeedSequence([seed, zlib.crc32(stage.encode())]).generate_state(1)[0])


def load_data(name: str) -> Dataset:
    """[1] A data set file, or the embedded one."""
    if name == "demo":
        from cltr.demo import demo_dataset

        return demo_dataset()
    from pathlib import Path

    from cltr.datasets import open_dataset

    dataset = open_dataset(Path(name))
    for split in ("train", "valid", "test"):
        first, last = dataset.splits.get(split, (0, 0))
        if first == last:
            raise DataError(
                f"{name}: split '{split}' is empty; training needs train, valid and test queries"
            )
    return dataset


@dataclass(frozen=True)
class Production:
    """The ranker that served the log: its scores on all documents, and its module if we have it."""

    scores: Floats
    scorer: str
    module: "torch.nn.Module | None" = None
    policy: PlackettLuce = field(default_factory=PlackettLuce)

    def on(self, dataset: Dataset, split: str) -> Scored:
        return Scored(dataset.part(split), self.scores[dataset.documents_of(split)], self.policy)


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
    seed = seed_for(config.seed, "production")
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


LOGGED = ("train", "valid")
"""Splits whose queries users see while the log is taken."""


def simulate(
    config: RunConfig,
    dataset: Dataset,
    production: Production,
    users: ClickModel,
    split: str,
    *,
    draw: Callable[..., Drawn],
) -> Drawn:
    """[1] Clicks on a split's queries; those on validation queries come in proportion."""
    return draw(
        dataset.part(split),
        production.scores[dataset.documents_of(split)],
        users,
        n=n_displays(config, dataset, split),
        top_k=config.top_k,
        rng=np.random.default_rng(seed_for(config.seed, f"clicks-{split}")),
    )


def n_displays(config: RunConfig, dataset: Dataset, split: str) -> int:
    """Interactions on a split: N is that of the training queries, others in proportion."""
    first, last = dataset.splits[split]
    n_train = dataset.part("train").n_queries
    return max(1, round(config.interactions * (last - first) / n_train))


def expose(
    config: RunConfig,
    scored: Scored,
    statistics: ClickStatistics,
    click_model: ClickModel,
    ranks: Floats,
) -> Exposure:
    """[3] Exposure of one split, exact from production's scores or counted."""
    if config.exposure == "counted":
        return counted_exposure(statistics, click_model, ranks)
    return exact_exposure(scored.scores, scored.dataset.lists, scored.policy, click_model, ranks)


def reward(config: RunConfig, parts: Components, data: dict[str, ClickData]) -> dict[str, Rewards]:
    """[4] Rewards of training clicks (propensities clipped) and of validation clicks (not)."""
    seed = seed_for(config.seed, "reward")
    parts.reward.fit(data["train"], parts.click_model, seed=seed)
    limit = config.propensity_clip(data["train"].statistics.n_interactions)
    limits = {"train": min(1.0, limit), "valid": 0.0}
    return {
        split: Rewards(
            parts.reward.mu(data[split], propensity_clip=limits[split]), parts.reward.name
        )
        for split in data
    }


def start(
    config: RunConfig, dataset: Dataset, production: Production, scorer: Scorer
) -> "torch.nn.Module":
    """[6] Where training starts: production's weights, a fit to its scores, or random weights."""
    module = new_module(scorer, dataset, seed=seed_for(config.seed, "start"))
    if config.init == "random":
        return module
    if production.module is not None and production.scorer == scorer.name:
        module.load_state_dict(production.module.state_dict())
        return module
    documents = dataset.documents_of("train")
    fit_scores(module, dataset.part("train"), production.scores[documents])
    return module


def cut_counts(
    config: RunConfig, statistics: dict[str, ClickStatistics]
) -> dict[str, ClickStatistics]:
    """[2] The ranks that the run is about; what was shown below them counts as not shown."""
    for split, part in statistics.items():
        if part.top_k < config.top_k:
            raise UsageError(
                f"--top-k is {config.top_k}, but the log shows {part.top_k} ranks; "
                f"use --top-k {part.top_k} or less"
            )
        if part.n_interactions == 0:
            raise DataError(f"the log has no interactions on the {split} queries")
    ranks = slice(config.top_k)
    return {
        split: replace(part, impressions=part.impressions[:, ranks], clicks=part.clicks[:, ranks])
        for split, part in statistics.items()
    }


def prepare(config: RunConfig, parts: Components, *, n_interactions: int) -> Floats:
    """[5] Tell the estimator what its schedules and bounds hang on; returns the rank weights."""
    ranks = rank_weights(config.metric, config.top_k, parts.click_model)
    parts.estimator.prepare(
        EstimatorContext(n_interactions, ranks, config.metric, parts.click_model)
    )
    return ranks


@dataclass(frozen=True)
class Learned:
    """A trained policy with all that its evaluation needs."""

    module: "torch.nn.Module"
    state: TrainingState
    clip_fraction: float | None


def learn(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    production: Production,
    statistics: dict[str, ClickStatistics],
    progress: Progress,
    *,
    state: TrainingState | None = None,
    on_epoch: Any = lambda state: None,
) -> Learned:
    """[3]..[6] From click statistics to a policy."""
    statistics = cut_counts(config, statistics)
    ranks = prepare(config, parts, n_interactions=statistics["train"].n_interactions)
    progress.stage("rewards")
    data = {}
    for split in ("train", "valid"):
        scored = production.on(dataset, split)
        exposure = expose(config, scored, statistics[split], parts.click_model, ranks)
        data[split] = ClickData(scored.dataset, statistics[split], exposure)
    rewards = reward(config, parts, data)
    splits = {
        split: LoggedQueries(
            data[split].dataset,
            rewards[split].values,
            data[split].exposure,
            statistics[split].query_weights,
        )
        for split in data
    }
    progress.stage("training")
    trainer = Trainer(
        parts.estimator,
        parts.ranker,
        ranks,
        config.training,
        seed=seed_for(config.seed, "training"),
    )
    module = start(config, dataset, production, parts.scorer)

    def after_epoch(current: TrainingState) -> None:
        on_epoch(current)
        progress.epoch(current, config.training)

    final = trainer.train(
        module, splits["train"], splits["valid"], state=state, on_epoch=after_epoch
    )
    clipped = trainer.value(module, splits["train"])["clipped"]
    return Learned(module, final, None if np.isnan(clipped) else clipped)


def evaluate(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    production: Production,
    module: "torch.nn.Module",
    *,
    skyline: "torch.nn.Module | None" = None,
    blend: float = 1.0,
) -> dict[str, Any]:
    """[7] Metrics and certificates of a policy, on training and on test queries."""
    served = serve(config, parts, dataset, production, module, blend=blend)
    name = f"ndcg@{config.top_k}"
    rivals: dict[str, dict[str, Any]] = {
        "production": {split: served[split].production for split in served},
        "policy": served,
    }
    if skyline is not None:
        scores = score(skyline, dataset)
        rivals["skyline"] = {
            split: Scored(dataset.part(split), scores[dataset.documents_of(split)], PlackettLuce())
            for split in served
        }
    metrics = {
        who: {
            name: ndcg(on["test"], dataset.part("test"), top_k=config.top_k),
            f"train_{name}": ndcg(on["train"], dataset.part("train"), top_k=config.top_k),
        }
        for who, on in rivals.items()
    }
    return {"metrics": metrics, "certificate": certificates(config, parts, served)}


def serve(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    production: Production,
    module: "torch.nn.Module",
    *,
    blend: float = 1.0,
) -> dict[str, Served]:
    """What users would get on training and on test queries."""
    scores = score(module, dataset)
    metrics = tuple(reported_weights(config, parts.click_model).values())
    return {
        split: Served(
            Scored(dataset.part(split), scores[dataset.documents_of(split)], parts.ranker.policy),
            production.on(dataset, split),
            parts.estimator,
            metrics,
            blend,
        )
        for split in ("train", "test")
    }


def reported_weights(config: RunConfig, click_model: ClickModel) -> dict[str, Floats]:
    """Rank weights of the reported metric, and of the training metric where it differs."""
    names = dict.fromkeys(["dcg", config.metric])
    return {name: rank_weights(name, config.top_k, click_model) for name in names}


def certificates(config: RunConfig, parts: Components, served: dict[str, Served]) -> dict[str, Any]:
    """Certificates by split for the reported metric, and below its name for the training metric."""
    found = {
        name: {split: certificate(policy, ranks) for split, policy in served.items()}
        for name, ranks in reported_weights(config, parts.click_model).items()
    }
    result: dict[str, Any] = found.pop("dcg")
    return result | found
