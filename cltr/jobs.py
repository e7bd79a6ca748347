"""What a command does from start to end: a run in its folder, a policy judged again."""

import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cltr import __version__, pipeline
from cltr.components import Components, compose, compose_users, resolved
from cltr.config import RunConfig, resolve
from cltr.errors import CltrError, DataError, UsageError
from cltr.evaluation import blend_for_loss
from cltr.logs import LogFile, open_log, write_log, write_sessions
from cltr.pipeline import Drawn, Production, Progress
from cltr.plugins import registry
from cltr.runs import RunFolder
from cltr.simulation import simulate_sessions, simulate_statistics
from cltr.training import TrainingState, score
from cltr.types import ClickStatistics, Dataset


def train(
    config: RunConfig, *, out: Path | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """A new run, in ``out`` or in the next folder below ``runs/``."""
    parts = compose(config)
    dataset = pipeline.load_data(config.data)
    folder = RunFolder.create(out, label=f"{parts.estimator.name}-{parts.reward.name}")
    config = resolved(config, parts)
    config = config.model_copy(update={"provenance": provenance(dataset)})
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
    dataset = pipeline.load_data(config.data)
    return _run(config, parts, dataset, folder, progress or Progress())


def read_config(folder: RunFolder) -> RunConfig:
    """The resolved configuration of a run."""
    return resolve(RunConfig.load(folder.config_file), source=str(folder.config_file))


def _run(
    config: RunConfig,
    parts: Components,
    dataset: Dataset,
    folder: RunFolder,
    progress: Progress,
) -> dict[str, Any]:
    began = time.perf_counter()
    if config.log:
        production, statistics, users = _read_log(config, dataset)
    else:
        production, statistics = _simulate(config, parts, dataset, progress)
        users = parts.users.name
    learned = pipeline.learn(
        config,
        parts,
        dataset,
        production,
        statistics,
        progress,
        state=folder.load_checkpoint(),
        on_epoch=_Saver(folder),
    )
    skyline = None
    if config.skyline:
        progress.stage("skyline")
        skyline = pipeline.train_skyline(config, dataset, parts.scorer, progress)
    progress.stage("evaluation")
    judged = pipeline.evaluate(config, parts, dataset, production, learned.module, skyline=skyline)
    folder.save_module("policy.safetensors", learned.module)
    folder.save_scores("production-scores.safetensors", production.scores)
    if production.module is not None:
        folder.save_module("production.safetensors", production.module)
    folder.write_json("history.json", learned.state.history)
    result = {
        **describe(config, parts),
        "users": users,
        "n_interactions": statistics["train"].n_interactions,
        **judged,
        "clip_fraction": learned.clip_fraction,
        "epochs": learned.state.epoch,
        "best_epoch": learned.state.best_epoch,
        "seconds": round(time.perf_counter() - began, 3),
        "run": str(folder.path),
    }
    folder.write_json("result.json", result)
    folder.remove_checkpoint()
    return result


def _simulate(
    config: RunConfig, parts: Components, dataset: Dataset, progress: Progress
) -> tuple[Production, dict[str, ClickStatistics]]:
    progress.stage("production ranker")
    production = pipeline.train_production(config, dataset, progress)
    progress.stage("clicks")
    statistics = {
        split: pipeline.simulate(
            config, dataset, production, parts.users, split, draw=simulate_statistics
        )
        for split in pipeline.LOGGED
    }
    return production, statistics


def _read_log(
    config: RunConfig, dataset: Dataset
) -> tuple[Production, dict[str, ClickStatistics], str | None]:
    """Production, its clicks, and whose they were if the log says so."""
    log = open_log(Path(config.log), dataset)
    if log.scores is None:
        raise DataError(f"{config.log}: has no production scores")
    return Production(log.scores, scorer=""), dict(log.statistics), log.description.get("users")


class _Saver:
    """Saves a checkpoint now and then: what is lost by a kill is computed again, the same."""

    def __init__(self, folder: RunFolder, *, every: float = 10.0) -> None:
        self._folder, self._every, self._last = folder, every, time.monotonic()

    def __call__(self, state: TrainingState) -> None:
        if time.monotonic() - self._last > self._every:
            self._folder.save_checkpoint(state)
            self._last = time.monotonic()


def simulate(
    config: RunConfig, *, out: Path, sessions: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """A production ranker and its users' clicks, into a log file."""
    progress = progress or Progress()
    began = time.perf_counter()
    users = compose_users(config)
    dataset = pipeline.load_data(config.data)
    progress.stage("production ranker")
    production = pipeline.train_production(config, dataset, progress)
    progress.stage("clicks")
    description = {
        "users": users.name,
        "n_interactions": config.interactions,
        "top_k": config.top_k,
        "seed": config.seed,
        "data": config.data,
    }
    log = LogFile({}, production.scores, description, dataset.fingerprint)

    def drawn(draw: Callable[..., Drawn]) -> dict[str, Drawn]:
        return {
            split: pipeline.simulate(config, dataset, production, users, split, draw=draw)
            for split in pipeline.LOGGED
        }

    if sessions:
        statistics = write_sessions(
            out,
            log,
            {
                split: (pipeline.n_displays(config, dataset, split), chunks)
                for split, chunks in drawn(simulate_sessions).items()
            },
            {split: dataset.part(split).offsets for split in pipeline.LOGGED},
        )
    else:
        statistics = drawn(simulate_statistics)
        write_log(out, replace(log, statistics=statistics))
    return {
        **description,
        "sessions": sessions,
        "clicks": {split: int(part.clicks.sum()) for split, part in statistics.items()},
        "impressions": {split: int(part.impressions.sum()) for split, part in statistics.items()},
        "click_rate": _rates(statistics["train"]),
        "seconds": round(time.perf_counter() - began, 3),
        "log": str(out),
    }


def _rates(statistics: ClickStatistics) -> list[float]:
    """Clicks per impression by rank."""
    shown = statistics.impressions.sum(0)
    rates = statistics.clicks.sum(0) / np.maximum(shown, 1)
    return [round(float(rate), 6) for rate in rates]


def describe(config: RunConfig, parts: Components) -> dict[str, Any]:
    """What was run, in the words of the command line."""
    return {
        "estimator": parts.estimator.name,
        "reward": parts.reward.name,
        "ranker": parts.ranker.name,
        "scorer": parts.scorer.name,
        "click_model": parts.click_model.name,
        "metric": config.metric,
        "top_k": config.top_k,
        "seed": config.seed,
        "exposure": config.exposure,
        "init": config.init,
        "policy": parts.ranker.policy.name,
        "data": config.data,
    }


def evaluate(
    path: Path, *, data: str | None = None, blend_to_loss: float | None = None
) -> dict[str, Any]:
    """Judge a finished run again, on its own or another data set, possibly blended."""
    folder = RunFolder.open(path)
    config = read_config(folder)
    parts = compose(config)
    earlier = folder.read_json("result.json")
    pipeline.prepare(config, parts, n_interactions=earlier["n_interactions"])
    dataset = pipeline.load_data(data or config.data)
    module = pipeline.new_module(parts.scorer, dataset, seed=0)
    folder.load_module("policy.safetensors", module)
    production = _load_production(config, folder, dataset, elsewhere=data is not None)
    blend = 1.0
    if blend_to_loss is not None:
        served = pipeline.serve(config, parts, dataset, production, module)
        ranks = pipeline.reported_weights(config, parts.click_model)["dcg"]
        blend = min(blend_for_loss(one, ranks, worst_loss=blend_to_loss) for one in served.values())
    judged = pipeline.evaluate(config, parts, dataset, production, module, blend=blend)
    return {
        **describe(config, parts),
        "users": earlier["users"],
        "n_interactions": earlier["n_interactions"],
        "data": data or config.data,
        **judged,
        "blend": blend,
        "run": str(path),
    }


def _load_production(
    config: RunConfig, folder: RunFolder, dataset: Dataset, *, elsewhere: bool
) -> Production:
    """Production's scores as they were in the run; on another data set, from its weights."""
    if not elsewhere:
        name = "production-scores.safetensors"
        return Production(folder.load_scores(name, n_documents=dataset.n_documents), scorer="")
    if config.log:
        raise CltrError(
            f"{folder.path}: the run knows production only by its scores in the log; "
            "it cannot be scored on other data"
        )
    scorer = pipeline.production_scorer(config)
    module = pipeline.new_module(scorer, dataset, seed=0)
    folder.load_module("production.safetensors", module)
    return Production(score(module, dataset), scorer.name, module)


def provenance(dataset: Dataset) -> dict[str, Any]:
    """Versions and data hash: what a result depends on beside its run file."""
    return {
        "cltr": __version__,
        "python": platform.python_version(),
        "data": dataset.fingerprint,
        "plugins": {p.distribution: p.version for p in registry().providers},
    }
