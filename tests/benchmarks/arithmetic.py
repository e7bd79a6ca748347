"""Is a policy as good by the fast products as by torch's? Runs that differ in nothing else.

    python tests/benchmarks/arithmetic.py --seeds 20 --data demo --out arithmetic.csv

PRPO over DR with the defaults on simulated clicks. A file that is there is gone on with. Prints the
mean difference of NDCG@5 on test queries with its standard error, and the largest difference.
"""

import argparse
import csv
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from cltr.api.choices import configure
from cltr.experiment import train_run
from cltr.experiment.library_setup import set_up_libraries
from cltr.training import scorers

set_up_libraries()
FIELDS = ("data", "interactions", "seed", "torch", "fast")


def quality(given: dict[str, object], *, fast: bool) -> float:
    """NDCG@5 on the test queries of what was learned."""
    used = scorers.fast_products
    scorers.fast_products = lambda: fast
    try:
        with tempfile.TemporaryDirectory() as folder:
            result = train_run.train(configure(given, {}, None), out=Path(folder) / "run")
    finally:
        scorers.fast_products = used
    return result["metrics"]["policy"]["ndcg@5"]


def main() -> None:
    """Run what is missing, then print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--data", default="demo")
    parser.add_argument("--interactions", type=float, default=1e5)
    parser.add_argument("--out", type=Path, default=Path("arithmetic.csv"))
    arguments = parser.parse_args()
    rows = list(csv.DictReader(arguments.out.open())) if arguments.out.exists() else []
    name = Path(arguments.data).stem
    done = {(row["data"], float(row["interactions"]), int(row["seed"])) for row in rows}
    for seed in range(1, arguments.seeds + 1):
        if (name, arguments.interactions, seed) in done:
            continue
        given = {
            "data": arguments.data,
            "interactions": arguments.interactions,
            "seed": seed,
            "skyline": False,
        }
        found = [quality(given, fast=fast) for fast in (False, True)]
        rows.append(dict(zip(FIELDS, (name, arguments.interactions, seed, *found), strict=True)))
        with arguments.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)
    for data in sorted({row["data"] for row in rows}):
        some = [row for row in rows if row["data"] == data]
        apart = np.array([float(row["fast"]) - float(row["torch"]) for row in some])
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        sys.stdout.write(
            f"{data}, {len(apart)} seeds: {apart.mean():+.5f} ± {error:.5f} NDCG, "
            f"at most {np.abs(apart).max():.5f}; with torch's products "
            f"{np.mean([float(row['torch']) for row in some]):.4f}\n"
        )


if __name__ == "__main__":
    main()
