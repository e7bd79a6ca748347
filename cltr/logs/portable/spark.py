"""Statements run by Spark, where the log lives."""

import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from cltr.errors import DataError, UsageError
from cltr.files.table_files import KINDS, quoted
from cltr.logs.portable.counted_table import RESULT
from cltr.logs.portable.dialects import translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEPT = ("coded", "judged", "counted")
"""Tables that several others are made of: Spark keeps them, in memory or on disk."""
_TYPES = {
    "string": "VARCHAR",
    "bigint": "BIGINT",
    "int": "INTEGER",
    "smallint": "SMALLINT",
    "tinyint": "TINYINT",
    "double": "DOUBLE",
    "float": "FLOAT",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "date": "DATE",
}
"""Spark's types, as duckdb names them."""
_STRICT = {"mode": "FAILFAST"}
_TEXT = _STRICT | {"header": True, "enforceSchema": False}
_FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "parquet": ("parquet", {}),
    "json": ("json", _STRICT),
    "csv": ("csv", _TEXT | {"quote": '"', "escape": '"', "multiLine": True}),
    "tsv": ("csv", _TEXT | {"sep": "\t", "quote": ""}),
}
"""How Spark reads kinds of files: as duckdb does, text stays text and no line is skipped."""
MOST_LETTERS = 300
"""Of what Spark says of an error."""
PARTITIONS = "spark.sql.shuffle.partitions"
PARTS_OF_A_CORE = 4
"""Parts of a table for each core of this machine."""
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.csv.parser.columnPruning.enabled": "false",  # else lines that do not fit pass
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


class SparkEngine:
    """A session of Spark with a log; as a connection, it answers duckdb's SQL."""

    def __init__(self, master: str = "") -> None:
        self._session, self._kept = _session(master), list[Any]()
        self._found: list[tuple[Any, ...]] = []

    def open(self, tables: Sequence[str]) -> str:
        """A query for all rows of some tables or files."""
        frames = [self._read(table) for table in tables]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionByName(frame, allowMissingColumns=True)
        whole.createOrReplaceTempView("cltr_source")
        return "SELECT * FROM cltr_source"

    def _read(self, table: str) -> "DataFrame":
        ending = next((end for end in KINDS if table.removesuffix(".gz").endswith(end)), "")
        kind = KINDS.get(ending, "parquet" if "/" in table else "")
        form, options = _FORMS.get(kind, ("", {}))
        with _plain_errors(table):
            if not kind:
                return self._session.table(table)
            reader = self._session.read.options(**options).format(form)
            if kind == "json":
                reader = reader.schema(_as_text(reader.load(table)))
            return reader.load(table)

    def columns(self, sql: str) -> dict[str, str]:
        """Names and types of a query's columns, as duckdb names them."""
        with _plain_errors():
            found = self._session.sql(translate(sql, "spark")).dtypes
        return {name: _TYPES.get(kind, kind.upper()) for name, kind in found}

    def execute(self, sql: str) -> "SparkEngine":
        """Ask something, as a connection of duckdb would; the answer is small."""
        if sql.startswith("DESCRIBE "):
            self._found = list(self.columns(sql.removeprefix("DESCRIBE ")).items())
        else:
            with _plain_errors():
                rows = self._session.sql(translate(sql, "spark")).collect()
            self._found = [tuple(row) for row in rows]
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The answer."""
        return self._found

    def define(self, name: str, sql: str) -> None:
        """A query by name, for later ones."""
        with _plain_errors():
            frame = self._session.sql(translate(sql, "spark"))
            if name in _KEPT:
                frame = frame.persist()
                self._kept.append(frame)
            frame.createOrReplaceTempView(name)

    def run(self, statements: Mapping[str, str]) -> Any:
        """Run all, and bring the last one home as a table of Arrow."""
        for name, sql in statements.items():
            if name != RESULT:
                self.define(name, sql)
        return self.fetch(statements[RESULT])

    def fetch(self, sql: str) -> Any:
        """The rows of a query, brought home as a table of Arrow."""
        with _plain_errors():
            return self._session.sql(translate(sql, "spark")).toArrow()

    def close(self) -> None:
        """Let go of what was kept; the session stays, since others may use it."""
        with suppress(Exception):  # a session that died has nothing to let go of
            for frame in self._kept:
                frame.unpersist()


def _as_text(frame: "DataFrame") -> str:
    """The columns of JSON lines, with text for all but whole numbers and flags, as duckdb reads."""
    kept = ("bigint", "boolean")
    return ", ".join(
        f"`{name.replace('`', '``')}` {kind if kind in kept or '<' in kind else 'string'}"
        for name, kind in frame.dtypes
    )


def _session(master: str) -> "SparkSession":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of Spark about pandas, which is not used
        try:
            from pyspark.sql import SparkSession
        except ModuleNotFoundError as error:
            raise UsageError("--engine spark needs Spark: pip install 'cltr[spark]'") from error
        builder = SparkSession.builder.appName("cltr ingest")
        if master:
            builder = builder.master(master)
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        session = builder.getOrCreate()
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # errors are told here
    session.sparkContext.setLogLevel("FATAL")
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    _share_out(session)
    return session


def _share_out(session: "SparkSession") -> None:
    """On one machine, cut tables into some parts for each core; a number that is set stays.

    Spark's own 200 parts are for clusters: on few cores, starting so many tasks for each of some
    twenty tables takes longer than counting.
    """
    context = session.sparkContext
    if (context.master or "").startswith("local") and not context.getConf().contains(PARTITIONS):
        session.conf.set(PARTITIONS, str(PARTS_OF_A_CORE * context.defaultParallelism))


@contextmanager
def _plain_errors(where: str = "Spark") -> Iterator[None]:
    """What Spark complains of, as one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        told = f"{error}\n{getattr(error, '_stackTrace', '') or ''}"
        raise DataError(f"{where}: {_reason(told) or type(error).__name__}") from error


def _reason(message: str) -> str:
    r"""The line of an error that says most: the first one, or what lies at the bottom of it.

    Example:
        >>> _reason("An error occurred.\n: x.E: job failed\nCaused by: y.E: line 3 does not fit")
        'line 3 does not fit'
    """
    causes = re.findall(r"^\s*(?:Caused by|Suppressed|): [\w.$]+: (.+)$", message, re.MULTILINE)
    file = re.search(r"error while reading file (\S+)[.] ", message)
    first = next((line for line in message.splitlines() if line.strip()), "")
    place = f"{file[1]}: " if file and causes else ""
    return f"{place}{causes[-1] if causes else first}"[:MOST_LETTERS]


def check_ids(columns: Mapping[str, str], where: str) -> None:
    """Refuse ids of which engines make different text."""
    for role in ("query", "document", "session", "user"):
        kind = columns.get(role, "VARCHAR")
        if kind not in ("VARCHAR", "BIGINT", "INTEGER", "SMALLINT", "TINYINT"):
            raise DataError(
                f"{where}: the {role} is of type {kind}; with --engine spark ids are text or whole "
                f"numbers; cast {quoted(role)} in a view first"
            )
