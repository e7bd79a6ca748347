"""What each ranker learns with PRPO over DR: NDCG@5 against production, on any judged data.

    python examples/training_table.py demo mq2008.h5 mslr.h5 --seeds 5

prints a Markdown table: for every ranker the mean over seeds, the share of the gap to the skyline
that it closed, and a 95 % interval of the difference to production, paired by seed.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cltr.data.loading import load_dataset
from cltr.experiment.config import resolve
from cltr.experiment.experiment import Experiment
from cltr.plugins import registry

STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5 % quantiles of Student's t with 1 to 9 degrees of freedom."""
Found = dict[str, dict[str, list[float]]]


def measure(data: str, rankers: list[str], *, seeds: int, n: int, epochs: int) -> Found:
    """NDCG@5 on test queries of production, policy and skyline, by ranker, one value per seed."""
    found: Found = {ranker: {"production": [], "policy": [], "skyline": []} for ranker in rankers}
    dataset = load_dataset(data)
    for seed in range(1, seeds + 1):
        values = {
            "data": data,
            "interactions": n,
            "seed": seed,
            "training": {"epochs": epochs},
        }
        for ranker, judged in _judge(dataset, values, rankers):
            for who, values in found[ranker].items():
                values.append(judged["metrics"][who]["ndcg@5"])
    return found


def _judge(
    dataset: Any, values: dict[str, Any], rankers: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """One seed: production, clicks and skyline once, then a policy per ranker."""
    shared = Experiment.simulated(resolve(values), dataset=dataset)
    clicks, skyline = shared.simulate(), shared.learn_from_labels()
    for ranker in rankers:
        experiment = shared.with_config(resolve({**values, "ranker": {"name": ranker}}))
        yield ranker, experiment.run(clicks, skyline=skyline).judged


def row(data: str, ranker: str, values: dict[str, list[float]]) -> str:
    """One line of the table."""
    found = {who: np.array(numbers) for who, numbers in values.items()}
    gained = found["policy"] - found["production"]
    gap = found["skyline"].mean() - found["production"].mean()
    n = len(gained)
    quantile = STUDENT[min(n - 1, len(STUDENT)) - 1] if n > 1 else float("nan")
    half = quantile * gained.std(ddof=1) / np.sqrt(n) if n > 1 else float("nan")
    closed = f"{gained.mean() / gap:.0%}" if gap > 0 else "-"
    return (
        f"| {data} | {ranker} | {found['production'].mean():.4f} | {found['policy'].mean():.4f} "
        f"| {found['skyline'].mean():.4f} | {closed} "
        f"| {gained.mean():+.4f} [{gained.mean() - half:+.4f}, {gained.mean() + half:+.4f}] |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["demo"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--ranker", action="append")
    arguments = parser.parse_args()
    print(  # noqa: T201
        "| data | ranker | production | policy | skyline | gap closed | gained, 95 % interval |\n"
        "|---|---|---|---|---|---|---|"
    )
    rankers = arguments.ranker or registry().names("ranker")
    options = {"seeds": arguments.seeds, "n": arguments.n, "epochs": arguments.epochs}
    for data in arguments.data:
        for ranker, values in measure(data, rankers, **options).items():
            print(row(Path(data).stem, ranker, values), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
