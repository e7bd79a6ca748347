"""What a command does from start to end: a run in its folder, a policy judged again."""

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cltr import __version__, pipeline
from cltr.components import Components, compose, compose_users, resolved
from cltr.config import RunConfig, resolve
from cltr.errors import CltrError, DataError, UsageError
from cltr.evaluation import blend_for_loss
from cltr.logged import OWN, Logged, fit_to_log, own_data, read_logged
from cltr.logs import LogFile, write_log, write_sessions
from cltr.misspecification import warn_of_misfit
from cltr.pipeline import Drawn, Production, Progress
from cltr.plugins import registry
from cltr.rewards import Labels
from cltr.runs import RunFolder
from cltr.simulation import simulate_sessions, simulate_statistics
from cltr.training import TrainingState, score
from cltr.types import ClickStatistics, Dataset

SCORES, RANKS = "production-scores.safetensors", "production-ranks.safetensors"


def train(
    config: RunConfig, *, out: Path | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """A new run, in ``out`` or in the next folder below ``runs/``."""
    config = fit_to_log(config)
    parts = compose(config)
    config, dataset = _open_data(config)
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
    config, dataset = _open_data(config)
    _check_data(folder, config, dataset)
    return _run(config, parts, dataset, folder, progress or Progress())


def _check_data(folder: RunFolder, config: RunConfig, dataset: Dataset) -> None:
    """The data must be those of the run: its results stand beside what was learned on them."""
    expected = config.provenance.get("data", "")
    if expected and dataset.fingerprint and expected != dataset.fingerprint:
        raise DataError(
            f"{config.data}: has changed since {folder.path} was run: fingerprint "
            f"{dataset.fingerprint}, expected {expected}; restore it, or train again"
        )


def _open_data(config: RunConfig) -> tuple[RunConfig, Dataset]:
    """The data set of a run, or the own lists of a log that stands alone."""
    own = own_data(config)
    if own is None:
        return config, pipeline.load_data(config.data)
    if config.reward.name == Labels.name:
        raise UsageError("--reward labels needs judgements; a log that stands alone has none")
    return config.model_copy(update={"data": OWN}), own


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
        "click_model": config.click_model.name,
        "metric": config.metric,
        "top_k": config.top_k,
        "seed": config.seed,
        "exposure": config.exposure,
        "init": config.init,
        "policy": parts.ranker.policy.name,
        "data": config.data,
    }


def evaluate(
    path: Path,
    *,
    data: str | None = None,
    blend_to_loss: float | None = None,
    measures: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Judge a finished run again, on its own or another data set, possibly blended.

    Args:
        path: the run's folder.
        data: another data set.
        blend_to_loss: mix with production so that the worst loss is at most this.
        measures: options of metrics in place of the run's (``MeasureOptions``).
    """
    folder = RunFolder.open(path)
    config = read_config(folder)
    chosen = config.evaluation.model_copy(update=dict(measures or {}))
    config = config.model_copy(update={"evaluation": chosen})
    parts = compose(config)
    earlier = folder.read_json("result.json")
    pipeline.prepare(config, parts, n_interactions=earlier["n_interactions"])
    if data is None:
        config, dataset = _open_data(config)
        _check_data(folder, config, dataset)
    else:
        dataset = pipeline.load_data(data)
    module = pipeline.new_module(parts.scorer, dataset, seed=0)
    folder.load_module("policy.safetensors", module)
    production = _load_production(config, folder, dataset, elsewhere=data is not None)
    rewarded = None
    if config.log and data is None:
        statistics = read_logged(config, dataset, parts.click_model).statistics
        rewarded = pipeline.reward_clicks(config, parts, dataset, production, statistics)
    blend = 1.0
    if blend_to_loss is not None:
        served = pipeline.serve(config, parts, dataset, production, module)
        ranks = pipeline.reported_weights(config, parts.click_model)["dcg"]
        blend = min(
            blend_for_loss(served[split], ranks, worst_loss=blend_to_loss)
            for split in ("train", "test")
            if split in served
        )
    judged = pipeline.evaluate(
        config, parts, dataset, production, module, blend=blend, rewarded=rewarded
    )
    return {
        **describe(config, parts),
        **{
            key: earlier[key]
            for key in ("exposure", "users", "n_interactions", "assumptions", "warnings")
            if key in earlier
        },
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
        known = {
            name: folder.load_scores(name, n_documents=dataset.n_documents)
            for name in (SCORES, RANKS)
            if (folder.path / name).exists()
        }
        if not known:
            raise CltrError(f"{folder.path / SCORES}: no such file; the run is not finished")
        source = folder.read_json("result.json").get("exposure", "exact")
        return Production(known.get(SCORES), ranks=known.get(RANKS), source=source)
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
