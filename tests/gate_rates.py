"""How often the gate deploys a worse ranker, and how often a better one: simulated logs.

    python -m tests.gate_rates --logs 500
    python -m tests.gate_rates --logs 100 --users dbn --users cascade --size 20000

add rows to docs/gate-rates.csv, one for each log. Interrupt it at any time: the same command
resumes. Seeds are the numbers of the logs. ``--table`` writes all tables of docs/gate-rates.md
anew, also that of ``examples/ramp.py``.
"""

import argparse
import csv
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cltr.evaluation.bounds import ClusterTotals, student_quantile
from cltr.evaluation.gain_bounds import estimated_gain
from cltr.experiment.candidates import CandidateRanker
from cltr.experiment.components import build
from cltr.experiment.judge_candidates import decide, gather_evidence, weigh
from cltr.experiment.judged_log import JudgedLog, log_config, open_judged_log
from cltr.health.outcome import worst
from cltr.logs.log_file import LogFile, write_sessions
from cltr.options import Choice
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import Mixture, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.types import LOG_PARTS, ClickLog, Dataset, Floats, Integers, Lists
from tests.example_files import load
from tests.page_tables import write_table

DOCS = Path(__file__).parents[1] / "docs"
RATES, RAMPS, PAGE = DOCS / "gate-rates.csv", DOCS / "ramps.csv", DOCS / "gate-rates.md"
N_QUERIES, N_DOCUMENTS, TOP_K = 60, 10, 5
SIZES = (2_000, 20_000, 200_000)
TRAFFIC = ("even", "skewed")
GAINS = {"better": 0.05, "equal": 0.0, "1% worse": -0.01, "5% worse": -0.05}
"""True change of DCG, as a share of production's."""
SHARES = (0.7, 0.2, 0.1)
"""Of training, validation and test interactions."""
OUTCOMES = {
    "L": "lower bound ≥ 0",
    "D": "deploy (level 2)",
    "R": "reject",
    "t": "t-test deploys",
    "b": "bootstrap deploys",
}
"""What can happen to a candidate; a row of the file has the letters of what did."""
COLUMNS = ("users", "click_model", "interactions", "traffic", "log", "health", *GAINS)
DRAWS, LARGEST_DRAWN = 200, 20_000
"""Of the bootstrap, and the largest log that it is drawn for."""
LISTS = Lists.of_offsets(np.arange(0, N_QUERIES * N_DOCUMENTS + 1, N_DOCUMENTS))
DCG = rank_weights("dcg", TOP_K)


class World:
    """Queries with known relevance, a production ranker, and candidates with known gains."""

    def __init__(self, users: str, traffic: str) -> None:
        self.users = build("click-model", Choice(name=users))
        rng = np.random.default_rng(12345)
        n = N_QUERIES * N_DOCUMENTS
        self.relevance = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], n, p=[0.5, 0.2, 0.15, 0.1, 0.05])
        self.scores = self.relevance + rng.normal(size=n)
        self.noise = 0.5 * rng.normal(size=n)
        ranks = np.arange(1, N_QUERIES + 1)
        shares = 1.0 / ranks if traffic == "skewed" else np.ones(N_QUERIES)
        self.shares = shares / shares.sum()
        self.production = self.value(self.scores)
        self.candidates = {name: self.candidate(gain) for name, gain in GAINS.items()}

    def value(self, scores: Floats) -> float:
        """True DCG of a Plackett-Luce policy."""
        weights = PlackettLuce().expected_weights(scores, LISTS, DCG)
        return float(self.shares @ LISTS.sum(weights * self.relevance))

    def candidate(self, gain: float) -> Floats:
        """Scores of a policy whose value differs from production's by this share."""
        low, high = -5.0, 5.0
        for _ in range(60):
            middle = (low + high) / 2
            value = self.value(self.scores + self.noise + middle * self.relevance)
            low, high = (middle, high) if value < (1 + gain) * self.production else (low, middle)
        return self.scores + self.noise + (low + high) / 2 * self.relevance

    def write_log(self, path: Path, n: int, seed: int) -> None:
        """A log in three parts."""
        rng = np.random.default_rng(seed)
        queries = rng.choice(N_QUERIES, n, p=self.shares)
        keys = self.scores.reshape(N_QUERIES, -1)[queries] + rng.gumbel(size=(n, N_DOCUMENTS))
        order = np.argsort(-keys, axis=1)[:, :TOP_K]
        documents = queries[:, None] * N_DOCUMENTS + order
        context = self.users.draw_context(n, rng)
        clicks = self.users.sample(self.relevance[documents], context, rng)
        parts = rng.choice(3, n, p=SHARES)
        dataset = self.dataset()
        log = LogFile({}, self.scores, {"format": "simulated here"}, "", dataset)
        sessions = {}
        for place, split in enumerate(LOG_PARTS):
            rows = parts == place
            chunk = ClickLog(queries[rows], documents[rows], clicks[rows])
            sessions[split] = (int(rows.sum()), [chunk])
        write_sessions(path, log, sessions, dict.fromkeys(LOG_PARTS, dataset.offsets))

    def dataset(self) -> Dataset:
        """Its lists, without features."""
        n = N_QUERIES * N_DOCUMENTS
        return Dataset(
            np.zeros((n, 0), np.float32),
            np.full(n, np.nan),
            np.arange(0, n + 1, N_DOCUMENTS),
            np.arange(N_QUERIES).astype(str),
            np.arange(n).astype(str),
            dict.fromkeys(LOG_PARTS, (0, N_QUERIES)),
        )


