"""What is learned from a log that explores, against one of a production that never changes.

    python -m tests.exploring_curve --seeds 5

writes docs/explore/curve.csv, a row for each run, and the picture beside it. Interrupt it at any
time: the same command resumes. Production of the embedded data sorts its scores; users click by
trust bias. The same number of requests is served by production, and by the policies of
``cltr explore`` at certified losses of 1 and 5 points. Each log is learned from in four ways: as
``cltr train --log`` does it; by plain DR with the click model fitted to the log and no checks; by
plain DR that is told the true click model; and without features: documents of the logged queries
are sorted by what their own clicks say. ``--page`` only writes the picture and the tables.
"""

import argparse
import csv
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.experiment.components import compose
from cltr.experiment.config import CURRENT, resolve
from cltr.experiment.experiment import Experiment
from cltr.experiment.explore_log import ExplorationPlan, explore_log
from cltr.experiment.safe_run import run_safely
from cltr.exposure.logging_policy import find_logging_policy
from cltr.exposure.production_ranker import Production
from cltr.policies import Deterministic
from cltr.policies.rank_weights import rank_weights
from cltr.types import LOG_PARTS, ClickStatistics, Dataset, Floats, Lists

CURVE = Path(__file__).parents[1] / "docs" / "explore" / "curve.csv"
PAGE = CURVE.parents[1] / "explore.md"
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
BY_DOCUMENT = "no features"
"""Sort the documents of each training query by their own clicks, told the click model."""
TOP_K = 5
PRIOR_TRIALS = 5.0
"""Examined impressions that the mean relevance is worth beside a document's own clicks."""


class Run(NamedTuple):
    """What came out of one run: NDCG@5 on test queries; without features on training queries."""

    seed: int
    interactions: int
    way: str
    max_loss: float
    production: float
    """Of production, sorted."""
    policy: float
    """Of the learned policy."""
    explored: float
    """Of the policy that served the log."""
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
        ends = lists.starts + np.minimum(lists.lengths, TOP_K)
        rows = [order[start:end] for start, end in zip(lists.starts, ends, strict=True)]
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


class Log(NamedTuple):
    """A log, and the policy that served it."""

    dataset: Dataset
    scores: Floats
    chances: Floats
    clicks: dict[str, ClickStatistics]


def serve(seed: int, n: int, max_loss: float) -> Log:
    """As many requests served by production, or by what explores at this loss."""
    base = world(seed)
    dataset, scores = replace(base.dataset, production=None), base.production.scores
    assert scores is not None
    rankings = Rankings.sorted_by(scores, dataset.lists)
    clicks = simulate(dataset, rankings, n, np.random.default_rng([seed, n]))
    if not max_loss:
        chances = Deterministic().rank_distribution(scores, dataset.lists, TOP_K)
        return Log(dataset, scores, chances, clicks)
    found = explore(dataset, scores, clicks, max_loss)
    flat = [row for ranking in found.rankings for row in ranking]
    queries = np.repeat(np.flatnonzero(found.explored), [len(s) for s in found.shares])
    rankings = Rankings(flat, np.concatenate(found.shares), queries)
    rng = np.random.default_rng([seed, n, round(1000 * max_loss)])
    return Log(dataset, scores, found.chances, simulate(dataset, rankings, n, rng))


def explore(
    dataset: Dataset, scores: Floats, clicks: dict[str, ClickStatistics], max_loss: float
) -> ExplorationPlan:
    """The policy that explores; its certificate is checked."""
    policy = find_logging_policy(dataset, clicks, scores=scores)
    assert (policy.known_by, policy.away) == ("sorted scores", 0.0)
    found = explore_log(dataset, clicks, policy, max_loss=max_loss)
    assert found.losses.max() <= max_loss + 1e-9
    return found


def run(seed: int, n: int, way: str, max_loss: float) -> Run:
    """Serve, log, learn and judge."""
    log = serve(seed, n, max_loss)
    if way == BY_DOCUMENT:
        return Run(seed, n, way, max_loss, *by_document(log), "learn")
    values = {"version": CURRENT, "seed": seed, "interactions": n, "skyline": False}
    users = {"users": {"name": "trust-bias"}, "production": {"epochs": 0}}
    config = resolve({**values, **users, **WAYS[way]})
    production = Production(log.scores, rank_distribution=log.chances, source="logged")
    experiment = Experiment(config, compose(config), log.dataset, production)
    made = run_safely(experiment, log.clicks)
    metrics = made.outcome.judged["metrics"]
    numbers = (world_value(seed), metrics["policy"]["ndcg@5"], metrics["production"]["ndcg@5"])
    return Run(seed, n, way, max_loss, *numbers, made.precautions.plan)


def by_document(log: Log) -> tuple[float, float, float]:
    """NDCG@5 on training queries: of production, of documents sorted by clicks, of the log."""
    dataset, rows = log.dataset.part("train"), log.dataset.documents_of("train")
    examination, trust = TrustBias().affine(TOP_K)
    part = log.clicks["train"]
    relevant = (part.clicks - part.impressions * trust).sum(-1)
    examined = part.impressions @ examination
    mean = max(float(relevant.sum() / examined.sum()), 0.0)
    estimate = (relevant + PRIOR_TRIALS * mean) / (examined + PRIOR_TRIALS)
    weights = rank_weights("dcg", TOP_K)
    sort = Deterministic().expected_weights
    served = log.chances[rows] @ weights
    learned = sort(estimate + 1e-9 * log.scores[rows], dataset.lists, weights)  # ties: as before
    ideal = sort(dataset.relevance, dataset.lists, weights)
    best = dataset.lists.sum(ideal * dataset.relevance)

    def ndcg(given: Floats) -> float:
        found = dataset.lists.sum(given * dataset.relevance)
        return float(np.divide(found, best, out=np.zeros(len(best)), where=best > 0).mean())

    return ndcg(sort(log.scores[rows], dataset.lists, weights)), ndcg(learned), ndcg(served)


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


