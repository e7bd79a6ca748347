"""Are policies as good where arithmetic is faster? Runs that differ in nothing else, seed by seed.

    python tests/benchmarks/arithmetic.py --seeds 20 --data demo --out arithmetic.csv
    python tests/benchmarks/arithmetic.py --of regression --data large.h5 --out regression.csv

PRPO over DR with the defaults on simulated clicks, without health checks, which could keep
production in both ways. ``--of training``: production, DR's regression
and the policy by torch's own products and all slopes, or by the fast products and without small
slopes. ``--of regression``: DR's regression may make all its passes, or stops where it hardly
gains. A file that is there is gone on with. Prints the mean difference of NDCG@5 on test queries
with its standard error, for every data set.
"""

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

GIVEN = ("data", "interactions", "seed")
WAYS = {"training": ("torch", "fast"), "regression": ("all passes", "stopping")}
"""Columns of the results: the slower way and the faster one."""
Row = dict[str, str]


@contextmanager
def arithmetic(way: str) -> Iterator[None]:
    """Compute in one of these ways inside; the last of each pair is what runs do."""
    from cltr.training import products, scorers
    from cltr_dr import regression

    fast, many = products.fast_products, regression.MANY_STEPS
    if way == "torch":
        products.fast_products = scorers.fast_products = lambda: False
    if way == "all passes":
        regression.MANY_STEPS = sys.maxsize
    try:
        yield
    finally:
        products.fast_products = scorers.fast_products = fast
        regression.MANY_STEPS = many


def quality(given: dict[str, object], way: str, epochs: int | None) -> float:
    """NDCG@5 on the test queries of what was learned."""
    from cltr.api.choices import configure
    from cltr.experiment import train_run

    options = {} if epochs is None else {"training.epochs": epochs}
    with arithmetic(way), tempfile.TemporaryDirectory() as folder:
        result = train_run.train(configure(given, options, None), out=Path(folder) / "run")
    return result["metrics"]["policy"]["ndcg@5"]


def read(path: Path) -> list[Row]:
    """Rows of a file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(path: Path, of: str, given: dict[str, object], seeds: int, epochs: int | None) -> None:
    """Add what is missing to a file."""
    rows, name = read(path), Path(str(given["data"])).stem
    fields = (*GIVEN, *WAYS[of])
    done = {(row["data"], float(row["interactions"]), int(row["seed"])) for row in rows}
    for seed in range(1, seeds + 1):
        if (name, given["interactions"], seed) in done:
            continue
        here = {**given, "seed": seed, "skyline": False}
        found = [quality(here, way, epochs) for way in WAYS[of]]
        values = (name, given["interactions"], seed, *found)
        rows.append(dict(zip(fields, values, strict=True)))
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            writer.writerows(rows)


HEADS = {
    "fast": ("NDCG@5 with torch's products", "difference with the fast ones"),
    "stopping": ("NDCG@5 with all passes", "difference where the fit stops"),
}


def table(path: Path) -> str:
    """Differences, the faster way less the slower one, for every data set."""
    rows = read(path)
    slow, fast = list(rows[0])[len(GIVEN) :]
    lines = [f"| data | seeds | {' | '.join(HEADS[fast])} | at most |", "|---|---|---|---|---|"]
    for data in sorted({row["data"] for row in rows}):
        some = [row for row in rows if row["data"] == data]
        apart = np.array([float(row[fast]) - float(row[slow]) for row in some])
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        mean = np.mean([float(row[slow]) for row in some])
        lines.append(
            f"| {data} | {len(some)} | {mean:.4f} | {apart.mean():+.5f} ± {error:.5f} | "
            f"{np.abs(apart).max():.4f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, then print."""
    from cltr.experiment.library_setup import set_up_libraries

    set_up_libraries()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", choices=WAYS, default="training")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--data", default="demo")
    parser.add_argument("--interactions", type=float, default=1e5)
    parser.add_argument("--epochs", type=int, help="of the policy; the default's if left out")
    parser.add_argument("--out", type=Path, default=Path("arithmetic.csv"))
    arguments = parser.parse_args()
    given = {"data": arguments.data, "interactions": arguments.interactions, "on_doubt": "ignore"}
    run(arguments.out, arguments.of, given, arguments.seeds, arguments.epochs)
    sys.stdout.write(table(arguments.out) + "\n")


if __name__ == "__main__":
    main()
