"""From the first share to all requests: ramps of a new ranker, and what users lose on the way.

    python examples/ramp.py --ramps 200 --steps 12 --out docs/ramps.csv

A log of production is simulated and the gate says which share of the requests the worst case
allows. Then the new ranker is shown to that share, a few thousand requests at a time. After each
step the outcomes so far say stop, ship or continue, and with which share. Users are as the click
model says, of another kind than it says, or adversarial. New rankers are better, worse, or learned
from the log with ``--on-doubt ignore``, so by a user who disregards every warning. The true loss
of NDCG at a step is the share times that of the new ranker.
"""

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cltr
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.data.loading import load_dataset
from cltr.evaluation.bounds import Limits
from cltr.evaluation.canary import CanaryLog, judge_canary
from cltr.evaluation.metrics import measure
from cltr.evaluation.verdict import canary_share
from cltr.interfaces import ClickModel
from cltr.logs.log_file import open_log
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import ScoredPolicy
from cltr.types import Dataset, Floats

BUDGET = 0.02
"""Points of NDCG, as a share, that may be lost at worst."""
TOLERANCE = 0.01
"""Outcome per shown document that may be lost."""
TOP_K = 5
ASSUMED = "trust-bias"
"""The click model that the gate and training assume."""
USERS: dict[str, tuple[str, ClickModel]] = {
    "as modelled": ("trust-bias", TrustBias()),
    "wrongly modelled": ("pbm", PositionBased()),
    "adversarial": ("adversarial", Adversarial(TrustBias())),
}
"""Name of the users who made the log, and how they click."""
ORDERS = TrustBias()
"""How users order, whatever they click: by relevance. This is what ``--outcome-column`` names."""
KINDS = ("better", "worse", "learned")
"""New rankers."""
COLUMNS = (
    "users",
    "new ranker",
    "outcome",
    "health checks",
    "certified share",
    "true loss, points",
    "largest share",
    "largest true loss, points",
    "ramps",
    "at 100%",
    "stopped",
    "median requests to 100%",
)


@dataclass(frozen=True)
class Case:
    """A new ranker, its users, and what the gate says of it."""

    dataset: Dataset
    production: Floats
    new: Floats
    users: ClickModel
    certified: float
    """Share that the worst case allows."""
    healthy: bool
    """Whether all health checks of the log and of the new ranker's gain pass."""
    worst_loss: float
    true_loss: float
    """Production's NDCG less the new ranker's, by the labels."""


def prepare(name: str, folder: Path, *, kind: str, interactions: int = 20_000) -> Case:
    """Simulate production's log, make a new ranker, and ask the gate.

    Args:
        name: of the users.
        folder: for the log.
        kind: of the new ranker.
        interactions: of the log.
    """
    users, click = USERS[name]
    path = folder / f"{users}.h5"
    if not path.exists():
        cltr.simulate(users=users, interactions=interactions, sessions=True, out=path)
    whole = load_dataset("demo")
    scores = open_log(path, whole).scores
    assert scores is not None
    new = new_scores(kind, path, whole, scores)
    table = {
        "query": [str(query) for query in np.repeat(whole.query_ids, whole.lists.lengths)],
        "document": [str(document) for document in whole.document_ids],
        "score": new,
    }
    verdict = cltr.gate(table, log=path, serve="sampled", click_model=ASSUMED, max_loss=BUDGET)
    loss = float(verdict.result["worst_case_loss"])
    rows, part = whole.documents_of("test"), whole.part("test")
    values = [
        measure(ScoredPolicy(part, each[rows], PlackettLuce()), top_k=TOP_K)[f"ndcg@{TOP_K}"] or 0.0
        for each in (scores, new)
    ]
    healthy = all(check["outcome"] == "pass" for check in verdict.result["checks"])
    share = canary_share(loss, budget=BUDGET)
    return Case(part, scores[rows], new[rows], click, share, healthy, loss, values[0] - values[1])


def new_scores(kind: str, log: Path, dataset: Dataset, production: Floats) -> Floats:
    """Scores of a new ranker on all documents.

    Args:
        kind: ``learned`` from the log by plain DR in spite of all doubts; the others add noise and
            true relevance, or take it away.
        log: to learn from.
        dataset: whose documents.
        production: its scores.
    """
    if kind == "learned":
        run = cltr.train(
            log=log,
            estimator="plain",
            click_model=ASSUMED,
            on_doubt="ignore",
            skyline=False,
            out=log.with_suffix(".run"),
            progress=False,
            report=False,
        )
        lengths = dataset.lists.lengths.tolist()
        return np.asarray(
            run.predict(dataset.features, production=production, lengths=lengths), np.float64
        )
    noise = np.random.default_rng(7).normal(size=dataset.n_documents)
    sign = 1.0 if kind == "better" else -1.0
    return np.asarray(production + 0.2 * noise + sign * dataset.relevance)


