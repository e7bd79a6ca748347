"""Logs of the serving rule (``cltr.serving``): records of requests, and clicks joined by request.

A record has both rankers' scores of all candidates, how each ranks, and the share in force. They
are kept in tables of the connection; :mod:`cltr.logs.served_chances` computes exposure from them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cltr.errors import DataError
from cltr.files.table_files import columns_of, expand, plain_errors, select_files
from cltr.interfaces import LogReader
from cltr.logs.event_reader import join_events

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

FIELDS = ("cltr", "request", "query", "arm", "share", "orders", "shown", "documents", "new")
"""Fields of a record that must be there; ``production`` and ``time`` beside them."""
VERSION = "1"
RECORDS = "served_records"
"""Tables of a connection with records begin with this; one for each group of files."""
STORED = "stored"
"""How the new ranker ranks, by a record's ``orders``, where it has stored rankings."""


def record_tables(connection: "Connection") -> list[str]:
    """Tables with records; none if the log is of another kind."""
    tables = connection.execute("SHOW TABLES").fetchall()
    return [name for (name,) in tables if name.startswith(RECORDS)]


class ServedReader(LogReader):
    """Records of ``Served.record`` as JSON lines, and clicks: tables of ``request``, ``document``.

    Files are told apart by their columns. Exposure is computed from the records; arm and share of
    each interaction are kept as context.
    """

    name = "served"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            records: list[str] = []
            clicks: list[str] = []
            for path in expand(paths):
                table = select_files(connection, [path])
                types = columns_of(connection, table)
                (records if "shown" in types else clicks).append(_checked(table, types, path))
            if not records or not clicks:
                what = "records of requests" if not records else "clicks (request, document)"
                raise DataError(
                    f"{paths[0]}: no file has {what}; give the files of requests and of clicks"
                )
            whole = " UNION ALL BY NAME ".join(records)
            table = f"{RECORDS}_{len(record_tables(connection))}"
            connection.execute(f"CREATE TABLE {table} AS {whole}")
            _refuse_wrong(connection, table, paths[0])
            return join_events(_shown(table), " UNION ALL ".join(clicks))


def _checked(table: str, types: dict[str, str], path: Path) -> str:
    """A file's rows with the columns that are used, as text and lists of text."""
    if "shown" not in types:
        missing = [name for name in ("request", "document") if name not in types]
        if missing:
            raise DataError(
                f"{path}: has neither records (with 'shown') nor clicks: no column "
                f"'{missing[0]}'; it has {', '.join(types)}"
            )
        return (
            "SELECT request::VARCHAR AS session, NULL::VARCHAR AS query, document::VARCHAR "
            f"AS document FROM ({table})"
        )
    missing = [name for name in (*FIELDS, "production") if name not in types]
    if missing:
        raise DataError(f"{path}: records have no '{missing[0]}'; see docs/serving.md")
    time = "time::VARCHAR" if "time" in types else "''"
    text = ", ".join(f"{name}::VARCHAR AS {name}" for name in ("cltr", "request", "query", "arm"))
    lists = ", ".join(f"{name}::VARCHAR[] AS {name}" for name in ("orders", "shown", "documents"))
    numbers = ", ".join(f"try_cast({name} AS DOUBLE[]) AS {name}" for name in ("new", "production"))
    rankings = "to_json(rankings)::VARCHAR" if "rankings" in types else "NULL::VARCHAR"
    return (
        f"SELECT {text}, try_cast(share AS DOUBLE) AS share, {lists}, {numbers}, "
        f"{rankings} AS rankings, nullif({time}, '') AS time FROM ({table})"
    )


def _refuse_wrong(connection: "Connection", records: str, path: Path) -> None:
    for condition, what in (
        (f"cltr IS DISTINCT FROM '{VERSION}'", f"is not of version {VERSION}"),
        ("request IS NULL OR query IS NULL", "has no request or no query"),
        ("(share >= 0 AND share <= 1) IS NOT true", "has a share that is not between 0 and 1"),
        ("len(shown) = 0 OR shown IS NULL", "shows nothing"),
        (
            "len(new) IS DISTINCT FROM len(documents) OR "
            "len(production) IS DISTINCT FROM len(documents)",
            "has other numbers of scores than documents",
        ),
        (
            "len([1 FOR one IN new IF isfinite(one) IS NOT true]) > 0 OR "
            "len([1 FOR one IN production IF isfinite(one) IS NOT true]) > 0",
            "has a score that is no finite number",
        ),
        ("len(list_distinct(documents)) <> len(documents)", "has a document twice"),
        ("NOT list_has_all(documents, shown)", "shows a document that is no candidate"),
        (
            "arm NOT IN ('new', 'production', 'interleaved') OR arm IS NULL",
            "has no arm of the serving rule",
        ),
        (
            "(len(orders) = 2 AND orders[1] IN ('sampled', 'sorted', 'stored') "
            "AND orders[2] IN ('sampled', 'sorted')) IS NOT true",
            "does not say how its two rankers rank ('orders')",
        ),
    ):
        found = connection.execute(
            f"SELECT request FROM {records} WHERE {condition} LIMIT 1"
        ).fetchone()
        if found:
            raise DataError(f"{path}: the record of request '{found[0]}' {what}")
    twice = connection.execute(
        f"SELECT request FROM {records} GROUP BY request HAVING count(*) > 1 LIMIT 1"
    ).fetchone()
    if twice:
        raise DataError(f"{path}: request '{twice[0]}' has several records; expected one")


def _shown(records: str) -> str:
    """A row for each document that was shown, with production's score of it."""
    place = "list_position(documents, document)"
    rows = (
        "SELECT *, unnest(shown) AS document, unnest(range(1, len(shown) + 1)) AS position "
        f"FROM {records}"
    )
    return (
        f"SELECT request AS session, query, document, position, production[{place}] AS score, "
        f"arm, share, time FROM ({rows})"
    )
