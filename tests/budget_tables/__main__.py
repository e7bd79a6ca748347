"""Measure what a budget buys, and write docs/budget.csv and the tables of docs/budget.md.

    python -m tests.budget_tables --seeds 10

Interrupt it at any time; the same command resumes. ``--only WORDS`` runs the cells whose name
contains the words, ``--finished`` runs none and writes the tables of those that are finished.
"""

import argparse
import sys
import time
from itertools import product
from pathlib import Path

from tests.budget_tables.cells import Cell, run_cell
from tests.budget_tables.page import PAGE, TABLE, append_rows, filled, read_rows
from tests.safety_tables.worlds import WORLDS

USERS = ("as assumed", "adversarial")


def main() -> None:
    """Run what is missing, then fill the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--finished", action="store_true", help="write the tables, run nothing")
    parser.add_argument("--data", type=Path, default=Path("/tmp/cltr-budget-data"))
    chosen = parser.parse_args()
    done = read_rows(TABLE)
    worlds = [name for name, world in WORLDS.items() if world.available]
    for seed, world, users in product(range(1, chosen.seeds + 1), worlds, USERS):
        cell = Cell(world, users, seed)
        if chosen.finished or cell in done or chosen.only not in cell.name:
            continue
        began = time.perf_counter()
        done[cell] = [*run_cell(cell, chosen.data)]
        append_rows(TABLE, cell, done[cell])
        sys.stderr.write(f"{cell.name}: {time.perf_counter() - began:.0f} s\n")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), done), encoding="utf-8")


if __name__ == "__main__":
    main()
