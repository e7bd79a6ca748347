"""What the processes of a run do that are not its first: train with it, as it tells them.

They read no log and no clicks. What they hold beside the data set are the rewards and the exposure
of the queries that they own (:mod:`cltr.experiment.joint_work`).
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cltr.clicks.model_file import load_click_model
from cltr.clicks.models import PositionBased
from cltr.documents import State
from cltr.experiment.components import Components
from cltr.experiment.config import AUTO, RunConfig
from cltr.experiment.initial_model import new_model
from cltr.experiment.joint_work import (
    CLICK_MODEL,
    END,
    MODEL,
    PRODUCTION,
    QUERIES,
    SKYLINE,
    deal_production,
    deal_rewards,
)
from cltr.experiment.label_training import production_model, train_skyline
from cltr.experiment.library_setup import set_up_libraries
from cltr.experiment.progress import Progress
from cltr.experiment.run_trainer import make_trainer, prepare_estimator
from cltr.experiment.seeds import seed_for
from cltr.interfaces import ClickModel, Model
from cltr.training.loop import TrainingState
from cltr.training.processes import current_processes
from cltr.types import Dataset, Exposure, Rewards

Told = Mapping[str, Any]


def follow(
    config: RunConfig,
    components: Components,
    dataset: Dataset,
    *,
    saved: Callable[[], TrainingState | None],
) -> None:
    """Train with the first process until it says that there is no more work.

    Args:
        config: of the run.
        components: of the run.
        dataset: of the run.
        saved: reads the checkpoint that the run resumes from.
    """
    set_up_libraries()
    silent = Progress()
    while (told := json.loads(current_processes().from_first("")))["work"] != END:
        if told["work"] == PRODUCTION:
            production_model(config, dataset, silent)
        elif told["work"] == SKYLINE:
            train_skyline(config, dataset, components.scorer, silent)
        else:
            dataset = _learn(config, components, dataset, told, saved)


def _learn(
    config: RunConfig,
    components: Components,
    dataset: Dataset,
    told: Told,
    saved: Callable[[], TrainingState | None],
) -> Dataset:
    """Take part in a training on clicks; returns the data set with the scores that were sent."""
    arrays = _unpacked(current_processes().bytes_from_first(b""))
    if config.click_model.name == AUTO:
        components = components.replace(click_model=_click_model(arrays))
    rewards, dataset = _rewards(dataset, told, arrays)
    plan = told["plan"]
    prepare_estimator(config, components, plan, told["n_interactions"], told["n_queries"])
    make_trainer(config, components, plan).train(
        _model(config, components, dataset, arrays),
        rewards["train"],
        rewards["valid"],
        start_counts=told["start_counts"],
        state=saved() if told["resumes"] else None,
    )
    return dataset


def _rewards(dataset: Dataset, told: Told, arrays: State) -> tuple[dict[str, Rewards], Dataset]:
    """The own part of the rewards; what others own is 0, and takes no memory."""
    if told["production"]:
        dataset = replace(dataset, production=np.zeros(dataset.n_documents))
    columns = deal_rewards(current_processes(), dataset, {})
    deal_production(current_processes(), dataset)
    found = {}
    for split, (values, weights, propensities, attention) in columns.items():
        exposure = Exposure(weights, propensities, attention, told["exposure"])
        queries = arrays[f"{QUERIES}{split}"]
        found[split] = Rewards(dataset.part(split), values, exposure, queries, split=split)
    return found, dataset


def _model(config: RunConfig, components: Components, dataset: Dataset, arrays: State) -> Model:
    """The model as it is in the first process when training starts."""
    seed = seed_for(config.seed, "start")
    model = new_model(components.scorer, dataset, seed=seed, options=config.training)
    state = {
        name.removeprefix(MODEL): array for name, array in arrays.items() if name.startswith(MODEL)
    }
    model.load_state(state)
    return model


def _click_model(arrays: State) -> ClickModel:
    """The click model that the first process fitted, or what stands in for one."""
    if CLICK_MODEL not in arrays:
        return PositionBased()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "click-model.h5"
        path.write_bytes(arrays[CLICK_MODEL].tobytes())
        return load_click_model(path)


def _unpacked(data: bytes) -> State:
    from safetensors.numpy import load

    return load(data)
