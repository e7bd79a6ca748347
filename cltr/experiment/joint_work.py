"""What several processes of a run do together: the first one says what, and hands out its parts.

The first process alone reads the log, makes rewards, checks and evaluates. Before a training it
tells the others which one begins, and sends each of them the rewards and the exposure of the
queries that it owns. :mod:`cltr.experiment.follow` is what the others do. A process that works
alone tells nobody.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cltr.clicks.model_file import save_click_model
from cltr.documents import State
from cltr.experiment.config import AUTO, RunConfig
from cltr.experiment.plan import Plan
from cltr.interfaces import ClickModel, Model
from cltr.training.processes import Processes, ProcessesError, current_processes
from cltr.types import Dataset, Floats, Rewards

END, LEARN, PRODUCTION, SKYLINE = "end", "learn", "production", "skyline"
MODEL, QUERIES, CLICK_MODEL = "model/", "queries/", "click-model"
"""Arrays that go to everybody: the start, weights of queries by split, a click model's file."""
TRAINED_ON = ("train", "valid")


@contextmanager
def dismissing() -> Iterator[None]:
    """Tell the others at the end that there is no more work, also if this process fails alone."""
    processes = current_processes()
    try:
        yield
    except Exception:
        if not processes.busy:  # in a training, the others fail alike or see the connection break
            with suppress(ProcessesError):
                tell(END)
        raise
    tell(END)


@contextmanager
def joint(work: str) -> Iterator[None]:
    """A training that needs nothing but the data set, which all processes have."""
    tell(work)
    with current_processes().working():
        yield


def tell(work: str, **more: Any) -> None:
    """Tell the others what begins now."""
    if current_processes().count > 1:
        current_processes().from_first(json.dumps({"work": work, **more}))


@dataclass(frozen=True)
class Lesson:
    """All that the others need to know of a training on clicks, beside the configuration."""

    model: Model
    """As training starts."""
    rewards: Mapping[str, Rewards]
    click_model: ClickModel
    plan: Plan
    start_counts: bool
    resumes: bool

    @contextmanager
    def joint(self, config: RunConfig, dataset: Dataset) -> Iterator[None]:
        """Hand out the parts of this training, and take part in it.

        Args:
            config: of the run.
            dataset: of the run, with production's scores where the model needs them.
        """
        processes = current_processes()
        if processes.count > 1:
            tell(LEARN, **self._told(dataset))
            processes.bytes_from_first(packed(self._arrays(config)))
            deal_rewards(processes, dataset, self.rewards)
            deal_production(processes, dataset)
        with processes.working():
            yield

    def _told(self, dataset: Dataset) -> dict[str, Any]:
        train = self.rewards["train"]
        return {
            "plan": self.plan,
            "start_counts": self.start_counts,
            "resumes": self.resumes,
            "n_interactions": train.n_interactions,
            "n_queries": train.n_queries,
            "exposure": train.exposure.source,
            "production": dataset.production is not None,
        }

    def _arrays(self, config: RunConfig) -> State:
        found = {f"{MODEL}{name}": array for name, array in self.model.state().items()}
        found |= {f"{QUERIES}{split}": self.rewards[split].query_weights for split in TRAINED_ON}
        if config.click_model.name == AUTO and self.click_model.fitted is not None:
            found[CLICK_MODEL] = _file_of(self.click_model)
        return found


def deal_rewards(
    processes: Processes, dataset: Dataset, rewards: Mapping[str, Rewards]
) -> dict[str, list[Floats]]:
    """Columns of each split: values, and the three of exposure.

    Args:
        processes: this one and the others.
        dataset: of the run.
        rewards: what the first process has; empty in the others.
    """
    found = {}
    for split in TRAINED_ON:
        part, here = dataset.part(split), rewards.get(split)
        known: list[Floats | None] = [None] * 4
        if here is not None:
            given = here.exposure
            known = [here.values, given.weights, given.propensities, given.attention]
        found[split] = [processes.deal(column, part) for column in known]
    return found


def deal_production(processes: Processes, dataset: Dataset) -> None:
    """Scores of production, where there are any; others than the first put them into theirs."""
    if dataset.production is None:
        return
    for split in TRAINED_ON:
        part = dataset.part(split)
        dealt = processes.deal(part.production if processes.first else None, part)
        if not processes.first:
            own = processes.own_rows(part)
            dataset.production[dataset.documents_of(split)][own] = dealt[own]


def packed(arrays: State) -> bytes:
    """Arrays by name as bytes."""
    from safetensors.numpy import save

    return save({name: np.asarray(array, order="C") for name, array in arrays.items()})


def _file_of(model: ClickModel) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The file of a fitted click model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "click-model.h5"
        save_click_model(path, model)
        return np.frombuffer(path.read_bytes(), np.uint8)
