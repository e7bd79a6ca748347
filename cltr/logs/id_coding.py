"""A table of impressions, coded as numbers by duckdb; and what is wrong with its values.

Queries, documents and sessions become 64-bit hashes, so that everything after is done with numbers:
``coded`` has a row for each row of the log, ``names`` the text behind each query and document.
Where rows are read once, ``coded`` is only a view: they flow from the file to the counts.
Nothing rests on luck: two pairs that share a hash are noticed, and all is coded anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cltr.errors import DataError, UsageError
from cltr.files.table_files import OnShare, quoted, run, silent
from cltr.logs.problems import DROP, Problems
from cltr.logs.splitting import FILE_PART, PART, Split
from cltr.logs.sql_expressions import (
    UNKNOWN,
    are_dates,
    click_state,
    rank_code,
    seconds,
    whole_number,
)
from cltr.logs.time_windows import Window, place_in_time

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from cltr.logs.counting import Places, RowCounts

MOST_RANKS = 1000
REQUIRED = ("query", "document", "position", "click")
_MOST_SALTS = 8


class Elsewhere(Protocol):
    """A log that was counted by another engine."""

    def count(self, places: "Places") -> "RowCounts":
        """Its counts, on some documents."""

    def summarise(self, by_query: bool) -> dict[str, Any]:
        """What is worth knowing of its interactions beyond their counts."""


@dataclass
class Tally:
    """The rows of one log as numbers, in tables of a connection."""

    connection: "Connection"
    problems: Problems
    columns: Mapping[str, str]
    """Names and types of what the reader gave, in the table or view ``raw``."""
    split: Split
    window: Window = field(default_factory=Window)
    top_k: int = 0
    """Ranks that are kept; as many as were found if 0."""
    numbered: bool = False
    """Whether ``raw`` is a table whose rows are those of a file, so that errors can name them."""
    keeps_context: bool = False
    """Whether context columns are coded too, for interactions."""
    progress: OnShare = silent
    salt: int = 0
    hash_bits: int = 64
    checked: bool = False
    """Whether problems with values were reported."""
    cause: Callable[[], str] = lambda: ""
    """Says why rows contradict each other, as far as that can be seen."""
    times_are_dates: bool = False
    """Whether times are numbers such as 20240131."""
    cuts: Mapping[str, float] = field(default_factory=dict)
    """First times of validation and test, where the split is by time."""
    notes: tuple[str, ...] = ()
    """What to say of the split."""
    elsewhere: "Elsewhere | None" = None
    """What knows the counts of a log whose rows are not here."""
    table: str = "coded"
    """Where rows are counted: as they came, sorted, or cleaned."""

    @property
    def has_sessions(self) -> bool:
        return "session" in self.columns

    @property
    def may_test(self) -> bool:
        """Whether rows may be for testing, by their share, their file or a column."""
        asked = self.split.tested > 0 or bool(self.split.test_from)
        return asked or FILE_PART in self.columns or self.split.by == "part"

    @property
    def context(self) -> dict[str, str]:
        """Columns that are kept with interactions: their names, and what they are in tables."""
        known = [*REQUIRED, "session", "score", "propensity", "logger", FILE_PART]
        known += [PART] if self.split.by == "part" else []
        names = [name for name in self.columns if name not in known]
        return {name: quoted(name if name in _OWN else f"context:{name}") for name in names}

    @property
    def coded_columns(self) -> list[str]:
        """Columns of ``coded`` beside those that it always has."""
        known = [name for name in ("propensity", "score", "logger") if name in self.columns]
        kept = self.context if self.keeps_context else {}
        times = ['"time"'] if "time" in self.columns and "time" not in kept else []
        return [*known, *times, *kept.values()]

    @property
    def usable(self) -> str:
        """SQL that is true for coded rows that are counted."""
        session = " AND key <> 0" if self.has_sessions else ""
        dropped = self.problems.action("unknown-clicks") == DROP
        known = f" AND state <> {UNKNOWN}" if dropped else ""
        return f"pair <> 0 AND rank BETWEEN 1 AND {self.top_k}{session}{known}"

    @property
    def keeps_rows(self) -> bool:
        """Whether coded rows are kept, because they are read more than once."""
        return self.keeps_context or bool(self.coded_columns)

    @property
    def time(self) -> str:
        """SQL of the time of a row of ``raw`` as a number that grows."""
        return seconds('"time"', self.columns["time"], dates=self.times_are_dates)

    def code(self) -> None:
        """Define ``coded`` and ``names``; counting then checks the values."""
        self.table = "coded"
        self._define_rows()
        self.run(
            "listing",
            f"CREATE OR REPLACE TABLE names AS SELECT *, {self.hash_of('query', 'document')} "
            "AS pair FROM (SELECT DISTINCT query, document FROM rows "
            "WHERE query IS NOT NULL AND document IS NOT NULL)",
        )
        if self.row("SELECT count(*) > count(DISTINCT pair) FROM names")[0]:
            self.code_anew()
            return
        self._define_coded()
        deepest = self.row("SELECT max(rank) FROM coded")[0]
        self.choose_ranks(deepest, named=bool(self.row("SELECT count(*) FROM names")[0]))
        place_in_time(self)
        if self.split.by in ("user", PART) and self.has_sessions:
            self._keep_interactions_whole()

    def _define_coded(self) -> None:
        listed = "".join(f", {name}" for name in self.coded_columns)
        self.run(
            "reading",
            f"CREATE OR REPLACE {'TABLE' if self.keeps_rows else 'TEMP VIEW'} coded AS "
            f"SELECT pair, key, {rank_code('rank')}::SMALLINT AS rank, state::UTINYINT AS state, "
            f"part::UTINYINT AS part{listed} FROM rows",
        )

    def _keep_interactions_whole(self) -> None:
        """One part for each interaction, the last of those of its rows: what was for testing stays.

        Rows of one interaction may name several users or parts.
        """
        self.connection.execute(
            "CREATE OR REPLACE TABLE torn AS SELECT key, max(part) AS last_part FROM coded "
            f"WHERE {self.usable} GROUP BY key HAVING min(part) < max(part)"
        )
        if not self.row("SELECT count(*) FROM torn")[0]:
            return
        self.run(
            "splitting",
            "CREATE OR REPLACE TABLE whole_coded AS SELECT coded.* REPLACE (coalesce(last_part, "
            "part) AS part) FROM coded LEFT JOIN torn USING (key)",
        )
        self.connection.execute(f"DROP {'TABLE' if self.keeps_rows else 'VIEW'} coded")
        self.connection.execute("ALTER TABLE whole_coded RENAME TO coded")

    def code_anew(self) -> None:
        """With other hashes, since two things share one."""
        self.salt += 1
        if self.salt > _MOST_SALTS:
            raise DataError(f"{self.problems.where}: too many queries and documents to tell apart")
        self.code()

    def hash_of(self, *names: str) -> str:
        """SQL of a hash of some columns."""
        salt = f", {self.salt}" if self.salt else ""
        shift = f" >> {64 - self.hash_bits}" if self.hash_bits < 64 else ""
        # 0 stands for what is missing, and is also the hash of two zeros: one bit is always set.
        return f"((hash({', '.join(names)}{salt}){shift}) | {2**63}::UBIGINT)"

    def _define_rows(self) -> None:
        """A view of what the reader gave, every column of a type that is known."""
        missing = [name for name in REQUIRED if name not in self.columns]
        if missing:
            raise DataError(
                f"{self.problems.where}: the query of the log reader has no column "
                f"{', '.join(missing)}"
            )
        chosen = {
            "query": "query",
            "document": "document",
            "pair": _or_zero("query", "document", self.hash_of("query", "document")),
            "key": "1::UBIGINT",
            "rank": whole_number("position", self.columns["position"]),
            "state": click_state("click", self.columns["click"]),
            "part": self.split.column(self.columns),
        }
        if self.has_sessions:
            chosen["session"] = "session"
            chosen["key"] = _or_zero("query", "session", self.hash_of("query", "session"))
        for name in ("score", "propensity"):
            if name in self.columns:
                chosen[name] = f"try_cast({name} AS DOUBLE)"
        if "logger" in self.columns:
            chosen["logger"] = "logger"
        if self.numbered:
            chosen["line"] = "rowid + 1"
        if "time" in self.columns:
            self.times_are_dates = bool(self.row(are_dates('"time"', self.columns["time"]))[0])
        for name, column in self.context.items():
            chosen[column] = self.time if name == "time" else quoted(name)
        listed = ", ".join(f"{sql} AS {name}" for name, sql in chosen.items())
        given = self.split.drawn(self.columns, more=", rowid" if self.numbered else "")
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW rows AS SELECT {listed} FROM {given}")

    def choose_ranks(self, deepest: int | None, *, named: bool) -> None:
        """As many as there are, or as one asked for.

        Args:
            deepest: the last rank; None if there are no rows.
            named: whether some row has a query and a document.
        """
        if deepest is None:
            raise DataError(f"{self.problems.where}: the log is empty")
        if not named:
            raise DataError(f"{self.problems.where}: no row has a query and a document")
        if not self.top_k and deepest > MOST_RANKS:
            raise DataError(
                f"{self.problems.where}: positions go up to {deepest:,}; at most {MOST_RANKS} "
                "ranks can be kept; say how many with --top-k"
            )
        check_top_k(self.top_k)
        self.top_k = max(min(self.top_k or deepest, deepest), 1)

    def run(self, stage: str, sql: str) -> None:
        """Execute a statement that takes its time."""
        run(self.connection, sql, stage, self.progress)

    def count_all(self) -> int:
        """Rows in all, counted or not; 0 if nobody wants to see progress."""
        if self.progress is silent:
            return 0
        return int(self.row(f"SELECT count(*) FROM {self.table}")[0])

    def row(self, sql: str) -> tuple[Any, ...]:
        """The first row of a query's result."""
        found = self.connection.execute(sql).fetchall()
        return found[0] if found else ()


def check_top_k(top_k: int) -> None:
    """Refuse more ranks than can be kept."""
    if top_k > MOST_RANKS:
        raise UsageError(f"--top-k {top_k}: at most {MOST_RANKS} ranks can be kept")


def _or_zero(first: str, second: str, hashed: str) -> str:
    return f"CASE WHEN {first} IS NULL OR {second} IS NULL THEN 0::UBIGINT ELSE {hashed} END"


_OWN = ("user", "time")