def judge(world: World, n: int, seed: int, click_model: str = "auto") -> dict[str, str]:
    """What the gate says of every candidate by one log; all candidates were there before it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.h5"
        world.write_log(path, n, seed)
        judged = open_judged_log(log_config(path, click_model=click_model), clicks="all")
    draws = [*resamples(judged.n_interactions, seed)] if n <= LARGEST_DRAWN else []
    found = {"health": worst(judged.checks)}
    for name, scores in world.candidates.items():
        found[name] = outcomes(judged, CandidateRanker(name, serve(judged, scores), ""), draws)
    return found


def serve(judged: JudgedLog, scores: Floats) -> dict[str, Mixture]:
    """A Plackett-Luce policy on the lists of a log."""
    logging = judged.experiment.logging
    return {
        split: Mixture(
            ScoredPolicy(logging[split].dataset, scores, PlackettLuce()),
            logging[split],
            np.ones(N_QUERIES),
        )
        for split in judged.splits
    }


def outcomes(judged: JudgedLog, candidate: CandidateRanker, draws: list[Integers]) -> str:
    """Letters of what happens to a candidate; nothing may be lost at worst, so level 0 is out."""
    weights = weigh(judged, candidate)
    evidence = gather_evidence(judged, candidate, weights)
    verdict = decide(judged, evidence, max_loss=0.0)
    totals = estimated_gain(weights)
    happened = {
        "L": evidence.gain.low is not None and evidence.gain.low >= 0,
        "D": verdict.decision == "deploy" and verdict.trust == 2,
        "R": verdict.decision == "reject",
        "t": t_low(totals) >= 0,
        "b": bootstrap_low(totals, draws) >= 0,
    }
    return "".join(letter for letter, did in happened.items() if did) or "-"


def t_low(totals: ClusterTotals) -> float:
    """One-sided 95% bound by Student's t."""
    n = len(totals.sums)
    reach = student_quantile(0.95, n - 1) * float(totals.sums.std(ddof=1)) / np.sqrt(n)
    return totals.value - reach


def bootstrap_low(totals: ClusterTotals, draws: list[Integers]) -> float:
    """The same by resampling; without a bound if nothing was drawn."""
    means = [totals.sums @ draw / draw.sum() for draw in draws]
    return float(np.quantile(means, 0.05)) if means else float("-inf")


def resamples(n: int, seed: int) -> Iterator[Integers]:
    """How often each interaction is in a bootstrap sample."""
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        yield np.bincount(rng.integers(0, n, n, dtype=np.int32), minlength=n)


def read(path: Path) -> list[dict[str, str]]:
    """Rows so far."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(path: Path, logs: int, sizes: list[int], users: str, click_model: str) -> None:
    """Judge all logs that are not there yet, the small ones first."""
    key = ("users", "click_model", "interactions", "traffic", "log")
    done = {tuple(row[name] for name in key) for row in read(path)}
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n")
    worlds = {traffic: World(users, traffic) for traffic in TRAFFIC}
    for n in sizes:
        for seed in range(logs):
            for traffic, world in worlds.items():
                case = (users, click_model, str(n), traffic, str(seed))
                if case in done:
                    continue
                row = dict(zip(key, case, strict=True)) | judge(world, n, seed, click_model)
                with path.open("a", newline="") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)


def table(path: Path, users: str, click_model: str = "auto") -> str:
    """Rates of deploy by level 2 and of reject, beside a t-test and a bootstrap."""
    groups = defaultdict(list)
    for row in read(path):
        if (row["users"], row["click_model"]) == (users, click_model):
            groups[int(row["interactions"]), row["traffic"]].append(row)
    titles = ("interactions", "traffic", "candidate", "logs", *OUTCOMES.values())
    lines = [f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}"]
    for (n, traffic), rows in sorted(groups.items()):
        for candidate in GAINS:
            counts: list[int | str] = [
                sum(letter in row[candidate] for row in rows) for letter in OUTCOMES
            ]
            if n > LARGEST_DRAWN:
                counts[-1] = "not drawn"
            cells = (f"{n:,}", traffic, candidate, len(rows), *counts)
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def write_tables(path: Path) -> None:
    """Put all tables into the page."""
    for users, click_model in cases(path):
        write_table(PAGE, f"gate-rates {users} {click_model}", table(path, users, click_model))
    write_table(PAGE, "ramps", load("ramp").table(RAMPS))


def cases(path: Path) -> list[tuple[str, str]]:
    """Users and click models of the file."""
    return [*dict.fromkeys((row["users"], row["click_model"]) for row in read(path))]


def main() -> None:
    """Run, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--size", type=int, action="append", choices=SIZES)
    parser.add_argument("--users", action="append", help="trust-bias by default")
    parser.add_argument("--click-model", default="auto", help="auto fits one to each log")
    parser.add_argument("--out", type=Path, default=RATES)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        write_tables(given.out)
        return
    for users in given.users or ["trust-bias"]:
        run(given.out, given.logs, given.size or [*SIZES], users, given.click_model)


if __name__ == "__main__":
    main()
