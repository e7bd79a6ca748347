"""Logs with known truth: one way of production, users and logging each, as rows of a table."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cltr.checks.log_check import LogVerdicts, check_log
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.problems import parse_actions
from cltr.logs.readers import LongReader

Rows = dict[str, np.ndarray]


@dataclass(frozen=True)
class World:
    """Queries, production and position-based users; ``rows`` draws a log of them."""

    n: int = 8000
    queries: int = 30
    documents: int = 10
    top_k: int = 5
    noise: float = 0.7
    """Of production's scores, drawn for each request; 0 sorts by fixed scores."""
    changes: int = 0
    """Times that production gets other scores, for all queries."""
    traffic: float = 0.0
    """Share of one query; the rest is equal. With a tail, share of the tail's queries."""
    tail: bool = False
    examination: float = 1.0
    """Power of rank with which examination falls."""
    relevance: tuple[float, float] = (0.05, 0.6)
    late: float = 1.0
    """Factor of clicks in the last 30% of the log."""
    seed: int = 0

    def rows(self) -> Rows:
        """One row for each document shown, in order of time."""
        rng = np.random.default_rng(self.seed)
        query = self._asked(rng)
        many = int(query.max()) + 1
        relevance = rng.uniform(*self.relevance, (many, self.documents))
        scores = rng.normal(size=(self.changes + 1, many, self.documents))
        era = np.arange(self.n) * (self.changes + 1) // self.n
        drawn = scores[era, query] + self.noise * rng.gumbel(size=(self.n, self.documents))
        shown = np.argsort(-drawn, axis=1)[:, : self.top_k]
        chance = relevance[query[:, None], shown] / np.arange(1, self.top_k + 1) ** self.examination
        chance[int(0.7 * self.n) :] *= self.late
        clicks = rng.random(chance.shape) < chance
        each = np.repeat(np.arange(self.n), self.top_k)
        return {
            "session": each,
            "query": query[each],
            "position": np.tile(np.arange(1, self.top_k + 1), self.n),
            "doc": shown.ravel(),
            "click": clicks.ravel().astype(np.int64),
            "time": 1.7e9 + 60.0 * each,
        }

    def _asked(self, rng: np.random.Generator) -> np.ndarray:
        if self.tail:  # queries that come once, and a few that come often
            rare = rng.random(self.n) < self.traffic
            return np.where(
                rare, self.queries + np.arange(self.n), rng.integers(self.queries, size=self.n)
            )
        largest = rng.random(self.n) < self.traffic
        return np.where(largest, 0, rng.integers(self.queries, size=self.n))


def choose(rows: Rows, which: np.ndarray) -> Rows:
    """Some of the rows."""
    return {name: column[which] for name, column in rows.items()}


def join(*tables: Rows) -> Rows:
    """Rows of several tables."""
    return {name: np.concatenate([rows[name] for rows in tables]) for name in tables[0]}


def ingested(rows: Rows, folder: Path, *, times: bool = True, on: tuple[str, ...] = ()) -> Path:
    """The rows as a log file."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(rows), folder / "log.parquet")
    reader = LongReader(**({"time_column": "time"} if times else {}))
    options = IngestOptions(actions=parse_actions(on))
    ingest_log(LogSource([folder / "log.parquet"], reader), folder / "log.h5", options=options)
    return folder / "log.h5"


def checked(rows: Rows, folder: Path, model=None, **how) -> LogVerdicts:
    """What ``cltr check`` says of the rows."""
    return check_log(ingested(rows, folder, **how), model)


def answers(check: LogVerdicts) -> tuple[str, ...]:
    """Verdicts on position bias, evaluation and training."""
    return tuple(verdict.answer for verdict in check.verdicts.values())
