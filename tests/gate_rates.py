"""How often the gate deploys a worse ranker, and how often a better one: simulated logs.

    python -m tests.gate_rates --logs 500

writes docs/gate-rates.csv, a row for each log and candidate. Interrupt it at any time: the same
command resumes. Seeds are the numbers of the logs. ``--table`` prints the table of docs/gate.md.
"""

import argparse
import csv
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.evaluation.bounds import student_quantile
from cltr.evaluation.estimators import LINEAR, linear_terms
from cltr.evaluation.part import Weights
from cltr.experiment.candidates import CandidateRanker
from cltr.experiment.judge_candidates import decide, judge_candidate
from cltr.experiment.judged_log import log_config, open_judged_log
from cltr.logs.log_file import LogFile, write_sessions
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import Mixture, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.types import LOG_PARTS, ClickLog, Dataset, Floats, Lists

RATES = Path(__file__).parents[1] / "docs" / "gate-rates.csv"
N_QUERIES, N_DOCUMENTS, TOP_K = 60, 10, 5
SIZES = (2_000, 20_000, 200_000)
TRAFFIC = ("even", "skewed")
GAINS = {"better": 0.05, "equal": 0.0, "1% worse": -0.01, "5% worse": -0.05}
"""True change of DCG, as a share of production's."""
SHARES = (0.7, 0.2, 0.1)
"""Of training, validation and test interactions."""
COLUMNS = ("interactions", "traffic", "log", "candidate", "decision", "trust")
COLUMNS += ("low", "high", "estimate", "error", "t_low", "bootstrap_low", "health")
LISTS = Lists.of_offsets(np.arange(0, N_QUERIES * N_DOCUMENTS + 1, N_DOCUMENTS))
DCG = rank_weights("dcg", TOP_K)


class World:
    """Queries with known relevance, a production ranker, and candidates with known gains."""

    def __init__(self, traffic: str) -> None:
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
        """A log of users with trust bias, in three parts."""
        rng = np.random.default_rng(seed)
        queries = rng.choice(N_QUERIES, n, p=self.shares)
        keys = self.scores.reshape(N_QUERIES, -1)[queries] + rng.gumbel(size=(n, N_DOCUMENTS))
        order = np.argsort(-keys, axis=1)[:, :TOP_K]
        documents = queries[:, None] * N_DOCUMENTS + order
        clicks = TrustBias().sample(self.relevance[documents], {}, rng)
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


def judge(world: World, n: int, seed: int, click_model: str = "auto") -> Iterator[dict[str, Any]]:
    """What the gate says of every candidate by one log; all candidates were there before it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.h5"
        world.write_log(path, n, seed)
        judged = open_judged_log(log_config(path, click_model=click_model), clicks="all")
        logging = judged.experiment.logging
        for name, scores in world.candidates.items():
            served = {
                split: Mixture(
                    ScoredPolicy(logging[split].dataset, scores, PlackettLuce()),
                    logging[split],
                    np.ones(N_QUERIES),
                )
                for split in judged.splits
            }
            found = judge_candidate(judged, CandidateRanker(name, served, "sampled"))
            verdict = decide(judged, found, max_loss=0.0)
            weights = [Weights.of(fold, served, DCG) for fold in judged.folds]
            terms = linear_terms(weights, LINEAR["DR"]).difference
            yield {
                "candidate": name,
                "decision": verdict.decision,
                "trust": verdict.trust,
                "low": found.gain.low,
                "high": found.gain.high,
                "estimate": found.gain.value,
                "error": found.gain.error,
                "t_low": float(terms.mean())
                - student_quantile(0.95, n - 1) * float(terms.std(ddof=1)) / np.sqrt(n),
                "bootstrap_low": bootstrap_low(terms, seed) if n <= 20_000 else None,
                "health": max((check.outcome for check in judged.checks), key=_severity),
            }


def _severity(outcome: str) -> int:
    return ("pass", "inconclusive", "fail").index(outcome)


def bootstrap_low(terms: Floats, seed: int, *, draws: int = 200) -> float:
    """5 % quantile of means of resampled terms."""
    rng = np.random.default_rng(seed)
    return float(np.quantile([rng.choice(terms, len(terms)).mean() for _ in range(draws)], 0.05))


def read(path: Path) -> list[dict[str, str]]:
    """Rows so far."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(path: Path, logs: int, sizes: list[int], click_model: str) -> None:
    """Judge all logs that are not there yet."""
    done = {(int(row["interactions"]), row["traffic"], int(row["log"])) for row in read(path)}
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n")
    worlds = {traffic: World(traffic) for traffic in TRAFFIC}
    for seed in range(logs):
        for n in sizes:
            for traffic, world in worlds.items():
                if (n, traffic, seed) in done:
                    continue
                rows = [
                    {"interactions": n, "traffic": traffic, "log": seed, **row}
                    for row in judge(world, n, seed, click_model)
                ]
                with path.open("a", newline="") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerows(rows)


def table(path: Path) -> Iterator[str]:
    """Rates of deploy by level 2 and of reject, beside a t-test and a bootstrap."""
    groups = defaultdict(list)
    for row in read(path):
        groups[int(row["interactions"]), row["traffic"], row["candidate"]].append(row)
    titles = ("interactions", "traffic", "candidate", "logs", "lower bound ≥ 0")
    titles += ("deploy (level 2)", "reject", "t-test deploys", "bootstrap deploys")
    yield f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}\n"
    for (n, traffic, candidate), rows in sorted(groups.items()):
        bound = sum(row["low"] != "" and float(row["low"]) >= 0 for row in rows)
        deployed = sum(row["decision"] == "deploy" and row["trust"] == "2" for row in rows)
        rejected = sum(row["decision"] == "reject" for row in rows)
        by_t = sum(float(row["t_low"]) >= 0 for row in rows)
        drawn = [float(row["bootstrap_low"]) >= 0 for row in rows if row["bootstrap_low"]]
        yield f"| {n:,} | {traffic} | {candidate} | {len(rows)} | {bound} | {deployed} | {rejected}"
        yield f" | {by_t} | {sum(drawn) if drawn else 'not drawn'} |\n"


def main() -> None:
    """Run, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--size", type=int, action="append", choices=SIZES)
    parser.add_argument("--out", type=Path, default=RATES)
    parser.add_argument("--click-model", default="auto", help="auto fits one to each log")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        sys.stdout.write("".join(table(given.out)))
        return
    run(given.out, given.logs, given.size or [*SIZES], given.click_model)


if __name__ == "__main__":
    main()
