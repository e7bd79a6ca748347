"""From the first share to all requests: ramps of a new ranker, and what users lose on the way.

    python examples/ramp.py --ramps 200

A log of production is simulated and the gate says which share of the requests the worst case
allows. Then the new ranker is shown to that share, a few thousand requests at a time. After each
step the clicks so far say stop, ship or continue, and with which share. Users are as the click
model says, of another kind than it says, or adversarial. The true loss of NDCG at a step is the
share times that of the new ranker; the budget must never be exceeded.
"""

import argparse
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
"""Clicks per shown document that may be lost."""
TOP_K = 5
USERS: dict[str, tuple[str, ClickModel]] = {
    "as modelled": ("trust-bias", TrustBias()),
    "wrongly modelled": ("pbm", PositionBased()),
    "adversarial": ("adversarial", Adversarial(TrustBias())),
}
"""Name of the users who made the log, and how they click; the gate assumes trust bias."""


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
    """Whether all health checks of the log pass."""
    worst_loss: float
    true_loss: float
    """Production's NDCG less the new ranker's, by the labels."""


def prepare(name: str, folder: Path, *, moved: float, interactions: int = 20_000) -> Case:
    """Simulate production's log, make a new ranker, and ask the gate.

    Args:
        name: of the users.
        folder: for the log.
        moved: how much of the true relevance the new ranker's scores add; negative makes it worse.
        interactions: of the log.
    """
    users, click = USERS[name]
    path = folder / f"{users}.h5"
    if not path.exists():
        cltr.simulate(users=users, interactions=interactions, sessions=True, out=path)
    whole = load_dataset("demo")
    scores = open_log(path, whole).scores
    assert scores is not None
    noise = np.random.default_rng(7).normal(size=whole.n_documents)
    new = scores + 0.2 * noise + moved * whole.relevance
    table = {
        "query": [str(query) for query in np.repeat(whole.query_ids, whole.lists.lengths)],
        "document": [str(document) for document in whole.document_ids],
        "score": new,
    }
    verdict = cltr.gate(table, log=path, serve="sampled", click_model="trust-bias", max_loss=BUDGET)
    loss = float(verdict.result["worst_case_loss"])
    rows, part = whole.documents_of("test"), whole.part("test")
    values = [
        measure(ScoredPolicy(part, each[rows], PlackettLuce()), top_k=TOP_K)[f"ndcg@{TOP_K}"] or 0.0
        for each in (scores, new)
    ]
    healthy = all(check["outcome"] == "pass" for check in verdict.result["checks"])
    share = canary_share(loss, budget=BUDGET)
    return Case(part, scores[rows], new[rows], click, share, healthy, loss, values[0] - values[1])


def ramp(case: Case, seed: int, *, step: int, steps: int, trusted: bool) -> Iterator[float]:
    """Shares in force, step by step, until all requests or none get the new ranker.

    Args:
        case: the new ranker and its users.
        seed: of requests and clicks.
        step: requests between two looks.
        steps: looks at most.
        trusted: whether clicks may raise the share beyond the certified one.
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
        outcomes = np.append(outcomes, _clicks(case, new, rng))
        share = judge_canary(
            CanaryLog(arms > 0, shares, outcomes),
            limits=Limits(0.0, 1.0),
            tolerance=TOLERANCE,
            share=case.certified,
            trusted=trusted,
        ).share


def _clicks(case: Case, new: np.ndarray, rng: np.random.Generator) -> Floats:
    """Clicks per shown document of each request."""
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
    clicks = case.users.sample(seen, case.users.draw_context(len(new), rng), rng) & real
    return np.asarray(clicks.sum(1) / TOP_K)


def study(ramps: int, *, step: int, steps: int) -> Iterator[str]:
    """A line for each kind of users and each new ranker."""
    yield "users | new ranker | health checks | certified share | true loss, points | largest share"
    yield " | largest true loss, points | ramps at 100 % | stopped | median requests to 100 %\n"
    with tempfile.TemporaryDirectory() as folder:
        for name in USERS:
            for kind, moved in (("better", 1.0), ("worse", -1.0)):
                case = prepare(name, Path(folder), moved=moved)
                yield _row(name, kind, case, ramps, step=step, steps=steps)


def _row(name: str, kind: str, case: Case, ramps: int, *, step: int, steps: int) -> str:
    paths = [
        [*ramp(case, seed, step=step, steps=steps, trusted=case.healthy)] for seed in range(ramps)
    ]
    largest = max(max(path) for path in paths)
    full = [step * (len(path) - 1) for path in paths if path[-1] == 1.0]
    stopped = sum(path[-1] == 0.0 for path in paths)
    median = "never"
    if 2 * len(full) > ramps:
        waiting = [*full, *[np.inf] * (ramps - len(full))]
        median = f"{np.median(waiting):,.0f}"
    health = "pass" if case.healthy else "do not all pass"
    return (
        f"{name} | {kind} | {health} | {case.certified:.2%} | {100 * case.true_loss:+.1f} | "
        f"{largest:.2%} | {100 * max(largest * case.true_loss, 0.0):.2f} | "
        f"{len(full)} of {ramps} | {stopped} | {median}\n"
    )


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ramps", type=int, default=20)
    parser.add_argument("--step", type=int, default=5_000)
    parser.add_argument("--steps", type=int, default=40)
    given = parser.parse_args()
    for line in study(given.ramps, step=given.step, steps=given.steps):
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
