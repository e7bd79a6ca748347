"""Run the defaults on simulated users, and write docs/defaults.csv and its pages.

    python -m tests.safety_tables --seeds 20

Interrupt it at any time; the same command resumes. ``--only WORDS`` runs the cells whose name
contains the words, ``--finished`` runs none and writes the tables of those that are finished.
"""

import argparse
import sys
import time
from itertools import product
from pathlib import Path

from tests.safety_tables.cells import DR, LOG, RUN, Cell, run_cell
from tests.safety_tables.page import PAGES, TABLE, filled
from tests.safety_tables.picture import draw
from tests.safety_tables.record import append_folds, pool, read_folds
from tests.safety_tables.worlds import WORLDS

QUESTIONS = (
    (RUN, "as assumed"),
    (DR, "as assumed"),
    (RUN, "adversarial"),
    (LOG, "adversarial"),
    *((LOG, users) for users in ("pbm", "dbn", "cascade", "ubm", "steep examination")),
)
SIZES = (10_000, 100_000, 1_000_000)


def cells(seeds: int, sizes: tuple[int, ...], worlds: list[str]) -> list[Cell]:
    """All cells, one seed after the other, so that an interrupted run has whole seeds."""
    return [
        Cell(world, way, users, size, seed)
        for seed, size, world, (way, users) in product(
            range(1, seeds + 1), sizes, worlds, QUESTIONS
        )
    ]


def main() -> None:
    """Run, then write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="Seeds of each question. [20]")
    parser.add_argument("--sizes", default="1e4,1e5,1e6", help="Interactions. [1e4,1e5,1e6]")
    parser.add_argument("--worlds", default=",".join(WORLDS), help="Data sets. [all]")
    parser.add_argument("--only", default="", help="Run only cells that contain these words.")
    parser.add_argument("--work", type=Path, default=Path("runs/defaults"), help="Imported data.")
    parser.add_argument("--finished", action="store_true", help="Run nothing; write the tables.")
    options = parser.parse_args()
    sizes = tuple(int(float(size)) for size in options.sizes.split(","))
    worlds = [name for name in options.worlds.split(",") if WORLDS[name].available]
    done = read_folds(TABLE)
    for cell in cells(options.seeds, sizes, worlds):
        if options.finished or cell in done or options.only not in cell.key:
            continue
        began = time.perf_counter()
        folds = list(run_cell(cell, options.work))
        append_folds(TABLE, cell, folds)
        spent, gain = time.perf_counter() - began, pool(folds).gain
        verdicts = ",".join(sorted({fold.verdict for fold in folds}))
        sys.stderr.write(f"{cell.key}: {gain:+.1%}, {verdicts}, {spent:.0f} s\n")
    finished = read_folds(TABLE)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), finished), encoding="utf-8")
    draw({cell: pool(folds) for cell, folds in finished.items()})


if __name__ == "__main__":
    main()
