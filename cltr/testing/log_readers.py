"""Conformance of log readers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cltr.errors import DataError
from cltr.interfaces import LogReader
from cltr.testing.demands import check_component, demand

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def check_log_reader(
    reader: LogReader,
    *paths: Path,
    n_impressions: int,
    n_clicks: int,
    n_interactions: int = 0,
    row: Mapping[str, Any],
) -> None:
    """A file (or several) is read as what it is: all impressions and clicks, in known columns.

    Args:
        reader: the reader.
        paths: files of its kind.
        n_impressions: documents that were shown, all together.
        n_clicks: those of them that were clicked.
        n_interactions: lists that were shown; 0 if the log holds single impressions.
        row: one of the rows that must be read, such as ``{"query": "shoes", "document": "b",
            "position": 2, "click": True}``.
    """
    from cltr.files.table_files import workspace
    from cltr.logs.ingest import IngestOptions, LogSource, code, count

    check_component(reader)
    with workspace() as connection:
        source = LogSource(paths, reader)
        try:
            tally = code(connection, source, IngestOptions())
            counted = count(tally, source).counted
        except DataError as error:
            raise AssertionError(f"the log is refused: {error}") from error
        shown, clicked = int(counted.impressions.sum()), int(counted.clicks.sum())
        demand(shown == n_impressions, f"{shown} impressions are read, not {n_impressions}")
        demand(clicked == n_clicks, f"{clicked} clicks are read, not {n_clicks}")
        demand(tally.has_sessions == (n_interactions > 0), "sessions are lost or invented")
        if tally.has_sessions:
            found = counted.runs
            demand(found == n_interactions, f"{found} interactions, not {n_interactions}")
        demand(_reads(connection, reader, paths, row), f"no row {dict(row)} is read")
        demand(not tally.problems.counts, f"problems: {', '.join(tally.problems.counts)}")


def _reads(
    connection: "DuckDBPyConnection",
    reader: LogReader,
    paths: Sequence[Path],
    row: Mapping[str, Any],
) -> bool:
    """Whether the reader gives a row with these values; ids are compared as text."""
    fresh = connection.cursor()
    query = reader.select(fresh, paths)
    conditions, values = [], []
    for name, value in row.items():
        as_text = isinstance(value, str)
        conditions.append(f"{name}::VARCHAR = ?" if as_text else f"{name}::DOUBLE = ?")
        values.append(value if as_text else float(value))
    found = fresh.execute(
        f"SELECT count(*) FROM ({query}) WHERE {' AND '.join(conditions)}", values
    ).fetchone()
    return bool(found and found[0])
