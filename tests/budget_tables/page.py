"""Finished runs in docs/budget.csv, and the tables of docs/budget.md that they fill.

A table follows ``<!-- budget NAME -->`` and is written anew.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.budget_tables.cells import Cell, Row

DOCS = Path(__file__).parents[2] / "docs"
PAGE, TABLE = DOCS / "budget.md", DOCS / "budget.csv"
MARK = re.compile(r"(<!-- budget (\S+) -->\n)(?:\n?(?:\|.*\n)+)?")
Done = Mapping[Cell, Sequence[Row]]


def read_rows(path: Path) -> dict[Cell, list[Row]]:
    """All finished runs by cell."""
    found: dict[Cell, list[Row]] = {}
    if not path.exists():
        return found
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            cell = Cell(line["world"], line["users"], int(line["seed"]))
            types = Row.__annotations__
            row = Row(**{name: types[name](line[name]) for name in Row._fields})
            found.setdefault(cell, []).append(row)
    return found


def append_rows(path: Path, cell: Cell, rows: Sequence[Row]) -> None:
    """Add a finished cell, whole."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow([*Cell.__dataclass_fields__, *Row._fields])
        for row in rows:
            short = [f"{value:.12g}" if isinstance(value, float) else value for value in row]
            writer.writerow([*vars(cell).values(), *short])


def filled(page: str, done: Done) -> str:
    """The page with the tables of the finished runs."""
    tables: dict[str, Callable[[Done], Iterator[list[str]]]] = {
        "logged": lambda runs: _gains(runs, "train", "blend"),
        "unseen": lambda runs: _gains(runs, "test", "blend each query"),
        "adversarial": _adversarial,
        "band": _bands,
    }
    return MARK.sub(lambda mark: mark[1] + "\n" + _markdown([*tables[mark[2]](done)]), page)


def _markdown(lines: list[list[str]]) -> str:
    rule = ["---"] * len(lines[0])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (lines[0], rule, *lines[1:]))


def values(done: Done, **wanted: str | float) -> dict[int, Row]:
    """The row of each seed with these values, by seed."""
    return {
        cell.seed: row
        for cell, rows in done.items()
        for row in rows
        if all({**vars(cell), **row._asdict()}[name] == value for name, value in wanted.items())
    }


def _groups(done: Done, users: str, way: str) -> list[tuple[str, float]]:
    return sorted(
        {
            (cell.world, row.bound)
            for cell, rows in done.items()
            for row in rows
            if cell.users == users and row.way == way
        }
    )


def _gains(done: Done, split: str, rival: str) -> Iterator[list[str]]:
    """Budget beside blending at the same bound, users as assumed."""
    yield [
        "data", "budget", "seeds", "gained", "worst seed", f"gained by {rival}", "ratio",
        "certified loss", "most affected query",
    ]  # fmt: skip
    for world, bound in _groups(done, "as assumed", "budget"):
        one = {"world": world, "users": "as assumed", "bound": bound, "split": split}
        own, other = values(done, way="budget", **one), values(done, way=rival, **one)
        gains = np.array([row.gain for row in own.values()])
        rivals = np.array([other[seed].gain for seed in own])
        yield [
            world,
            f"{100 * bound:g} points",
            str(len(gains)),
            f"{gains.mean():+.4f}",
            f"{gains.min():+.4f}",
            f"{rivals.mean():+.4f}",
            f"{gains.mean() / rivals.mean():.1f}",
            f"at most {100 * max(row.loss for row in own.values()):.4f}",
            f"{100 * max(row.largest for row in own.values()):.1f}",
        ]


def _adversarial(done: Done) -> Iterator[list[str]]:
    yield ["data", "budget", "seeds", "gained (logged)", "worst seed (logged)",
           "gained (unseen)", "worst seed (unseen)"]  # fmt: skip
    for world, bound in _groups(done, "adversarial", "budget"):
        cells = [world, f"{100 * bound:g} points"]
        for split in ("train", "test"):
            rows = values(
                done, way="budget", world=world, users="adversarial", bound=bound, split=split
            )
            gains = np.array([row.gain for row in rows.values()])
            cells += [str(len(gains))] if split == "train" else []
            cells += [f"{gains.mean():+.4f}", f"{gains.min():+.4f}"]
        yield cells


def _bands(done: Done) -> Iterator[list[str]]:
    """The lower bound alone beside the box, test queries."""
    yield ["data", "users", "kept share", "seeds", "gained, lower bound only", "gained, box",
           "certified loss, lower bound only", "certified loss, box"]  # fmt: skip
    for users in ("as assumed", "adversarial"):
        for world, bound in _groups(done, users, "band"):
            one = {"world": world, "users": users, "bound": bound, "split": "test"}
            rows = [[*values(done, way=way, **one).values()] for way in ("band", "box")]
            gains = [np.mean([row.gain for row in each]) for each in rows]
            losses = [100 * np.mean([row.loss for row in each]) for each in rows]
            yield [world, users, f"{bound:g}", str(len(rows[0])), *(f"{x:+.4f}" for x in gains),
                   *(f"{x:.1f} points" for x in losses)]  # fmt: skip