def ramp(
    case: Case, seed: int, *, step: int, steps: int, trusted: bool, outcome: str = "clicks"
) -> Iterator[float]:
    """Shares in force, step by step, until all requests or none get the new ranker.

    Args:
        case: the new ranker and its users.
        seed: of requests and outcomes.
        step: requests between two looks.
        steps: looks at most.
        trusted: whether outcomes may raise the share beyond the certified one.
        outcome: ``clicks`` or ``orders``.
    """
    rng = np.random.default_rng(seed)
    share = case.certified
    arms, shares, outcomes = (np.zeros(0) for _ in range(3))
    for _ in range(steps):
        yield share
        if share in (0.0, 1.0):
            return
        new = rng.random(step) < share
        arms = np.append(arms, new)
        shares = np.append(shares, np.full(step, share))
        outcomes = np.append(outcomes, _outcomes(case, new, outcome, rng))
        share = judge_canary(
            CanaryLog(arms > 0, shares, outcomes),
            limits=Limits(0.0, 1.0),
            tolerance=TOLERANCE,
            share=case.certified,
            trusted=trusted,
        ).share


def _outcomes(case: Case, new: np.ndarray, outcome: str, rng: np.random.Generator) -> Floats:
    """Clicks or orders per shown document of each request."""
    lists = case.dataset.lists
    width = int(lists.lengths.max())
    padded = np.full((2, len(lists.lengths), width), -np.inf)
    relevance = np.zeros((len(lists.lengths), width))
    relevance[lists.owners, lists.places] = case.dataset.relevance
    for arm, scores in enumerate((case.production, case.new)):
        padded[arm, lists.owners, lists.places] = scores
    queries = rng.integers(0, len(lists.lengths), len(new))
    keys = padded[new.astype(int), queries] + rng.gumbel(size=(len(new), width))
    shown = np.argsort(-keys, axis=1)[:, :TOP_K]
    real = np.take_along_axis(keys, shown, 1) > -np.inf
    seen = np.where(real, np.take_along_axis(relevance[queries], shown, 1), np.nan)
    users = case.users if outcome == "clicks" else ORDERS
    happened = users.sample(seen, users.draw_context(len(new), rng), rng) & real
    return np.asarray(happened.sum(1) / TOP_K)


def study(ramps: int, *, step: int, steps: int) -> Iterator[dict[str, str]]:
    """A row for each kind of users, each new ranker and each outcome."""
    with tempfile.TemporaryDirectory() as folder:
        for name in USERS:
            for kind in KINDS:
                case = prepare(name, Path(folder), kind=kind)
                for outcome in ("clicks", "orders") if name == "adversarial" else ("clicks",):
                    trusted = case.healthy or outcome == "orders"
                    paths = [
                        [
                            *ramp(
                                case, seed, step=step, steps=steps, trusted=trusted, outcome=outcome
                            )
                        ]
                        for seed in range(ramps)
                    ]
                    first = (name, kind, outcome, "pass" if case.healthy else "do not all pass")
                    cells = (*first, *_cells(case, paths, step))
                    yield dict(zip(COLUMNS, cells, strict=True))


def _cells(case: Case, paths: list[list[float]], step: int) -> tuple[str, ...]:
    """What became of all ramps of a case."""
    largest = max(max(path) for path in paths)
    full = [step * (len(path) - 1) for path in paths if path[-1] == 1.0]
    median = "never"
    if 2 * len(full) > len(paths):
        median = f"{np.median([*full, *[np.inf] * (len(paths) - len(full))]):.0f}"
    return (
        f"{case.certified:.4f}",
        f"{100 * case.true_loss:.2f}",
        f"{largest:.4f}",
        f"{100 * max(largest * case.true_loss, 0.0):.2f}",
        str(len(paths)),
        str(len(full)),
        str(sum(path[-1] == 0.0 for path in paths)),
        median,
    )


def table(path: Path) -> str:
    """The rows of a file as Markdown."""
    with path.open(newline="") as file:
        rows = [*csv.DictReader(file)]
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    for row in rows:
        for name in ("certified share", "largest share"):
            row[name] = f"{float(row[name]):.2%}"
        if row[COLUMNS[-1]] != "never":
            row[COLUMNS[-1]] = f"{int(row[COLUMNS[-1]]):,}"
        lines.append(f"| {' | '.join(row[name] for name in COLUMNS)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the study and write its rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ramps", type=int, default=20)
    parser.add_argument("--step", type=int, default=5_000)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--out", type=Path, help="a CSV file; the screen by default")
    given = parser.parse_args()
    with given.out.open("w", newline="") if given.out else sys.stdout as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in study(given.ramps, step=given.step, steps=given.steps):
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()
