"""Are policies as good by the fast products as by torch's? Runs that differ in nothing else.

    python tests/benchmarks/arithmetic.py --seeds 20 --data demo --out arithmetic.csv

PRPO over DR with the defaults on simulated clicks: production, DR's regression and the policy use
one kind of products or the other. A file that is there is gone on with. Prints the mean difference
of NDCG@5 on test queries with its standard error, for every data set.
"""

import argparse
import csv
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

FIELDS = ("data", "interactions", "seed", "torch", "fast")
Row = dict[str, str]


def quality(given: dict[str, object], *, fast: bool) -> float:
    """NDCG@5 on the test queries of what was learned."""
    from cltr.api.choices import configure
    from cltr.experiment import train_run
    from cltr.training import products, scorers

    used = products.fast_products
    products.fast_products = scorers.fast_products = lambda: fast
    try:
        with tempfile.TemporaryDirectory() as folder:
            result = train_run.train(configure(given, {}, None), out=Path(folder) / "run")
    finally:
        products.fast_products = scorers.fast_products = used
    return result["metrics"]["policy"]["ndcg@5"]


def read(path: Path) -> list[Row]:
    """Rows of a file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(path: Path, data: str, interactions: float, seeds: int) -> None:
    """Add what is missing to a file."""
    rows, name = read(path), Path(data).stem
    done = {(row["data"], float(row["interactions"]), int(row["seed"])) for row in rows}
    for seed in range(1, seeds + 1):
        if (name, interactions, seed) in done:
            continue
        given = {"data": data, "interactions": interactions, "seed": seed, "skyline": False}
        found = [quality(given, fast=fast) for fast in (False, True)]
        rows.append(dict(zip(FIELDS, (name, interactions, seed, *found), strict=True)))
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)


def table(path: Path) -> str:
    """Differences, fast less torch, for every data set."""
    rows = read(path)
    lines = [
        "| data | seeds | NDCG@5 with torch's products | difference with the fast ones | at most |",
        "|---|---|---|---|---|",
    ]
    for data in sorted({row["data"] for row in rows}):
        some = [row for row in rows if row["data"] == data]
        apart = np.array([float(row["fast"]) - float(row["torch"]) for row in some])
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        mean = np.mean([float(row["torch"]) for row in some])
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
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--data", default="demo")
    parser.add_argument("--interactions", type=float, default=1e5)
    parser.add_argument("--out", type=Path, default=Path("arithmetic.csv"))
    arguments = parser.parse_args()
    run(arguments.out, arguments.data, arguments.interactions, arguments.seeds)
    sys.stdout.write(table(arguments.out) + "\n")


if __name__ == "__main__":
    main()
