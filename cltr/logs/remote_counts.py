"""A log counted by Spark, or the query with which another engine counts it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cltr.errors import UsageError
from cltr.files.table_columns import KNOWN, NONE
from cltr.files.table_files import quoted
from cltr.interfaces import LogReader
from cltr.logs.exported_parts import reading_part, settle_parts
from cltr.logs.id_coding import REQUIRED, check_top_k
from cltr.logs.ingest import Brought, IngestOptions, LogSource
from cltr.logs.portable.counted_table import RESULT
from cltr.logs.portable.dialects import one_query, sqlglot_module
from cltr.logs.portable.spark import SparkEngine, check_ids
from cltr.logs.portable.statements import Plan, dates_question, statements
from cltr.logs.readers import OPTIONAL, Columns, LongReader, joined
from cltr.logs.splitting import PART

SUSPECTS = 1000
"""Interactions whose rows are brought home to find out why they contradict each other."""


@contextmanager
def counted_by_spark(
    tables: Sequence[str], reader: LogReader, options: IngestOptions, *, master: str = ""
) -> Iterator[LogSource]:
    """Count a log on Spark; what comes home can be ingested as long as Spark is open.

    Args:
        tables: of Spark's catalog, or files that Spark can read.
        reader: how rows are laid out.
        options: how the log is taken in.
        master: of the cluster, such as ``spark://host:7077``; Spark's own choice if empty.
    """
    long = _long(reader, "--engine spark")
    _refuse(long, options, "--engine spark")
    sqlglot_module()
    engine = SparkEngine(master)
    try:
        source: Any = engine.open(tables)
        plan = plan_counts(engine, long, source, options, where=tables[0])
        counts = engine.run(statements(plan))
        cause = _Cause(engine, long, tables[0])
        paths = [Path(table) for table in tables]
        yield LogSource(paths, reader, brought=Brought(counts, cause))
    finally:
        engine.close()


def plan_counts(
    engine: SparkEngine, reader: LongReader, table: str, options: IngestOptions, *, where: str
) -> Plan:
    """What an engine is to count, as far as a look at the table tells."""
    connection: Any = engine
    parted: Any = reading_part(reader, lambda: engine.columns(table), options.split)
    rows = parted.select_from(connection, table, where)
    columns = engine.columns(rows)
    check_ids(columns, where)
    engine.define("raw", rows)
    split, notes = settle_parts(engine, columns, options.split, keep=options.keep_parts)
    if split.by != PART:
        columns.pop(PART, "")
    dates = "time" in columns and bool(engine.execute(dates_question(columns)).fetchall()[0][0])
    return Plan(rows, columns, split, options.window, options.actions, options.top_k, dates, notes)


@dataclass(frozen=True)
class _Cause:
    """Why rows contradict each other: found at home, in the rows of some interactions."""

    engine: SparkEngine
    reader: LongReader
    where: str

    def __call__(self) -> str:
        import duckdb

        types = self.engine.columns("SELECT * FROM cltr_source")
        columns = Columns(types, self.reader.options, where=self.where)
        wrong = "most > 1 OR copies > 1 OR times_shown > 1"
        rows = self.engine.fetch(
            "SELECT cltr_source.* FROM cltr_source JOIN (SELECT DISTINCT query AS suspect_query, "
            f"session AS suspect_session FROM judged WHERE {wrong} "
            f"ORDER BY suspect_query, suspect_session LIMIT {SUSPECTS}) AS suspects ON "
            f"{quoted(columns.find('query') or '')} = suspect_query "
            f"AND {joined(columns.sessions())} = suspect_session"
        )
        with duckdb.connect() as connection:
            connection.register("brought", rows)
            return self.reader.cause(connection, "SELECT * FROM brought", self.where)


def emitted(table: str, dialect: str, reader: LogReader, options: IngestOptions) -> str:
    """The query that counts a log elsewhere; ``--format counts`` reads what it gives.

    Args:
        table: its name there.
        dialect: ``spark``, ``bigquery``, ``snowflake`` or ``trino``.
        reader: how rows are laid out; columns that it does not name have the names of their roles.
        options: how the log is taken in.
    """
    long = _long(reader, "--emit-sql")
    _refuse(long, options, "--emit-sql")
    named = ".".join(quoted(part) for part in table.split("."))
    by_part = options.split.by == PART
    read: Any = reading_part(long, lambda: {PART: ""} if by_part else {}, options.split)
    unseen: Any = _Unseen(read)
    rows = read.select_from(unseen, f"SELECT * FROM {named}", table)
    roles = ["query", "document", "position", "click", *unseen.extras]
    plan = Plan(
        rows,
        dict.fromkeys(roles, "VARCHAR") | {"position": "BIGINT"},  # numbers made of text
        options.split,
        options.window,
        options.actions,
        options.top_k,
    )
    made = statements(plan)
    return f"-- {len(made)} steps; the last, {RESULT}, is the table to keep\n" + one_query(
        made, dialect
    )


class _Unseen:
    """A table that cannot be looked at: it has the columns that one names, and all are text."""

    def __init__(self, reader: LongReader) -> None:
        options = reader.options
        chosen = {
            role: getattr(options, f"{role}_column") or KNOWN[role][0]
            for role in ("query", "document", "position", "click")
        }
        session = options.session_column or KNOWN["session"][0]
        sessions = [session] if isinstance(session, str) else list(session)
        given = {role: getattr(options, f"{role}_column") for role in OPTIONAL}
        self.extras = [role for role, name in given.items() if name and name != NONE]
        self.extras += [] if sessions == [NONE] else ["session"]
        self.extras += options.context_columns  # the column 'part'
        blocks = [options.page_column, *options.grid_columns.split(",")]
        names = [*chosen.values(), *sessions, *given.values(), *blocks, *options.context_columns]
        self._columns = [(name, "VARCHAR") for name in names if name and name != NONE]

    def execute(self, sql: str) -> "_Unseen":
        if not sql.startswith("DESCRIBE "):
            raise UsageError(
                "--emit-sql: --page-column and --grid-columns need to read the log first; use "
                "--engine spark, or a view whose positions do not restart"
            )
        return self

    def fetchall(self) -> list[tuple[str, str]]:
        return self._columns


def _long(reader: LogReader, flag: str) -> LongReader:
    if not isinstance(reader, LongReader):
        raise UsageError(
            f"{flag}: reads logs with a row for each impression (--format long), not "
            f"'{reader.name}'; make a view with such rows first"
        )
    return reader


def _refuse(reader: LongReader, options: IngestOptions, flag: str) -> None:
    """What needs rows at home."""
    unusable = [f"--{r}-column" for r in ("propensity", "logger") if _given(reader, r)]
    unusable += ["--context-column"] if reader.options.context_columns else []
    unusable += ["--sessions"] if options.sessions else []
    if unusable:
        raise UsageError(
            f"{unusable[0]}: needs the rows of the log; with {flag} only counts are read"
        )
    check_top_k(options.top_k)
    roles = [*REQUIRED, *(role for role in OPTIONAL if _given(reader, role))]
    blind = dict.fromkeys(roles, "VARCHAR")  # options that contradict each other
    statements(Plan("", blind, options.split, options.window, options.actions, options.top_k))


def _given(reader: LongReader, role: str) -> bool:
    return getattr(reader.options, f"{role}_column") not in ("", NONE)
