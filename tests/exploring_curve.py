"""What is learned from a log that explores, against one of a production that never changes.

    python -m tests.exploring_curve --seeds 5

writes docs/explore/curve.csv, a row for each run, and the picture beside it. Interrupt it at any
time: the same command resumes. Production of the embedded data sorts its scores; users click by
trust bias. The same number of requests is served by production, and by the policies of
``cltr explore`` at certified losses of 1 and 5 points. Each log is learned from in three ways: as
``cltr train --log`` does it, by plain DR with the click model fitted to the log and no checks, and
by plain DR that is told the true click model.
"""

import argparse
import csv
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.experiment.config import CURRENT, resolve
from cltr.experiment.experiment import Experiment
from cltr.experiment.explore_log import explore_log
from cltr.experiment.safe_run import run_safely
from cltr.exposure.logging_policy import find_logging_policy
from cltr.exposure.production_ranker import Production
from cltr.policies import Deterministic
from cltr.types import LOG_PARTS, ClickStatistics, Dataset, Floats, Lists

CURVE = Path(__file__).parents[1] / "docs" / "explore" / "curve.csv"
SIZES = (10_000, 100_000, 1_000_000)
LOSSES = (0.0, 0.01, 0.05)
"""Certified worst-case losses; 0 is production itself."""
WAYS: dict[str, dict[str, Any]] = {
    "default": {"click_model": {"name": "auto"}},
    "DR, fitted": {
        "estimator": {"name": "dr"},
        "click_model": {"name": "auto"},
        "on_doubt": "ignore",
    },
    "DR, told": {"estimator": {"name": "dr"}, "on_doubt": "ignore"},
}
TOP_K = 5


class Run(NamedTuple):
    """What came out of one run."""

    seed: int
    interactions: int
    way: str
    max_loss: float
    production: float
    """NDCG@5 of production, sorted, on test queries."""
    policy: float
    """NDCG@5 of the learned policy on test queries."""
    explored: float
    """NDCG@5 of the policy that served the log, on test queries."""
    plan: str


@dataclass(frozen=True)
class Rankings:
    """Rankings of every query with their shares, end to end."""

    rows: Any
    shares: Floats
    queries: Any

    @classmethod
    def sorted_by(cls, scores: Floats, lists: Lists) -> "Rankings":
        """One ranking a query."""
        order = np.lexsort((-scores, lists.owners))
        rows = [order[start : start + TOP_K] for start in lists.starts]
        return cls(rows, np.ones(len(rows)), np.arange(len(rows)))

    def draw(self, displays: Any, rng: np.random.Generator, n_documents: int) -> Any:
        """Impressions of each document at each rank, ``[docs, K]``."""
        shown = np.zeros((n_documents, TOP_K), np.int64)
        ends = np.flatnonzero(np.diff(self.queries, append=-1)) + 1
        for begin, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            shares = self.shares[begin:end]
            counts = rng.multinomial(displays[self.queries[begin]], shares / shares.sum())
            for row in np.flatnonzero(counts):
                ranking = self.rows[begin + row]
                shown[ranking, np.arange(len(ranking))] += counts[row]
        return shown


def simulate(
    dataset: Dataset, rankings: Rankings, n: int, rng: np.random.Generator
) -> dict[str, ClickStatistics]:
    """Clicks of users with trust bias, by part of the log; n requests of training queries."""
    displays = np.zeros(dataset.n_queries, np.int64)
    n_train = dataset.part("train").n_queries
    for first, last in (dataset.splits[part] for part in LOG_PARTS):
        share = (last - first) / n_train
        displays[first:last] = rng.multinomial(
            max(1, round(n * share)), np.full(last - first, 1 / (last - first))
        )
    shown = rankings.draw(displays, rng, dataset.n_documents)
    chances = TrustBias().probabilities(
        np.repeat(dataset.relevance[:, None], TOP_K, axis=1).astype(np.float64), {}
    )
    clicks = rng.binomial(shown, chances)
    found = {}
    for part in LOG_PARTS:
        (first, last), rows = dataset.splits[part], dataset.documents_of(part)
        found[part] = ClickStatistics(
            shown[rows], clicks[rows], displays[first:last], dataset.part(part).offsets
        )
    return found


@cache
def world(seed: int) -> Experiment:
    """The embedded data with a production ranker of this seed."""
    return Experiment.simulated(resolve({"version": CURRENT, "seed": seed, "skyline": False}))


def run(seed: int, n: int, way: str, max_loss: float) -> Run:
    """Serve, log, learn and judge."""
    base = world(seed)
    dataset, scores = replace(base.dataset, production=None), base.production.scores
    assert scores is not None
    rankings = Rankings.sorted_by(scores, dataset.lists)
    chances = Deterministic().rank_distribution(scores, dataset.lists, TOP_K)
    rng = np.random.default_rng([seed, n])
    clicks = simulate(dataset, rankings, n, rng)
    if max_loss:
        policy = find_logging_policy(dataset, clicks, scores=scores)
        assert policy.known_by == "sorted scores"
        found = explore_log(dataset, clicks, policy, max_loss=max_loss)
        assert found.losses.max() <= max_loss + 1e-9
        flat = [row for ranking in found.rankings for row in ranking]
        queries = np.repeat(np.flatnonzero(found.explored), [len(s) for s in found.shares])
        rankings = Rankings(flat, np.concatenate(found.shares), queries)
        chances = found.chances
        clicks = simulate(dataset, rankings, n, rng)
    values = {"version": CURRENT, "seed": seed, "interactions": n, "skyline": False}
    users = {"users": {"name": "trust-bias"}}
    experiment = Experiment.simulated(
        resolve({**values, **users, "production": {"epochs": 0}, **WAYS[way]}), dataset=dataset
    )
    production = Production(scores, rank_distribution=chances, source="logged")
    experiment = Experiment(experiment.config, experiment.components, dataset, production)
    made = run_safely(experiment, clicks)
    metrics = made.outcome.judged["metrics"]
    before = world_value(seed)
    served = metrics["production"]["ndcg@5"]
    return Run(
        seed, n, way, max_loss, before, metrics["policy"]["ndcg@5"], served, made.precautions.plan
    )


@cache
def world_value(seed: int) -> float:
    """NDCG@5 of production, sorted, on test queries."""
    base = world(seed)
    served = base.serve(base.production.model)  # type: ignore[arg-type]
    return float(base.metrics(served)["production_sorted"]["ndcg@5"])


def read(path: Path) -> list[Run]:
    """Finished runs."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        types = Run.__annotations__
        return [
            Run(**{key: types[key](value) for key, value in row.items()})
            for row in csv.DictReader(file)
        ]


def fill(path: Path, seeds: Iterable[int], sizes: Iterable[int]) -> None:
    """Run what is missing."""
    done = {found[:4] for found in read(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [(s, n, way, loss) for s in seeds for n in sizes for way in WAYS for loss in LOSSES]
    for cell in cells:
        if cell in done:
            continue
        found = run(*cell)
        new = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow(Run._fields)
            writer.writerow(f"{v:.6g}" if isinstance(v, float) else v for v in found)
        sys.stderr.write(f"{found}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=CURVE)
    chosen = parser.parse_args()
    fill(chosen.out, range(1, chosen.seeds + 1), SIZES)
