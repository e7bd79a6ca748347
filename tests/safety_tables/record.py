"""Finished runs in a file, and what they add up to."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.safety_tables.cells import Cell, Fold

FIELDS = (*Cell.__dataclass_fields__, "fold", *Fold._fields)


def read_folds(path: Path) -> dict[Cell, list[Fold]]:
    """All finished runs by cell, folds in order."""
    found: dict[Cell, list[Fold]] = {}
    if not path.exists():
        return found
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            cell = Cell(
                row["world"], row["way"], row["users"], int(row["interactions"]), int(row["seed"])
            )
            types = Fold.__annotations__
            fold = Fold(**{name: types[name](row[name]) for name in Fold._fields})
            found.setdefault(cell, []).append(fold)
    return found


def append_folds(path: Path, cell: Cell, folds: Sequence[Fold]) -> None:
    """Add a finished cell, whole."""
    new = not path.exists()
    lines = [[*vars(cell).values(), number, *_short(fold)] for number, fold in enumerate(folds)]
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        writer.writerows(lines)


def _short(fold: Fold) -> list[str | int]:
    return [f"{value:.6g}" if isinstance(value, float) else value for value in fold]


class Pooled(NamedTuple):
    """All test queries of a cell together."""

    gain: float
    """NDCG@5 gained, as a share of production's."""
    points: float
    """NDCG@5 gained."""
    stayed: float
    """Share of the folds that kept production."""


def pool(folds: Iterable[Fold]) -> Pooled:
    """The folds of a cell as one."""
    folds = list(folds)
    queries = np.array([fold.queries for fold in folds], float)
    before = float(queries @ [fold.production for fold in folds] / queries.sum())
    after = float(queries @ [fold.policy for fold in folds] / queries.sum())
    stayed = float(np.mean([fold.plan == "stay" for fold in folds]))
    return Pooled(after / before - 1, after - before, stayed)
