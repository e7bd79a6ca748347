"""A run in its folder, from clicks to a result; and on from where it was interrupted."""

import time
from pathlib import Path
from typing import Any

from cltr import pipeline
from cltr.components import Components, compose, resolved
from cltr.config import RunConfig
from cltr.errors import CltrError, UsageError
from cltr.jobs.described import (
    RANKS,
    SCORES,
    check_data,
    describe,
    open_data,
    provenance,
    read_config,
)
from cltr.logged import Logged, fit_to_log, read_logged
from cltr.misspecification import warn_of_misfit
from cltr.pipeline import Progress
from cltr.runs import RunFolder
from cltr.simulation import simulate_statistics
from cltr.training import TrainingState
from cltr.types import Dataset


def train(
    config: RunConfig, *, out: Path | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """A new run, in ``out`` or in the next folder below ``runs/``."""
    config = fit_to_log(config)
    parts = compose(config)
    config, dataset = open_data(config)
    folder = RunFolder.create(out, label=f"{parts.estimator.name}-{parts.reward.name}")
    config = resolved(config, parts)
    config = config.model_copy(update={"provenance": provenance(config, dataset)})
    try:
        folder.write_text("run.toml", config.to_toml())
        return _run(config, parts, dataset, folder, progress or Progress())
    except CltrError:
        if not folder.has_checkpoint:  # nothing to go on from: leave nothing in the way
            folder.discard()
        raise


def resume(path: Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Go on with a run that was interrupted, to the result it would have had."""
    folder = RunFolder.open(path)
    if (path / "result.json").exists():
        raise UsageError(f"{path}: the run is finished; see cltr evaluate {path}")
    config = read_config(folder)
    parts = compose(config)
    config, dataset = open_data(config)
    check_data(folder, config, dataset)
    return _run(config, parts, dataset, folder, progress or Progress())


def _run(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    folder: RunFolder,
    progress: Progress,
) -> dict[str, Any]:
    began = time.perf_counter()
    if config.log:
        logged = read_logged(config, dataset, parts.click_model)
    else:
        logged = _simulate(config, parts, dataset, progress)
    production = logged.production
    learned = pipeline.learn(
        config,
        parts,
        dataset,
        production,
        logged.statistics,
        progress,
        state=folder.load_checkpoint(),
        on_epoch=_Saver(folder),
    )
    skyline = None
    if config.skyline and dataset.judged:
        progress.stage("skyline")
        skyline = pipeline.train_skyline(config, dataset, parts.scorer, progress)
    progress.stage("evaluation")
    judged = pipeline.evaluate(
        config,
        parts,
        dataset,
        production,
        learned.module,
        skyline=skyline,
        rewarded=learned.rewarded,
    )
    folder.save_module("policy.safetensors", learned.module)
    for name, values in ((SCORES, production.scores), (RANKS, production.ranks)):
        if values is not None:
            folder.save_scores(name, values)
    if production.module is not None:
        folder.save_module("production.safetensors", production.module)
    folder.write_json("history.json", learned.state.history)
    result = {
        **describe(config, parts),
        "exposure": learned.rewarded.data["train"].exposure.source,
        "users": logged.users,
        "n_interactions": logged.statistics["train"].n_interactions,
        "assumptions": list(logged.assumptions),
        "warnings": warn_of_misfit(
            parts.reward, parts.estimator.name, parts.click_model, learned.rewarded.data
        ),
        **judged,
        "clip_fraction": learned.clip_fraction,
        "unsupported_documents": learned.unsupported,
        "epochs": learned.state.epoch,
        "best_epoch": learned.state.best_epoch,
        "seconds": round(time.perf_counter() - began, 3),
        "run": str(folder.path),
    }
    folder.write_json("result.json", result)
    folder.remove_checkpoint()
    return result


def _simulate(config: RunConfig, parts: Components, dataset: Dataset, progress: Progress) -> Logged:
    progress.stage("production ranker")
    production = pipeline.train_production(config, dataset, progress)
    progress.stage("clicks")
    statistics = {
        split: pipeline.simulate(
            config, dataset, production, parts.users, split, draw=simulate_statistics
        )
        for split in pipeline.LOGGED
    }
    return Logged(production, statistics, parts.users.name)


class _Saver:
    """Saves a checkpoint now and then: what is lost by a kill is computed again, the same."""

    def __init__(self, folder: RunFolder, *, every: float = 10.0) -> None:
        self._folder, self._every, self._last = folder, every, time.monotonic()

    def __call__(self, state: TrainingState) -> None:
        if time.monotonic() - self._last > self._every:
            self._folder.save_checkpoint(state)
            self._last = time.monotonic()
