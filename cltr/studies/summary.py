"""What came out of a study: every cell in a tidy file, means and intervals over seeds."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cltr.files.storage import write_beside
from cltr.studies.study import PRODUCTION, SKYLINE, Study

RESULTS = "results.csv"
FIRST = ("method", "users", "interactions", "seed", "status")
LAST = ("seconds", "error")
WORDS = ("method", "users", "status", "error")


@dataclass(frozen=True)
class SeedInterval:
    """Mean over seeds, with the interval in which the next seed's number is expected."""

    mean: float
    low: float
    high: float
    n: int


@lru_cache
def student(probability: float, degrees: int) -> float:
    r"""Quantile of Student's distribution.

    With :math:`t = \sqrt{\nu}\tan\theta` its density is :math:`\propto \cos^{\nu-1}\theta`.

    Example:
        >>> round(student(0.9, 9), 3)
        1.383
    """
    theta = np.linspace(-np.pi / 2, np.pi / 2, 200_001)
    density = np.cos(theta).clip(0.0) ** (degrees - 1)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return float(np.sqrt(degrees) * np.tan(np.interp(probability, below / below[-1], theta)))


def band(values: Iterable[float], probability: float) -> SeedInterval:
    r"""Mean and prediction interval, :math:`\bar x \pm t_{n-1}\, s \sqrt{1 + 1/n}`.

    Example:
        >>> found = band([1.0, 2.0, 3.0], 0.8)
        >>> found.mean, round(found.high - found.mean, 3)
        (2.0, 2.177)
    """
    numbers = np.array(list(values), np.float64)
    n = len(numbers)
    if n == 0:
        return SeedInterval(np.nan, np.nan, np.nan, 0)
    mean = float(numbers.mean())
    if n == 1:
        return SeedInterval(mean, np.nan, np.nan, 1)
    spread = float(numbers.std(ddof=1)) * np.sqrt(1 + 1 / n)
    half = float(student((1 + probability) / 2, n - 1) * spread)
    return SeedInterval(mean, mean - half, mean + half, n)


@dataclass(frozen=True)
class Summary:
    """Rows of a study's cells, looked at as curves."""

    study: Study
    rows: list[dict[str, Any]]

    @property
    def measure(self) -> str:
        """What is shown: expected NDCG on test queries."""
        first = self.study.config(next(cell for group in self.study.groups() for cell in group))
        return f"ndcg@{first.top_k}"

    def values(self, method: str, users: str, interactions: int | None) -> dict[int, float]:
        """The measure by seed, of cells that are done."""
        if method == PRODUCTION:
            return self._production()
        if method == SKYLINE:
            users, interactions = "", None
        return {row["seed"]: row[self.measure] for row in self._rows(method, users, interactions)}

    def _rows(self, method: str, users: str, interactions: int | None) -> list[dict[str, Any]]:
        return [
            row
            for row in self.rows
            if (row["method"], row["users"], row["interactions"]) == (method, users, interactions)
            and row["status"] == "done"
        ]

    def _production(self) -> dict[int, float]:
        """By seed; none where methods have production rankers of their own."""
        key, found = f"{PRODUCTION}_{self.measure}", dict[int, float]()
        for row in self.rows:
            if row["status"] == "done" and found.setdefault(row["seed"], row[key]) != row[key]:
                return {}
        return found

    def curve(self, method: str, users: str) -> list[SeedInterval]:
        """One band for each number of interactions."""
        return [
            band(self.values(method, users, n).values(), self.study.interval)
            for n in self.study.interactions
        ]

    def differences(self, method: str, users: str, interactions: int) -> dict[int, float]:
        """The measure less that of the method's production, seed by seed."""
        key = f"{PRODUCTION}_{self.measure}"
        rows = self._rows(method, users, interactions)
        return {row["seed"]: row[self.measure] - row[key] for row in rows}

    @property
    def references(self) -> dict[str, SeedInterval]:
        """Production and skyline, which do not depend on the clicks."""
        names = [PRODUCTION, *([SKYLINE] if self.study.skyline else [])]
        return {
            name: band(self.values(name, "", None).values(), self.study.interval) for name in names
        }

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Rows of cells that failed."""
        return [row for row in self.rows if row["status"] != "done"]

    def plain(self) -> dict[str, Any]:
        """For JSON: means and intervals of every curve."""

        def numbers(bands: list[SeedInterval]) -> dict[str, list[float]]:
            return {key: [getattr(b, key) for b in bands] for key in ("mean", "low", "high")}

        return {
            "title": self.study.title,
            "measure": self.measure,
            "interactions": self.study.interactions,
            "seeds": self.study.seeds,
            "interval": self.study.interval,
            "references": {name: vars(value) for name, value in self.references.items()},
            "curves": {
                users: {name: numbers(self.curve(name, users)) for name in self.study.methods}
                for users in self.study.people
            },
            "failed": [
                {key: row.get(key) for key in ("method", "users", "interactions", "seed", "error")}
                for row in self.failures
            ],
        }


def write_results(rows: list[dict[str, Any]], folder: Path) -> Path:
    """All cells in one tidy CSV file, a row each."""
    middle = sorted({key for row in rows for key in row} - {*FIRST, *LAST})
    path = folder / RESULTS
    with (
        write_beside(path, wait=True) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, [*FIRST, *middle, *LAST], restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_results(path: Path) -> list[dict[str, Any]]:
    """The rows of such a file; what has no number is None."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {key: value if key in WORDS else _number(value) for key, value in row.items()}
            for row in csv.DictReader(file)
        ]


def _number(text: str) -> float | int | None:
    return None if not text else int(text) if text.isdigit() else float(text)
