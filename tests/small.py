"""Runs that take a fraction of a second: few queries, few documents, few epochs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cltr.experiment.config import RunConfig, resolve
from cltr.studies.study import SKYLINE, Study
from cltr.testing import tiny_dataset
from cltr.types import Dataset

CHOICES: dict[str, Any] = {
    "interactions": 2000,
    "skyline": False,
    "reward": {"name": "ips"},
    "scorer": {"name": "mlp", "hidden": [6]},
    "training": {"epochs": 2},
    "production": {"epochs": 2, "learning_rate": 0.05},
}
FLAGS = [
    *("-n", "2000", "--no-skyline"),
    *("-o", "scorer.hidden=[6]"),
    *("-o", "training.epochs=2"),
    *("-o", "production.epochs=2"),
    *("-o", "production.learning_rate=0.05"),
]
"""The same on the command line, but for the reward."""


def config(**values: Any) -> RunConfig:
    """A run file for a small run; values replace whole tables."""
    return resolve({**CHOICES, **values})


def dataset(n_queries: int = 24, seed: int = 0) -> Dataset:
    """In place of the demo data."""
    return tiny_dataset(n_queries, seed=seed)


def saved(folder: Path) -> str:
    """The same as a file, for other processes: its path."""
    from cltr.data.dataset_file import save_dataset

    path = folder / "small.h5"
    save_dataset(dataset(), path)
    return str(path)


def same_numbers(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what differs between two runs of the same choices."""
    return {key: value for key, value in result.items() if key not in ("seconds", "run")}


def cells(study: Study, value: Callable[[str, Any], float]) -> list[dict[str, Any]]:
    """Cells of a study with numbers by method and interactions; production has 0.5."""
    return [
        vars(cell)
        | {
            "status": "done",
            "ndcg@5": 0.8 if cell.method == SKYLINE else value(cell.method, cell.interactions),
            "production_ndcg@5": 0.5,
        }
        for group in study.groups()
        for cell in group
    ]
