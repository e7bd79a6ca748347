"""Fill the tables of docs/defaults.md and defaults-tables.md from the runs in docs/defaults.csv.

A table follows ``<!-- defaults NAME -->`` and is written anew.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.safety_tables.cells import DR, LOG, RUN, Cell, Fold
from tests.safety_tables.record import Pooled, pool

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "defaults.md", DOCS / "defaults-tables.md"
TABLE = DOCS / "defaults.csv"
MARK = re.compile(r"(<!-- defaults (\S+) -->\n)(?:\n?(?:\|.*\n)+)?")
MUCH = -0.02
"""A loss of more than 2% counts."""
Runs = Mapping[Cell, Pooled]


def filled(page: str, done: Mapping[Cell, Sequence[Fold]]) -> str:
    """The page with the tables of the finished runs."""
    runs = {cell: pool(folds) for cell, folds in done.items()}
    tables: dict[str, Callable[[Runs], list[list[str]]]] = {
        "kept": _kept,
        "pooled": _users_of_all_sets,
        "users": _users_by_set,
    }
    return MARK.sub(lambda mark: mark[1] + "\n" + _markdown(tables[mark[2]](runs)), page)


def _markdown(lines: list[list[str]]) -> str:
    rule = ["---"] * len(lines[0])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (lines[0], rule, *lines[1:]))


def _kept(runs: Runs) -> list[list[str]]:
    """The default beside plain DR, users as assumed, on the same splits and clicks."""
    lines = [["data", "N", "seeds", "plain DR", "the default", "kept", "runs that stayed"]]
    pairs: dict[tuple[str, int], list[tuple[Pooled, Pooled]]] = {}
    for cell, found in runs.items():
        if (cell.way, cell.users) != (RUN, "as assumed"):
            continue
        rival = Cell(cell.world, DR, cell.users, cell.interactions, cell.seed)
        if rival in runs:
            pairs.setdefault((cell.world, cell.interactions), []).append((found, runs[rival]))
    for (world, size), each in sorted(pairs.items()):
        lines.append([world, f"{size:,}", str(len(each)), *_shares(each)])
    for size in sorted({size for _, size in pairs}):
        each = [pair for (_, other), found in pairs.items() if other == size for pair in found]
        lines.append(["all", f"{size:,}", str(len(each)), *_shares(each)])
    everything = [pair for each in pairs.values() for pair in each]
    if everything:
        lines.append(["all", "all", str(len(everything)), *_shares(everything)])
    return lines


def _shares(pairs: Sequence[tuple[Pooled, Pooled]]) -> list[str]:
    own, dr = np.array([[a.points, b.points] for a, b in pairs]).T
    kept = f"{own.sum() / dr.sum():.0%}"
    if len(pairs) > 1:
        kept += f", at least {lower_share(own, dr):.0%}"
    gains = [np.mean([pair[who].gain for pair in pairs]) for who in (1, 0)]
    stayed = np.mean([own.stayed for own, _ in pairs])
    return [f"{gains[0]:+.1%}", f"{gains[1]:+.1%}", kept, f"{stayed:.0%}"]


def lower_share(own: np.ndarray, rival: np.ndarray, *, draws: int = 4000, seed: int = 0) -> float:
    """Lower 90% bound of the share of the rival's gain that is kept, by drawing pairs anew."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(own), size=(draws, len(own)))
    return float(np.quantile(own[chosen].sum(1) / rival[chosen].sum(1), 0.1))


HEAD = ["users", "click model", "data", "N", "seeds", "mean gain", "worst seed"]
HEAD += ["seeds below -2%", "share of DR's gain", "runs that stayed"]


def _users_by_set(runs: Runs) -> list[list[str]]:
    reference = _dr_gains(runs)
    rows = [
        _user_row(users, way, world, size, each, reference.get((world, size)))
        for (users, way, world, size), each in sorted(_groups(runs).items())
    ]
    return [HEAD, *rows]


def _users_of_all_sets(runs: Runs) -> list[list[str]]:
    lines, reference = [HEAD], _dr_gains(runs)
    for (users, way, size), worlds in _pooled(_groups(runs)).items():
        if len(worlds) > 1 and all((world, size) in reference for world in worlds):
            each = [one for found in worlds.values() for one in found]
            dr = np.mean([reference[world, size] for world in worlds for _ in worlds[world]])
            lines.append(_user_row(users, way, "all", size, each, float(dr)))
    return lines


def _groups(runs: Runs) -> dict[tuple[str, str, str, int], list[Pooled]]:
    """Runs of the default by users, click model, data and size."""
    found: dict[tuple[str, str, str, int], list[Pooled]] = {}
    for cell, one in runs.items():
        if cell.way != DR:
            key = (cell.users, cell.way, cell.world, cell.interactions)
            found.setdefault(key, []).append(one)
    return found


def _pooled(
    groups: Mapping[tuple[str, str, str, int], list[Pooled]],
) -> dict[tuple[str, str, int], dict[str, list[Pooled]]]:
    """The same users and sizes on all data sets together."""
    found: dict[tuple[str, str, int], dict[str, list[Pooled]]] = {}
    for (users, way, world, size), each in sorted(groups.items()):
        found.setdefault((users, way, size), {})[world] = each
    return found


def _user_row(
    users: str, way: str, world: str, size: int, each: Sequence[Pooled], dr: float | None
) -> list[str]:
    gains = np.array([one.gain for one in each])
    return [
        users,
        "fitted (auto)" if way == LOG else "the paper's",
        world,
        f"{size:,}",
        str(len(each)),
        f"{gains.mean():+.1%}",
        f"{gains.min():+.1%}",
        str(int((gains < MUCH).sum())),
        f"{np.mean([one.points for one in each]) / dr:.0%}" if dr else "",
        f"{np.mean([one.stayed for one in each]):.0%}",
    ]


def _dr_gains(runs: Runs) -> dict[tuple[str, int], float]:
    """Mean NDCG@5 gained by plain DR with users as assumed, by data set and size."""
    found: dict[tuple[str, int], list[float]] = {}
    for cell, one in runs.items():
        if cell.way == DR:
            found.setdefault((cell.world, cell.interactions), []).append(one.points)
    return {key: float(np.mean(points)) for key, points in found.items()}
