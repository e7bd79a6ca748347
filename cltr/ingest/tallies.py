"""[2] A table of impressions to counts, by duckdb; and what is wrong with it.

Two passes: **cells** (query, document, rank) with impressions and clicks, and **interactions** with
the ranks they fill. They tell whether a log needs to be gone through row by row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cltr.errors import DataError, UsageError
from cltr.ingest.cleaning import GAP, clean, example
from cltr.ingest.expressions import click_value, seconds, whole_number
from cltr.ingest.problems import DROP, Problems
from cltr.ingest.sources import Progress, quoted, run, silent

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

MOST_RANKS = 64
"""Ranks that can be kept: as many as there are bits to mark them."""
REQUIRED = ("query", "document", "position", "click")
_BUCKETS = 2**32
_OWN = ("user", "time")
"""Context that is also counted by."""


@dataclass(frozen=True)
class Split:
    """How interactions are split into training and validation ones."""

    share: float = 0.2
    """Of the interactions that are for validation."""
    by: Literal["interaction", "user", "time", "files"] = "interaction"
    seed: int = 1

    def column(self, columns: Mapping[str, str]) -> str:
        """SQL that is true for rows that are for validation; the same rows for the same seed."""
        if self.by == "files":
            return "valid"
        if self.by == "user" and "user" not in columns:
            raise UsageError("--split-by user needs to know users; name them with --user-column")
        if self.by == "time" and "time" not in columns:
            raise UsageError("--split-by time needs to know times; name them with --time-column")
        if self.by == "time" or "session" not in columns:
            return "false"  # decided later
        whose = "session" if self.by == "interaction" else '"user"'
        return f"hash({whose}, {self.seed}) % {_BUCKETS} < {round(self.share * _BUCKETS)}"


@dataclass
class Tally:
    """The counts of one log, as tables of a connection: ``cells`` and ``interactions``."""

    connection: "Connection"
    problems: Problems
    columns: Mapping[str, str]
    """Names and types of what the reader gave."""
    split: Split
    top_k: int = 0
    """Ranks that are kept; as many as were found if 0."""
    numbered: bool = False
    """Whether ``raw`` is a table whose rows are those of a file, so that errors can name them."""
    progress: Progress = silent
    headless: bool = False
    """Whether some interactions show nothing at the first rank."""

    @property
    def has_sessions(self) -> bool:
        return "session" in self.columns

    @property
    def context(self) -> dict[str, str]:
        """Columns that are kept with interactions: their names, and what they are in ``rows``."""
        known = (*REQUIRED, "session", "score", "propensity", "valid")
        names = [name for name in self.columns if name not in known]
        return {name: quoted(name if name in _OWN else f"context:{name}") for name in names}

    @property
    def in_lists(self) -> str:
        """SQL that is true for cells that are counted."""
        return f"query IS NOT NULL AND document IS NOT NULL AND rank BETWEEN 1 AND {self.top_k}"

    @property
    def usable(self) -> str:
        """SQL that is true for rows that are counted."""
        return self.in_lists + (" AND session IS NOT NULL" if self.has_sessions else "")

    def count(self) -> None:
        """Fill both tables; clean the log first if it needs it."""
        self._define_rows()
        self._count_cells()
        self._check_cells()
        if self.has_sessions:
            self._count_interactions()
            if self._needs_cleaning():
                clean(self)
                self._count_cells()
                self._count_interactions()

    def _define_rows(self) -> None:
        """A view of what the reader gave, every column of a type that is known."""
        missing = [name for name in REQUIRED if name not in self.columns]
        if missing:
            raise DataError(f"{self.problems.where}: the reader gives no {', '.join(missing)}")
        chosen = {
            "query": "query",
            "document": "document",
            "rank": whole_number("position", self.columns["position"]),
            "value": click_value("click", self.columns["click"]),
            "valid": self.split.column(self.columns),
        }
        if self.has_sessions:
            chosen["session"] = "session"
        for name in ("score", "propensity"):
            if name in self.columns:
                chosen[name] = f"try_cast({name} AS DOUBLE)"
        if self.numbered:
            chosen["line"] = "rowid + 1"
        for name, column in self.context.items():
            given = quoted(name)
            chosen[column] = seconds(given, self.columns[name]) if name == "time" else given
        listed = ", ".join(f"{sql} AS {name}" for name, sql in chosen.items())
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW rows AS SELECT {listed} FROM raw")

    def _count_cells(self) -> None:
        odd = "value IS NULL OR value NOT IN (0, 1)"
        chosen = {
            "shown": "count(*)",
            "clicks": "count_if(value > 0)",
            "odd": f"count_if({odd})",
            "lost": "count_if(session IS NULL)" if self.has_sessions else "0",
        }
        if "propensity" in self.columns:
            chosen["inverse"] = "sum(1 / propensity) FILTER (propensity > 0 AND propensity <= 1)"
            chosen["known"] = "count_if(propensity > 0 AND propensity <= 1)"
        if "score" in self.columns:
            finite = "FILTER (isfinite(score))"
            chosen |= {"low": f"min(score) {finite}", "high": f"max(score) {finite}"}
        listed = ", ".join(f"{sql} AS {name}" for name, sql in chosen.items())
        self.run(
            "counting",
            f"CREATE OR REPLACE TEMP TABLE cells AS SELECT query, document, rank, valid, {listed} "
            "FROM rows GROUP BY ALL",
        )

    def _check_cells(self) -> None:
        """What single rows tell: values that are missing or make no sense."""
        (total, missing, orphans, low, high, bad, odd, lost) = self.row(
            "SELECT sum(shown), sum(shown) FILTER (query IS NULL OR document IS NULL), "
            "sum(clicks) FILTER (query IS NOT NULL AND document IS NOT NULL AND rank IS NULL), "
            "min(rank) FILTER (rank >= 1), max(rank), sum(shown) FILTER (rank < 1), sum(odd), "
            "sum(lost) FILTER (query IS NOT NULL AND document IS NOT NULL AND rank IS NOT NULL) "
            "FROM cells"
        )
        if not total:
            raise DataError(f"{self.problems.where}: the log is empty")
        nowhere = self.row(
            "SELECT sum(shown - clicks) FROM cells "
            "WHERE query IS NOT NULL AND document IS NOT NULL AND rank IS NULL"
        )[0]
        found = self.problems.found
        missing = int(missing or 0) + int(nowhere or 0) + int(lost or 0)
        found("missing-values", missing, example=lambda: self._example(_MISSING))
        zero = self.row("SELECT count(*) FROM cells WHERE rank = 0")[0]
        found(
            "bad-positions",
            bad,
            example=lambda: self._example("rank < 1"),
            hint="if the first position is 0, say --positions-from 0" if zero else "",
        )
        found("clicks-without-impression", orphans, example=lambda: self._example(_ORPHAN))
        if low is None:
            raise DataError(f"{self.problems.where}: no row has a query, a document and a position")
        if low > 1:
            hint = "if the first position is 1, say --positions-from 1" if low == 2 else ""
            found("no-first-position", low - 1, hint=hint)
        self._check_clicks(int(odd or 0))
        self._choose_ranks(int(high))
        self._check_propensities()

    def _check_clicks(self, odd: int) -> None:
        if not odd:
            return
        unknown, repeated = self.row(f"SELECT count_if({_UNKNOWN}), count_if(value > 1) FROM rows")
        found = self.problems.found
        action = found("unknown-clicks", unknown, example=lambda: self._example(_UNKNOWN))
        found("repeated-clicks", repeated, example=lambda: self._example("value > 1"))
        if unknown and action == DROP:
            self._keep_rows(f"NOT ({_UNKNOWN})")
            self._count_cells()

    def _choose_ranks(self, deepest: int) -> None:
        if not self.top_k:
            if deepest > MOST_RANKS:
                raise DataError(
                    f"{self.problems.where}: positions go up to {deepest:,}; at most {MOST_RANKS} "
                    "ranks can be kept; say how many with --top-k"
                )
            self.top_k = deepest
        beyond = self.row(f"SELECT sum(shown) FROM cells WHERE rank > {self.top_k}")[0]
        self.problems.found("beyond-top-k", beyond)
        self.top_k = min(self.top_k, deepest)

    def _check_propensities(self) -> None:
        if "propensity" in self.columns:
            wrong = self.row(f"SELECT sum(shown - known) FROM cells WHERE {_IN_LIST}")[0]
            self.problems.found(
                "bad-propensities", wrong, example=lambda: self._example(_BAD_PROPENSITY)
            )

    def _count_interactions(self) -> None:
        """One row each, found by a hash of query and session; a collision only causes cleaning."""
        hashed = "hash(document)"
        buckets = ", ".join(
            f"bit_or(1::UBIGINT << (({hashed} >> {shift}) % 64)) AS bucket{i}"
            for i, shift in enumerate((0, 8, 16))
        )
        self.run(
            "checking",
            "CREATE OR REPLACE TEMP TABLE interactions AS SELECT hash(query, session) AS key, "
            "any_value(valid) AS valid, count(*) AS shown, "
            "bit_or(1::UBIGINT << (rank - 1)) AS ranks, coalesce("
            f"bit_or(1::UBIGINT << (rank - 1)) FILTER (value > 0), 0) AS clicked, {buckets} "
            f"FROM rows WHERE {self.usable} GROUP BY key",
        )

    def _needs_cleaning(self) -> bool:
        """Count gaps; true if rows must be dropped or interactions be looked into."""
        twice, suspects, gaps, headless = self.row(
            f"SELECT count_if(bit_count(ranks) <> shown), count_if({_SUSPECT}), "
            "count_if(ranks & (ranks + 1) <> 0), count_if(ranks & 1 = 0) "
            "FROM (SELECT * REPLACE (ranks::HUGEINT AS ranks) FROM interactions)"
        )
        self.headless = headless > 0
        lost = self.row("SELECT sum(lost) FROM cells")[0]
        if lost or twice or self.split.by == "time" or (suspects and self._repeats_documents()):
            return True
        action = self.problems.found("gaps", gaps, example=lambda: example(self, GAP))
        return action == DROP and gaps > 0

    def _repeats_documents(self) -> bool:
        """Whether an interaction shows a document twice; only suspects are looked into."""
        suspects = f"SELECT key FROM interactions WHERE {_SUSPECT}"
        found = self.row(
            f"SELECT count(*) FROM (SELECT 1 FROM rows WHERE {self.usable} AND "
            f"hash(query, session) IN ({suspects}) "
            "GROUP BY hash(query, session, document) HAVING count(*) > 1)"
        )
        return bool(found[0])

    def displays(self) -> str:
        """A query for the interactions of each query: ``query, valid, displays``."""
        if not self.headless:  # each interaction shows one document at the first rank
            return (
                f"SELECT query, valid, sum(shown) AS displays FROM cells "
                f"WHERE {self.in_lists} AND rank = 1 GROUP BY ALL"
            )
        return (
            "SELECT query, valid, count(*) AS displays FROM (SELECT query, bool_or(valid) AS valid "
            f"FROM rows WHERE {self.usable} GROUP BY query, session) GROUP BY ALL"
        )

    def _keep_rows(self, condition: str) -> None:
        self.run(
            "cleaning", f"CREATE OR REPLACE TEMP TABLE kept AS SELECT * FROM rows WHERE {condition}"
        )
        self.connection.execute("CREATE OR REPLACE TEMP VIEW rows AS SELECT * FROM kept")

    def run(self, stage: str, sql: str) -> None:
        """Execute a statement that takes its time."""
        run(self.connection, sql, stage, self.progress)

    def row(self, sql: str) -> tuple[Any, ...]:
        """The first row of a query's result."""
        found = self.connection.execute(sql).fetchall()
        return found[0] if found else ()

    def _example(self, condition: str) -> str:
        """A row for which a condition holds, in words."""
        columns = f"{'line' if self.numbered else 'NULL'}, query::VARCHAR, document::VARCHAR"
        found = self.row(f"SELECT {columns} FROM rows WHERE {condition} LIMIT 1")
        if not found:
            return ""
        row, query, document = found
        place = f"row {row}: " if row else ""
        return f"{place}query {_short(query)}, document {_short(document)}"


def _short(value: str | None) -> str:
    return "missing" if value is None else repr(value[:60])


_SUSPECT = "greatest(bit_count(bucket0), bit_count(bucket1), bit_count(bucket2)) <> shown"
"""Fewer buckets than documents: two documents share one, in all three ways to fill them."""
_UNKNOWN = "value IS NULL OR value < 0 OR isnan(value::DOUBLE)"
_MISSING = "query IS NULL OR document IS NULL OR (rank IS NULL AND coalesce(value, 0) <= 0)"
_ORPHAN = "query IS NOT NULL AND document IS NOT NULL AND rank IS NULL AND value > 0"
_IN_LIST = "query IS NOT NULL AND document IS NOT NULL AND rank >= 1"
_BAD_PROPENSITY = f"{_IN_LIST} AND (propensity > 0 AND propensity <= 1) IS NOT true"
