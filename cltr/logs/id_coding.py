"""A table of impressions, coded as numbers by duckdb; and what is wrong with its values.

Queries, documents and sessions become 64-bit hashes, so that everything after is done with numbers:
``coded`` has a row for each row of the log, ``names`` the text behind each query and document.
Where rows are read once, ``coded`` is only a view: they flow from the file to the counts.
Nothing rests on luck: two pairs that share a hash are noticed, and all is coded anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cltr.errors import DataError, UsageError
from cltr.files.table_files import OnShare, quoted, run, silent
from cltr.logs.problems import DROP, Problems
from cltr.logs.splitting import FILE_PART, Split
from cltr.logs.sql_expressions import CLICK, CLICKS, UNKNOWN, click_state, seconds, whole_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

MOST_RANKS = 64
REQUIRED = ("query", "document", "position", "click")
NOWHERE, BEFORE, ZERO = 0, -1, -2
"""Ranks of rows without a position, with one that makes no sense, and with one too low by 1."""
CLICKED = f"state IN ({CLICK}, {CLICKS})"
_MOST_SALTS = 8


class Values(NamedTuple):
    """What single rows tell: how many there are of each kind, and the ranks that they have."""

    total: int
    nameless: int
    """Without query or document."""
    orphans: int
    """Clicks without a position."""
    nowhere: int
    """Other rows without a position."""
    lost: int
    """Without a session."""
    before: int
    """With a position that makes no sense."""
    zero: int
    """Of these, too low by 1."""
    unclear: int
    """Whose click is neither yes nor no."""
    repeated: int
    """With several clicks."""
    beyond: int
    """Below the ranks that are kept."""
    low: int
    """The first rank; more than ``high`` if there is none."""
    high: int


@dataclass
class Tally:
    """The rows of one log as numbers, in tables of a connection."""

    connection: "Connection"
    problems: Problems
    columns: Mapping[str, str]
    """Names and types of what the reader gave, in the table or view ``raw``."""
    split: Split
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
    table: str = "coded"
    """Where rows are counted: as they came, sorted, or cleaned."""

    @property
    def has_sessions(self) -> bool:
        return "session" in self.columns

    @property
    def may_test(self) -> bool:
        """Whether rows may be for testing, by their share or by their file."""
        return self.split.tested > 0 or FILE_PART in self.columns

    @property
    def context(self) -> dict[str, str]:
        """Columns that are kept with interactions: their names, and what they are in tables."""
        known = (*REQUIRED, "session", "score", "propensity", FILE_PART)
        names = [name for name in self.columns if name not in known]
        return {name: quoted(name if name in _OWN else f"context:{name}") for name in names}

    @property
    def coded_columns(self) -> list[str]:
        """Columns of ``coded`` beside those that it always has."""
        known = [name for name in ("propensity", "score") if name in self.columns]
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
        self._choose_ranks()
        if self.split.by == "time":
            self._split_by_time()

    def _define_coded(self) -> None:
        listed = "".join(f", {name}" for name in self.coded_columns)
        self.run(
            "reading",
            f"CREATE OR REPLACE {'TABLE' if self.keeps_rows else 'TEMP VIEW'} coded AS "
            f"SELECT pair, key, CASE WHEN rank IS NULL THEN {NOWHERE} WHEN rank = 0 THEN {ZERO} "
            f"WHEN rank < 1 THEN {BEFORE} WHEN rank > 32767 THEN 32767 ELSE rank END::SMALLINT "
            f"AS rank, state::UTINYINT AS state, part::UTINYINT AS part{listed} FROM rows",
        )

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
            raise DataError(f"{self.problems.where}: the reader gives no {', '.join(missing)}")
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
        if self.numbered:
            chosen["line"] = "rowid + 1"
        for name, column in self.context.items():
            given = quoted(name)
            chosen[column] = seconds(given, self.columns[name]) if name == "time" else given
        listed = ", ".join(f"{sql} AS {name}" for name, sql in chosen.items())
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW rows AS SELECT {listed} FROM raw")

    def _choose_ranks(self) -> None:
        """As many as there are, or as one asked for."""
        deepest = self.row("SELECT max(rank) FROM coded")[0]
        if deepest is None:
            raise DataError(f"{self.problems.where}: the log is empty")
        if not self.row("SELECT count(*) FROM names")[0]:
            raise DataError(f"{self.problems.where}: no row has a query and a document")
        if not self.top_k and deepest > MOST_RANKS:
            raise DataError(
                f"{self.problems.where}: positions go up to {deepest:,}; at most {MOST_RANKS} "
                "ranks can be kept; say how many with --top-k"
            )
        if self.top_k > MOST_RANKS:
            raise UsageError(f"--top-k {self.top_k}: at most {MOST_RANKS} ranks can be kept")
        self.top_k = max(min(self.top_k or deepest, deepest), 1)

    def check(self, values: Values) -> None:
        """Report values that are missing or make no sense, once."""
        if self.checked:
            return
        self.checked = True
        found = self.problems.found
        missing = values.nameless + values.nowhere + values.lost
        found("missing-values", missing, example=lambda: self._example(_MISSING))
        hint = "if the first position is 0, say --positions-from 0" if values.zero else ""
        found("bad-positions", values.before, example=lambda: self._example("rank < 1"), hint=hint)
        orphans = values.orphans
        found("clicks-without-impression", orphans, example=lambda: self._example(_ORPHAN))
        if values.low > values.high:
            raise DataError(f"{self.problems.where}: no row has a position")
        hint = "if the first position is 1, say --positions-from 1" if values.low == 2 else ""
        found("no-first-position", values.low - 1, hint=hint)
        unclear, many = f"state = {UNKNOWN}", f"state = {CLICKS}"
        found("unknown-clicks", values.unclear, example=lambda: self._example(unclear))
        found("repeated-clicks", values.repeated, example=lambda: self._example(many))
        found("beyond-top-k", values.beyond)
        self._check_propensities()

    def _check_propensities(self) -> None:
        if "propensity" in self.columns:
            wrong = self.row(f"SELECT count(*) FROM coded WHERE {self.usable} AND {_BAD_CHANCE}")[0]
            example = f"query IS NOT NULL AND document IS NOT NULL AND rank >= 1 AND {_BAD_CHANCE}"
            self.problems.found("bad-propensities", wrong, example=lambda: self._example(example))

    def _split_by_time(self) -> None:
        """The last interactions are for testing, those before them for validation.

        An interaction is as old as its first row.
        """
        if not self.row('SELECT count("time") FROM coded')[0]:
            raise DataError(
                f"{self.problems.where}: no time can be read; expected dates or numbers"
            )
        whose = "key" if self.has_sessions else "rowid"
        began = (
            f'SELECT {whose} AS whose, min("time") AS began FROM coded WHERE part <> 2 GROUP BY 1'
        )
        self.connection.execute(f"CREATE OR REPLACE TABLE times AS {began}")
        self.connection.execute(f"CREATE OR REPLACE TABLE cuts AS {self.split.cuts()}")
        part = (
            "CASE WHEN part = 2 OR began > (SELECT late FROM cuts) THEN 2 "
            "WHEN began > (SELECT early FROM cuts) THEN 1 ELSE 0 END::UTINYINT"
        )
        self.run(
            "splitting",
            f"CREATE OR REPLACE TABLE coded AS SELECT coded.* REPLACE ({part} AS part) "
            f"FROM coded LEFT JOIN times ON times.whose = coded.{whose}",
        )

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


def _or_zero(first: str, second: str, hashed: str) -> str:
    return f"CASE WHEN {first} IS NULL OR {second} IS NULL THEN 0::UBIGINT ELSE {hashed} END"


_OWN = ("user", "time")
_MISSING = f"query IS NULL OR document IS NULL OR (rank IS NULL AND NOT {CLICKED})"
_ORPHAN = f"query IS NOT NULL AND document IS NOT NULL AND rank IS NULL AND {CLICKED}"
_BAD_CHANCE = "(propensity > 0 AND propensity <= 1) IS NOT true"
