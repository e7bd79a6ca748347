r"""Gradient error of every ranker, per sample and per millisecond: prints a table in markdown.

    python tests/benchmarks/variance.py
    python tests/benchmarks/variance.py --documents 10 --queries 200
    python tests/benchmarks/variance.py --write

The last one writes docs/variance.csv and the table of docs/variance.md.

Errors are relative: the root of the mean square over queries of :math:`\|\hat g - g\|`, by that of
:math:`\|g\|`, where g is the derivative of the objective under the policy that the ranker trains.
An error that falls with the root of the samples is the same *per sample* whatever their number,
and one that falls with the root of the time is the same *at one millisecond*. Milliseconds are CPU
time on one thread, so that other work on the machine hardly shows.
"""

import argparse
import csv
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numba
import numpy as np

from cltr.documents import Batch as ScoredBatch
from cltr.interfaces import Objective, Ranker
from cltr.objectives.plain import Plain
from cltr.plugins import registry
from cltr.policies import Gaussian, PlackettLuce
from cltr.types import Exposure, Floats, Lists
from tests.page_tables import write_table

DOCS = Path(__file__).parents[2] / "docs"
PAGE, RESULTS = DOCS / "variance.md", DOCS / "variance.csv"

RANKERS: list[tuple[str, dict[str, object]]] = [
    ("exact", {}),
    ("pl-rank", {}),
    ("pl-rank", {"centre": "none"}),
    ("pl-rank-1", {}),
    ("pl-rank-2", {}),
    ("placement", {}),
    ("placement", {"baseline": "none"}),
    ("reinforce", {}),
    ("reinforce", {"baseline": "none"}),
    ("stochastic-rank", {}),
    ("stochastic-rank", {"noise": "gaussian"}),
    ("lambdarank", {}),
    ("lambdaloss", {}),
]
KINDS = ("dense", "sparse", "signed")
Row = dict[str, str]
"""A row of docs/variance.csv."""


@dataclass(frozen=True)
class Batch:
    """Queries of equal length, with scores that say something about the rewards."""

    scores: Floats
    rewards: Floats
    rank_weights: Floats

    @property
    def lists(self) -> Lists:
        return Lists.of_mask(np.ones(self.scores.shape, bool))

    def gradient(self, ranker: Ranker, *, seed: int = 0) -> Floats:
        weights = ranker.policy.expected_weights(self.scores, self.lists, self.rank_weights)
        exposure = Exposure(weights, weights, weights)
        objective = Objective(Plain(), weights, exposure, self.rewards)
        mask = np.ones(self.scores.shape, bool)
        rng = np.random.default_rng(seed)
        batch = ScoredBatch(self.scores, mask, self.rank_weights)
        return ranker.gradient(batch, objective, rng)

    def truth(self, ranker: Ranker) -> Floats | None:
        """The derivative under the ranker's policy; None if that has none."""
        if isinstance(ranker.policy, PlackettLuce):
            policy = PlackettLuce(accuracy=1e-12)
            return policy.gradient(self.scores, self.rewards, self.lists, self.rank_weights)
        if isinstance(ranker.policy, Gaussian):
            return self._differences(Gaussian(sigma=ranker.policy.sigma, accuracy=1e-11))
        return None

    def _differences(self, policy: Gaussian, *, step: float = 1e-3) -> Floats:
        """Central differences, one document of every query at a time."""

        def value(column: int, move: float) -> Floats:
            scores = self.scores.copy()
            scores[:, column] += move
            weights = policy.expected_weights(scores, self.lists, self.rank_weights)
            result: Floats = (weights * self.rewards).sum(-1)
            return result

        columns = range(self.scores.shape[1])
        slopes = [(value(c, step) - value(c, -step)) / (2 * step) for c in columns]
        return np.stack(slopes, axis=-1)


