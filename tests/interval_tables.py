"""How often 95 % intervals of position and trust bias hold the truth.

    python -m tests.interval_tables --logs 200 --resamples 100

prints a Markdown table: for each rank, the share of the logs whose interval holds the truth. Lists
have 15 documents with five grades; five ranks are shown by a Plackett-Luce policy with random
scores. Slope and intercept are the same on every scale of relevance, so their truth is that of the
users.
"""

import argparse
import time

import numpy as np

from cltr.clicks.bias import STEPS
from cltr.clicks.intervals import bias_estimator, bootstrap, copy_queries, relations
from cltr.clicks.models import AffineModel, PositionBased, TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.types import ClickStatistics, Dataset, Floats

LISTS = ((60, 2000), (100, 50))
"""Queries, and displays of each."""


def reranked(
    users: AffineModel, *, n_queries: int, displays: int, seed: int
) -> tuple[Dataset, ClickStatistics]:
    """Clicks on random lists of 15 documents with five grades."""
    rng = np.random.default_rng(seed)
    n = 15 * n_queries
    dataset = Dataset(
        features=np.zeros((n, 1), np.float32),
        labels=rng.integers(0, 5, size=n).astype(np.float64),
        offsets=15 * np.arange(n_queries + 1),
        query_ids=np.arange(n_queries),
        document_ids=np.arange(n),
    )
    scores, total = rng.normal(size=n), n_queries * displays
    return dataset, simulate_statistics(dataset, scores, users, n=total, top_k=5, rng=rng)


def coverage(
    users: AffineModel, *, n_queries: int, displays: int, logs: int, resamples: int
) -> dict[str, Floats]:
    """Share of the logs whose interval holds the truth, by quantity and rank, ``[5]`` each."""
    given = users.affine(5)
    truth = given._asdict() | relations(given)._asdict()
    held: dict[str, list[Floats]] = {}
    for seed in range(logs):
        _, statistics = reranked(users, n_queries=n_queries, displays=displays, seed=seed)
        model = type(users)()
        model.fit(statistics)
        options = model.options.model_copy(update={"iterations": STEPS})
        estimator = bias_estimator(model.affine(5), options)
        found = bootstrap(estimator, statistics, draw=copy_queries, resamples=resamples, seed=seed)
        for name, (_, low, high) in found.items():
            inside = (low - 1e-9 <= truth[name]) & (truth[name] <= high + 1e-9)
            held.setdefault(name, []).append(inside)
    return {name: np.mean(values, axis=0) for name, values in held.items()}


def print_coverage(logs: int, resamples: int) -> None:
    """The table."""
    print(f"\n95 % intervals by {resamples} resamples, {logs} logs each\n")  # noqa: T201
    print("| users | queries × displays | quantity | ranks 1 to 5 | seconds |")  # noqa: T201
    print("|---|---|---|---|---|")  # noqa: T201
    for n_queries, displays in LISTS:
        for users in (TrustBias(), PositionBased()):
            began = time.perf_counter()
            found = coverage(
                users, n_queries=n_queries, displays=displays, logs=logs, resamples=resamples
            )
            spent = time.perf_counter() - began
            for name, shares in found.items():
                text = " ".join(f"{share:.3f}" for share in shares)
                row = (
                    f"| `{users.name}` | {n_queries} × {displays} | {name} | {text} | {spent:.0f} |"
                )
                print(row, flush=True)  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=100)
    print_coverage(**vars(parser.parse_args()))
