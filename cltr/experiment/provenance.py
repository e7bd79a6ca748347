"""What a run was made from: its configuration, its data, versions, and how results name it."""

import platform
from typing import Any

from cltr.data import loading
from cltr.errors import DataError, UsageError
from cltr.experiment.components import Components, fitted_files, needed_plugins
from cltr.experiment.config import RunConfig, resolve
from cltr.experiment.label_training import require_judgements
from cltr.experiment.run_folder import RunFolder
from cltr.experiment.run_log import OWN, own_data
from cltr.objectives.rewards import Labels
from cltr.plugins import versions
from cltr.types import Dataset

SCORES, RANKS = "production-scores.safetensors", "production-ranks.safetensors"
"""Files of a run that keep what was known of production."""


def read_config(folder: RunFolder) -> RunConfig:
    """The resolved configuration of a run; its fitted click models are as they were."""
    config = resolve(RunConfig.load(folder.config_file), source=str(folder.config_file))
    expected = config.provenance.get("click_models", {})
    for path, found in fitted_files(config).items():
        _check_unchanged(folder, path, found, expected.get(path, ""))
    return config


def open_data(config: RunConfig) -> tuple[RunConfig, Dataset]:
    """The data set of a run, or the own lists of a log that stands alone."""
    own = own_data(config)
    if own is None:
        dataset = loading.load_dataset(config.data)
        if config.reward.name == Labels.name:
            require_judgements(dataset, "--reward labels needs")
        return config, dataset
    if config.reward.name == Labels.name:
        raise UsageError("--reward labels needs judgements; a log that stands alone has none")
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


def describe(config: RunConfig, components: Components) -> dict[str, Any]:
    """What was run, in the words of the command line."""
    return {
        "estimator": components.estimator.name,
        "reward": components.reward.name,
        "ranker": components.ranker.name,
        "scorer": components.scorer.name,
        "click_model": config.click_model.name,
        "metric": config.metric,
        "top_k": config.top_k,
        "seed": config.seed,
        "exposure": config.exposure,
        "init": config.init,
        "policy": components.ranker.policy.name,
        "data": config.data,
    }


def provenance(config: RunConfig, components: Components, dataset: Dataset) -> dict[str, Any]:
    """Versions and hashes of files: what a result depends on beside its run file.

    ``plugins`` are those that the run cannot do without.
    """
    models = fitted_files(config)
    return {
        "python": platform.python_version(),
        "data": dataset.fingerprint,
        "versions": versions(),
        "plugins": needed_plugins(components),
        **({"click_models": models} if models else {}),
    }
