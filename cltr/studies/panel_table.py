"""The tables of the safety panel: gains, losses and certificates over seeds."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cltr.files.storage import write_beside
from cltr.studies.study import PRODUCTION, Study

BELOW = 0.01
"""A run is counted as a loss if its NDCG is further than this share below production's."""
EXPECTED, SENSELESS, ADVERSE = "as assumed", "random", "adversarial"
"""Users of the panel that the short table names; it pools the others."""


@dataclass(frozen=True)
class PanelRow:
    """A method under one kind of users at one number of interactions, over seeds.

    Gains are shares of production's NDCG on test queries.
    """

    method: str
    users: str
    interactions: int
    seeds: int
    mean_gain: float
    worst_seed: float
    runs_below: float
    """Share of runs more than 1% below production."""
    worst_case: float
    """Most that NDCG can fall whatever users find relevant, in NDCG: mean over seeds."""
    stayed: float
    """Share of runs that kept production."""


def panel_rows(study: Study, rows: Iterable[Mapping[str, Any]]) -> list[PanelRow]:
    """The panel's table from the cells that are done; one row for each method, users and N.

    Args:
        study: the panel.
        rows: of cells, as in its results file.
    """
    measure = measure_of(study)
    cells: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["status"] == "done":
            place = (row["method"], row["users"], row["interactions"])
            cells.setdefault(place, []).append(row)
    order = [
        (method, users, n)
        for method in study.methods
        for users in study.people
        for n in study.interactions
    ]
    return [_row(place, cells[place], measure) for place in order if place in cells]


def measure_of(study: Study) -> str:
    """The metric of the panel: expected NDCG on test queries."""
    return f"ndcg@{study.config(next(iter(study.groups()))[0]).top_k}"


def gain_of(cell: Mapping[str, Any], measure: str) -> float:
    """NDCG less production's, as a share of production's."""
    before = float(cell[f"{PRODUCTION}_{measure}"])
    return (float(cell[measure]) - before) / before


def _row(place: tuple[str, str, int], cells: list[Mapping[str, Any]], measure: str) -> PanelRow:
    gains = np.array([gain_of(cell, measure) for cell in cells])
    return PanelRow(
        *place,
        len(cells),
        mean_gain=float(gains.mean()),
        worst_seed=float(gains.min()),
        runs_below=float((gains < -BELOW).mean()),
        worst_case=float(np.mean([cell["worst_ndcg_loss"] for cell in cells])),
        stayed=float(np.mean([cell.get("stayed") or 0 for cell in cells])),
    )


@dataclass(frozen=True)
class MethodLine:
    """A method in the short table: all numbers of interactions together."""

    method: str
    runs: int
    as_assumed: float | None
    """Mean gain when users click as assumed."""
    otherwise: float | None
    """Mean gain under users that click otherwise, but by what is relevant to them."""
    otherwise_worst: float | None
    random_worst: float | None
    adversarial_worst: float | None
    runs_below: float
    worst_case: float
    """Largest of the mean worst-case losses: over users and interactions."""


def method_lines(rows: list[PanelRow]) -> list[MethodLine]:
    """The short table: one line for each method."""
    return [
        _line(method, [row for row in rows if row.method == method])
        for method in dict.fromkeys(row.method for row in rows)
    ]


def _line(method: str, rows: list[PanelRow]) -> MethodLine:
    named = (EXPECTED, SENSELESS, ADVERSE)

    def of(*users: str) -> list[PanelRow]:
        return [row for row in rows if (row.users in users if users else row.users not in named)]

    runs = sum(row.seeds for row in rows)
    return MethodLine(
        method,
        runs,
        _mean(of(EXPECTED)),
        _mean(of()),
        _worst(of()),
        _worst(of(SENSELESS)),
        _worst(of(ADVERSE)),
        runs_below=sum(row.seeds * row.runs_below for row in rows) / runs,
        worst_case=max(row.worst_case for row in rows),
    )


def _mean(rows: list[PanelRow]) -> float | None:
    if not rows:
        return None
    return float(np.average([row.mean_gain for row in rows], weights=[row.seeds for row in rows]))


def _worst(rows: list[PanelRow]) -> float | None:
    return min((row.worst_seed for row in rows), default=None)


def write_table(rows: list[PanelRow], path: Path) -> Path:
    """The panel's table as CSV, a row for each method, users and number of interactions."""
    with (
        write_beside(path, wait=True) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, list(PanelRow.__dataclass_fields__))
        writer.writeheader()
        for row in rows:
            plain = vars(row).items()
            writer.writerow({k: round(v, 6) if isinstance(v, float) else v for k, v in plain})
    return path
