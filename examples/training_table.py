"""What each ranker learns with PRPO over DR: NDCG@5 against production, on any judged data.

    python examples/training_table.py demo mq2008.h5 mslr.h5 --seeds 5 --out results.csv

prints a Markdown table: for every ranker the mean over seeds, the share of the gap to the skyline
that it closed, and a 95% interval of the difference to production, paired by seed. ``--out`` keeps
a row for each ranker and seed; the same command resumes, or adds seeds.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cltr.data.loading import load_dataset
from cltr.experiment.config import resolve
from cltr.experiment.experiment import Experiment
from cltr.plugins import registry

STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5% quantiles of Student's t with 1 to 9 degrees of freedom."""
WHO = ("production", "policy", "skyline")
Found = dict[str, dict[str, list[float]]]


def measure(data: str, found: Found, *, seeds: int, n: int, epochs: int) -> Iterator[int]:
    """Append NDCG@5 on test queries of production, policy and skyline, for every ranker and seed.

    Args:
        data: name or file of a judged data set.
        found: by ranker, one value per seed; the seeds that it has are not run again.
        seeds: how many seeds it shall have.
        n: training interactions.
        epochs: of training, at most.

    Yields:
        Each seed that was added.
    """
    dataset = load_dataset(data)
    started = min(len(values["policy"]) for values in found.values())
    for seed in range(started + 1, seeds + 1):
        values = {
            "data": data,
            "interactions": n,
            "seed": seed,
            "training": {"epochs": epochs},
        }
        for ranker, judged in _judge(dataset, values, list(found)):
            for who, numbers in found[ranker].items():
                numbers[seed - 1 :] = [judged["metrics"][who]["ndcg@5"]]
        yield seed


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
        f"| {data} | {ranker} | {n} | {found['production'].mean():.4f} "
        f"| {found['policy'].mean():.4f} | {found['skyline'].mean():.4f} | {closed} "
        f"| {gained.mean():+.4f} [{gained.mean() - half:+.4f}, {gained.mean() + half:+.4f}] |"
    )


def table(found: dict[str, Found]) -> str:
    """All lines, by data set and ranker."""
    heads = "| data | ranker | seeds | production | policy | trained on labels | gap closed "
    lines = [heads + "| gained, 95% interval |", "|---|---|---|---|---|---|---|---|"]
    lines += [
        row(data, ranker, values)
        for data, rankers in found.items()
        for ranker, values in rankers.items()
    ]
    return "\n".join(lines)


def save(found: dict[str, Found], path: Path) -> None:
    """A row for each data set, ranker and seed."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "ranker", "seed", *WHO])
        for data, rankers in found.items():
            for ranker, values in rankers.items():
                for seed, numbers in enumerate(zip(*(values[who] for who in WHO), strict=True)):
                    cells = (f"{number:.6f}" for number in numbers)
                    writer.writerow([data, ranker, seed + 1, *cells])


def read(path: Path) -> dict[str, Found]:
    """What :func:`save` wrote."""
    found: dict[str, Found] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rankers = found.setdefault(line["data"], {})
            values = rankers.setdefault(line["ranker"], {who: [] for who in WHO})
            for who in WHO:
                values[who].append(float(line[who]))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["demo"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--ranker", action="append")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rankers = arguments.ranker or registry().names("ranker")
    options = {"seeds": arguments.seeds, "n": arguments.n, "epochs": arguments.epochs}
    found = read(arguments.out) if arguments.out and arguments.out.exists() else {}
    for data in arguments.data:
        of_data = found.setdefault(Path(data).stem, {})
        for ranker in rankers:
            of_data.setdefault(ranker, {who: [] for who in WHO})
        for _ in measure(data, of_data, **options):
            if arguments.out:
                save(found, arguments.out)
    print(table(found))  # noqa: T201


if __name__ == "__main__":
    main()