def make_batch(kind: str, *, queries: int, documents: int, top_k: int, seed: int = 0) -> Batch:
    """Dense: every document relevant to some degree. Sparse: one in twenty. Signed: as from DR."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(queries, documents))
    relevance = 1 / (1 + np.exp(1 - scores - rng.normal(size=scores.shape)))
    if kind == "sparse":
        relevance *= 3 * (rng.random(scores.shape) < 0.05)
        relevance[:, 0] = np.maximum(relevance[:, 0], 0.5)  # no list without any
    if kind == "signed":
        relevance += rng.normal(size=scores.shape)
    return Batch(scores, relevance, 1 / np.log2(np.arange(2, top_k + 2)))


def measure(ranker: Ranker, batch: Batch, *, repeats: int) -> tuple[float, float]:
    """Relative error (NaN without a derivative) and milliseconds a query, without the weights."""
    truth = batch.truth(ranker)
    error = np.nan
    if truth is not None:
        found = np.stack([batch.gradient(ranker, seed=seed) for seed in range(repeats)])
        error = float(np.sqrt(((found - truth) ** 2).mean() / (truth**2).mean()))
    weights = ranker.policy.expected_weights(batch.scores, batch.lists, batch.rank_weights)
    objective = Objective(Plain(), weights, Exposure(weights, weights, weights), batch.rewards)
    mask, rng = np.ones(batch.scores.shape, bool), np.random.default_rng(0)
    scored = ScoredBatch(batch.scores, mask, batch.rank_weights)
    ranker.gradient(scored, objective, rng)
    spent = []
    for _ in range(9):
        start = time.process_time()
        ranker.gradient(scored, objective, rng)
        spent.append(time.process_time() - start)
    return error, 1000 * min(spent) / len(batch.scores)


def row(name: str, options: dict[str, object], batches: dict[str, Batch], repeats: int) -> Row:
    """One ranker: samples, time, and for each kind of reward its error."""
    ranker = registry().find("ranker", name)(**options)
    label = " ".join([f"`{name}`", *(f"{key}={value}" for key, value in options.items())])
    measured = {kind: measure(ranker, batch, repeats=repeats) for kind, batch in batches.items()}
    found = {"ranker": label, "samples": str(getattr(ranker.options, "samples", None) or "")}
    for kind, (error, spent) in measured.items():
        found[kind] = "" if np.isnan(error) else f"{error:.6g}"
        found[f"{kind} ms"] = f"{spent:.6g}"
    return found


def rows_of(*, queries: int, documents: int, top_k: int, repeats: int) -> list[Row]:
    """All rankers."""
    sizes = {"queries": queries, "documents": documents, "top_k": top_k}
    batches = {kind: make_batch(kind, **sizes) for kind in KINDS}
    return [row(name, options, batches, repeats) for name, options in RANKERS]


def table(rows: list[Row]) -> str:
    """The whole table in markdown."""
    heads = ["ranker", "samples", "CPU ms a query"]
    for kind in KINDS:
        heads += [f"{kind}: error", "per sample", "at 1 ms"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(_cells(one)) + " |" for one in rows)])


def _cells(row: Row) -> list[str]:
    milliseconds = float(np.median([float(row[f"{kind} ms"]) for kind in KINDS]))
    cells = [row["ranker"], row["samples"] or "-", f"{milliseconds:.3f}"]
    for kind in KINDS:
        if not row[kind]:
            cells += ["-", "-", "-"]
            continue
        error, spent = float(row[kind]), float(row[f"{kind} ms"])
        if not row["samples"]:
            cells += [f"{error:.1e}", "-", "-"]
        else:
            root = float(row["samples"]) ** 0.5
            cells += [f"{error:.3f}", f"{error * root:.2f}", f"{error * spent**0.5:.3f}"]
    return cells


def read_rows() -> list[Row]:
    """What docs/variance.csv holds."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def write(rows: list[Row]) -> None:
    """Keep the rows, and put the table into the page."""
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_table(PAGE, "variance", table(read_rows()))


def main() -> None:
    """Print the table for lists of one length."""
    parser = argparse.ArgumentParser(description="gradient error of every ranker")
    parser.add_argument("--queries", type=int, default=64)
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--top-k", type=int, default=5)
    parser.add_argument(
        "--repeats", type=int, default=5, help="seeds that errors are averaged over"
    )
    parser.add_argument("--write", action="store_true", help="write docs/variance.*")
    sizes = vars(parser.parse_args())
    keep = sizes.pop("write")
    numba.set_num_threads(1)
    rows = rows_of(**sizes)
    sys.stdout.write(table(rows) + "\n")
    if keep:
        write(rows)


if __name__ == "__main__":
    main()
