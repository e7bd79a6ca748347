"""What a run was made from: its configuration, its data, versions, and how results name it."""

import os
import platform
from pathlib import Path
from typing import Any

from cltr.clicks.model_file import load_click_model
from cltr.data import loading
from cltr.data.shards import is_sharded
from cltr.errors import DataError, UsageError
from cltr.experiment.components import (
    FITTED,
    Components,
    compose,
    fitted_files,
    needed_plugins,
)
from cltr.experiment.config import AUTO, RunConfig, resolve
from cltr.experiment.label_training import require_judgements
from cltr.experiment.run_folder import RunFolder
from cltr.experiment.run_log import OWN, own_data
from cltr.objectives.rewards import Labels
from cltr.options import Choice
from cltr.plugins import changed_files, versions
from cltr.training.processes import current_processes
from cltr.types import Dataset

CLICK_MODEL = "click-model.h5"
"""The file of a run that keeps the click model that was fitted to its clicks."""
SCORES, RANKS = "production-scores.safetensors", "production-ranks.safetensors"
"""Files of a run that keep what was known of production."""
KEYS = {SCORES: "scores", RANKS: "rank_distribution"}
"""What the array in each of them is called."""
_PLACES = ("data", "log", "production_scores")
"""What a run file names that may lie elsewhere when the folder has moved."""


def read_config(folder: RunFolder) -> RunConfig:
    """The resolved configuration of a run; its fitted click models are as they were."""
    config = resolve(RunConfig.load(folder.config_file), source=str(folder.config_file))
    config = _located(config, folder)
    expected = config.provenance.get("click_models", {})
    for path, found in fitted_files(config).items():
        _check_unchanged(folder, path, found, expected.get(path, ""))
    return config


def components_of(folder: RunFolder, config: RunConfig) -> Components:
    """The components of a finished run, with the click model that it fitted."""
    components, fitted = compose(config), folder.path / CLICK_MODEL
    if config.click_model.name == AUTO and fitted.exists():
        return components.replace(click_model=load_click_model(fitted))
    return components


def _located(config: RunConfig, folder: RunFolder) -> RunConfig:
    """Files that are not where the run file says are looked for from the run's folder.

    A fitted click model that is gone is replaced by the copy in the folder.
    """
    places = config.provenance.get("from_here", {})
    values: dict[str, Any] = {}
    for name in _PLACES:
        typed = getattr(config, name)
        if typed in places and not Path(typed).exists():
            other = folder.path / places[typed]
            values |= {name: str(other)} if other.exists() else {}
    for role in ("click_model", "users"):
        choice = getattr(config, role)
        path = choice.name.removeprefix(FITTED) if choice is not None else ""
        fingerprint = config.provenance.get("click_models", {}).get(path, "")
        if fingerprint and not Path(path).exists():
            copy = folder.embedded_click_model(fingerprint)
            values |= {role: Choice(name=f"{FITTED}{copy}")} if copy else {}
    return config.model_copy(update=values)


def from_folder(config: RunConfig, folder: RunFolder) -> dict[str, str]:
    """Where the files that a run file names lie, as seen from the run's folder."""
    start, typed = folder.path.resolve(), [getattr(config, name) for name in _PLACES]
    files = [one for one in typed if Path(one).is_file() or is_sharded(Path(one))]
    return {one: os.path.relpath(Path(one).resolve(), start) for one in files}


def open_data(config: RunConfig) -> tuple[RunConfig, Dataset]:
    """The data set of a run, or the own lists of a log that stands alone."""
    own = own_data(config)
    if own is None:
        dataset = loading.load_dataset(config.data)
        if config.reward.name == Labels.name:
            require_judgements(dataset, "--reward labels needs")
        return config, dataset
    if config.reward.name == Labels.name:
        raise UsageError(
            "--reward labels needs judgements; a log that was ingested without --data has none"
        )
    return config.model_copy(update={"data": OWN}), own


def check_data(folder: RunFolder, config: RunConfig, dataset: Dataset) -> None:
    """The data must be those of the run: its results stand beside what was learned on them."""
    expected = config.provenance.get("data", "")
    _check_unchanged(folder, config.data, dataset.fingerprint, expected)


def _check_unchanged(folder: RunFolder, path: str, found: str, expected: str) -> None:
    if expected and found and expected != found:
        raise DataError(
            f"{path}: has changed since {folder.path} was run: fingerprint "
            f"{found}, expected {expected}; restore it, or train again"
        )


def changed_plugins(config: RunConfig, components: Components) -> list[str]:
    """A line for each plugin file that is not the one that the run was made with."""
    return [
        f"the plugin file {name} has changed since this run: what it computes now may differ"
        for name in _changed_files(config, components)
    ]


def check_plugins(folder: RunFolder, config: RunConfig, components: Components) -> None:
    """A run that goes on needs the plugin files that it began with."""
    for name in _changed_files(config, components):
        raise DataError(
            f"{name}: has changed since {folder.path} was begun; restore it, or train again"
        )


def _changed_files(config: RunConfig, components: Components) -> list[str]:
    before = config.provenance.get("plugins", {})
    return changed_files(before if isinstance(before, dict) else {}, needed_plugins(components))


def describe(config: RunConfig, components: Components) -> dict[str, Any]:
    """What was run, in the words of the command line."""
    return {
        "estimator": components.estimator.name,
        "reward": components.reward.name,
        "ranker": components.ranker.name,
        "scorer": components.scorer.name,
        "click_model": _click_model(config, components),
        "metric": config.metric,
        "top_k": config.top_k,
        "seed": config.seed,
        "exposure": config.exposure,
        "init": config.init,
        "policy": components.ranker.policy.name,
        "data": config.data,
    }


def _click_model(config: RunConfig, components: Components) -> str:
    model = components.click_model
    if config.click_model.name != AUTO:
        return config.click_model.name
    return f"{model.name}, {'fitted to these clicks' if model.fitted else 'not fitted'}"


def provenance(
    config: RunConfig, components: Components, dataset: Dataset, folder: RunFolder
) -> dict[str, Any]:
    """Versions and hashes of files: what a result depends on beside its run file.

    ``plugins`` are those that the run cannot do without.
    """
    models, places = fitted_files(config), from_folder(config, folder)
    processes = current_processes().count
    return {
        "python": platform.python_version(),
        "data": dataset.fingerprint,
        "versions": versions(),
        "plugins": needed_plugins(components),
        **({"processes": processes} if processes > 1 else {}),
        **({"click_models": models} if models else {}),
        **({"from_here": places} if places else {}),
    }


def made_from(dataset: Dataset, command: str | None) -> dict[str, Any]:
    """What a judgement by a log depends on, and the command that repeats it."""
    return {
        "python": platform.python_version(),
        "data": dataset.fingerprint,
        "versions": versions(),
        "command": command,
    }