def fill(path: Path, seeds: Iterable[int]) -> None:
    """Run what is missing."""
    done = {found[:4] for found in read(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    for cell in product(seeds, SIZES, (*WAYS, BY_DOCUMENT), LOSSES):
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


def curve_table(runs: list[Run]) -> str:
    """Points of NDCG gained on production: mean over seeds, and the worst seed."""
    lines = ["| way | N | from production's log | at 1 point | at 5 points |"]
    lines.append("|---|---|---|---|---|")
    for way, n in product((*WAYS, BY_DOCUMENT), SIZES):
        cells = [_gains(runs, way, n, loss) for loss in LOSSES]
        lines.append(f"| {way} | {n:,} | {' | '.join(map(_shown, cells))} |")
    return "\n".join(lines) + "\n"


def _gains(runs: list[Run], way: str, n: int, loss: float) -> list[Run]:
    return [one for one in runs if one[1:4] == (n, way, loss)]


def _shown(runs: list[Run]) -> str:
    gains = [100 * (one.policy - one.production) for one in runs]
    plans = {"stay": "stayed", "narrow": "in a narrow band"}
    held = "".join(
        f", {n} of {len(runs)} {words}"
        for plan, words in plans.items()
        if (n := sum(one.plan == plan for one in runs))
    )
    return f"{np.mean(gains):+.1f} (worst {min(gains):+.1f}{held})" if gains else "-"


def overlap_table(seed: int = 1, n: int = 100_000) -> str:
    """What a log of production supports, and one that explores."""
    log = serve(seed, n, 0.0)
    found = {loss: explore(log.dataset, log.scores, log.clicks, loss) for loss in LOSSES[1:]}
    first = found[LOSSES[1]]
    overlaps = [first.overlap(first.production.chances)]
    overlaps += [one.overlap(one.chances) for one in found.values()]
    total = int(first.log.displays.sum())
    rows = {
        "worst-case loss, mean, points": [0.0, *(100 * one.loss for one in found.values())],
        "worst-case loss, largest query, points": [
            0.0,
            *(100 * one.losses.max() for one in found.values()),
        ],
        "candidates shown at least once, %": [100 * one.candidates_shown for one in overlaps],
        "least shown candidate, % of requests": [100 * one.least_shown for one in overlaps],
        "random order that is never shown, %": [100 * one.hidden for one in overlaps],
        f"effective interactions for a random order, of {total:,}": [
            one.random_order for one in overlaps
        ],
    }
    lines = ["| | production | at 1 point | at 5 points |", "|---|---|---|---|"]
    for name, values in rows.items():
        shown = [f"{value:,.0f}" if value > 200 else f"{value:.2f}" for value in values]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def draw(runs: list[Run], path: Path) -> None:
    """Gains by number of requests, one field for each way to learn."""
    from matplotlib.figure import Figure

    ways = (*WAYS, BY_DOCUMENT)
    figure = Figure(figsize=(3.1 * len(ways) + 0.6, 3.6), layout="constrained")
    fields = figure.subplots(1, len(ways), squeeze=False, sharex=True, sharey=True)[0]
    names = {0.0: "production's log", 0.01: "exploring, 1 point", 0.05: "exploring, 5 points"}
    for axes, way in zip(fields, ways, strict=True):
        axes.axhline(0.0, color="black", linewidth=1)
        for loss, color in zip(LOSSES, ("#5c5c5c", "#0072b2", "#d55e00"), strict=True):
            found = [_gains(runs, way, n, loss) for n in SIZES]
            gains = [[100 * (one.policy - one.production) for one in some] for some in found]
            axes.plot(SIZES, [np.mean(g) for g in gains], "o-", color=color, label=names[loss])
            low, high = [min(g) for g in gains], [max(g) for g in gains]
            axes.fill_between(SIZES, low, high, color=color, alpha=0.15, linewidth=0)
        axes.set_xscale("log")
        axes.set_title(way, fontsize=10)
        axes.set_xlabel("requests of training queries")
        axes.grid(visible=True, alpha=0.25)
    fields[0].set_ylabel("points of NDCG@5 gained")
    fields[-1].legend(fontsize=8)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def filled(page: str, tables: dict[str, str]) -> str:
    """The page with its tables; each follows ``<!-- explore NAME -->``."""
    for name, table in tables.items():
        mark = re.escape(f"<!-- explore {name} -->\n")
        page = re.sub(rf"({mark})(?:\n(?=\|))?(?:\|.*\n)*", lambda m, t=table: f"{m[1]}\n{t}", page)
    return page


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--out", type=Path, default=CURVE)
    chosen = parser.parse_args()
    if not chosen.page:
        fill(chosen.out, range(1, chosen.seeds + 1))
    finished = read(chosen.out)
    draw(finished, CURVE.with_suffix(".png"))
    text = PAGE.read_text(encoding="utf-8")
    made = {"curve": curve_table(finished), "overlap": overlap_table()}
    PAGE.write_text(filled(text, made), encoding="utf-8")
