"""[1]..[8] in order, by name; nothing else knows the order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cltr.components import Components
from cltr.config import RunConfig
from cltr.errors import DataError, UsageError
from cltr.evaluation import Counted, Scored, known_queries
from cltr.exposure import counted_exposure, exact_exposure, exposure_of_ranks
from cltr.interfaces import ClickModel, EstimatorContext, Scorer
from cltr.judging import Rewarded, evaluate, judge, reported_weights, serve
from cltr.logs import has_sessions, read_sessions
from cltr.metrics import rank_weights
from cltr.production import Production
from cltr.supervised import (
    Progress,
    new_module,
    production_scorer,
    seed_for,
    train_production,
    train_skyline,
)
from cltr.training import Trainer, TrainingState, fit_scores
from cltr.types import (
    Booleans,
    ClickData,
    ClickLog,
    ClickStatistics,
    Dataset,
    Exposure,
    Floats,
    Rewards,
)

if TYPE_CHECKING:
    import torch

__all__ = [
    "LOGGED",
    "Learned",
    "Production",
    "Progress",
    "Rewarded",
    "cut_counts",
    "evaluate",
    "expose",
    "judge",
    "learn",
    "load_data",
    "n_displays",
    "new_module",
    "prepare",
    "production_scorer",
    "reported_weights",
    "reward",
    "reward_clicks",
    "seed_for",
    "serve",
    "simulate",
    "start",
    "train_production",
    "train_skyline",
]

Drawn = TypeVar("Drawn")


def load_data(name: str) -> Dataset:
    """[1] A data set file, or the embedded one."""
    if name == "demo":
        from cltr.demo import demo_dataset

        return demo_dataset()
    from cltr.datasets import open_dataset

    dataset = open_dataset(Path(name))
    for split in ("train", "valid", "test"):
        first, last = dataset.splits.get(split, (0, 0))
        if first == last:
            raise DataError(
                f"{name}: split '{split}' is empty; training needs train, valid and test queries"
            )
    return dataset


LOGGED = ("train", "valid")
"""Splits whose queries users see while the log is taken."""
CHUNK = 262_144
"""Interactions of a log in memory at a time."""


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
    logging = production.on(dataset, split)
    if isinstance(logging, Counted):
        raise DataError("production is known by its counts only, so no clicks can be simulated")
    return draw(
        logging.dataset,
        logging.scores,
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
    logging: Scored | Counted,
    statistics: ClickStatistics,
    click_model: ClickModel,
    ranks: Floats,
    *,
    source: str = "exact",
) -> Exposure:
    """[3] Exposure of one split: exact from production's scores, logged, or counted."""
    if isinstance(logging, Counted):
        return exposure_of_ranks(logging.ranks, click_model, ranks, source=source)
    if config.exposure == "counted":
        return counted_exposure(statistics, click_model, ranks)
    lists = logging.dataset.lists
    return exact_exposure(logging.scores, lists, logging.policy, click_model, ranks)


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
    scores = production.start(dataset, config.top_k)
    if not scorer.copy_scores(module, scores):
        known = known_queries(production.on(dataset, "train"))
        fit_scores(module, *_chosen(dataset.part("train"), scores, known))
    return module


def _chosen(dataset: Dataset, scores: Floats, queries: Booleans) -> tuple[Dataset, Floats]:
    """The queries of a split on which production is known, with its scores."""
    rows = slice(dataset.first_document, dataset.first_document + dataset.n_documents)
    if queries.all():
        return dataset, scores[rows]
    documents = np.repeat(queries, dataset.lists.lengths)
    offsets = np.concatenate([[0], np.cumsum(dataset.lists.lengths[queries])])
    chosen = replace(
        dataset,
        features=dataset.features[documents],
        labels=dataset.labels[documents],
        offsets=offsets,
        query_ids=dataset.query_ids[queries],
        document_ids=dataset.document_ids[documents],
    )
    return chosen, scores[rows][documents]


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


def logged_sessions(config: RunConfig, split: str) -> Callable[[], Iterator[ClickLog]] | None:
    """[1] What reads the interactions of a run's log, cut to its ranks, where the log has them."""
    path, ranks = Path(config.log), slice(config.top_k)
    if not config.log or not has_sessions(path):
        return None

    def read() -> Iterator[ClickLog]:
        for chunk in read_sessions(path, split, chunk=CHUNK):
            documents, clicks = chunk.documents[:, ranks], chunk.clicks[:, ranks]
            yield replace(chunk, documents=documents, clicks=clicks)

    return read


def prepare(config: RunConfig, parts: Components, *, n_interactions: int) -> Floats:
    """[5] Tell the estimator what its schedules and bounds hang on; returns the rank weights."""
    ranks = rank_weights(config.metric, config.top_k, parts.click_model)
    parts.estimator.prepare(
        EstimatorContext(n_interactions, ranks, config.metric, parts.click_model)
    )
    return ranks


def reward_clicks(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    production: Production,
    statistics: dict[str, ClickStatistics],
) -> Rewarded:
    """[2]..[4] Click statistics to rewards."""
    statistics = cut_counts(config, statistics)
    ranks = prepare(config, parts, n_interactions=statistics["train"].n_interactions)
    data = {}
    for split in LOGGED:
        logging = production.on(dataset, split)
        exposure = expose(
            config,
            logging,
            statistics[split],
            parts.click_model,
            ranks,
            source=production.source,
        )
        sessions = logged_sessions(config, split)
        data[split] = ClickData(logging.dataset, statistics[split], exposure, sessions)
    return Rewarded(ranks, data, reward(config, parts, data))


@dataclass(frozen=True)
class Learned:
    """A trained policy with all that its evaluation needs."""

    module: "torch.nn.Module"
    state: TrainingState
    clip_fraction: float | None
    unsupported: int | None
    rewarded: Rewarded


def learn(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    production: Production,
    statistics: dict[str, ClickStatistics],
    progress: Progress,
    *,
    rewarded: Rewarded | None = None,
    state: TrainingState | None = None,
    on_epoch: Any = lambda state: None,
) -> Learned:
    """[2]..[6] From click statistics to a policy.

    Args:
        config: of the run.
        parts: of the run.
        dataset: the lists.
        production: what is known of it.
        statistics: of training and validation queries.
        progress: told of stages and epochs.
        rewarded: what :func:`reward_clicks` made of the same clicks before, if it did.
        state: go on from here.
        on_epoch: called after the start and after every epoch.
    """
    progress.stage("rewards")
    if rewarded is None:
        rewarded = reward_clicks(config, parts, dataset, production, statistics)
    else:
        prepare(config, parts, n_interactions=statistics["train"].n_interactions)
    splits = {split: rewarded.logged(split) for split in LOGGED}
    progress.stage("training")
    trainer = Trainer(
        parts.estimator,
        parts.ranker,
        rewarded.ranks,
        config.training,
        seed=seed_for(config.seed, "training"),
    )
    module = start(config, dataset, production, parts.scorer)

    def after_epoch(current: TrainingState) -> None:
        on_epoch(current)
        progress.epoch(current, config.training)

    final = trainer.train(
        module,
        splits["train"],
        splits["valid"],
        start_counts=config.init == "production",
        state=state,
        on_epoch=after_epoch,
    )
    judged = trainer.value(module, splits["train"])
    clipped, unsupported = judged["clipped"], judged["unsupported"]
    return Learned(
        module,
        final,
        None if np.isnan(clipped) else clipped,
        None if np.isnan(unsupported) else int(unsupported),
        rewarded,
    )
