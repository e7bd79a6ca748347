"""Counts that another engine made, as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cltr.files.table_files import plain_errors, select_files
from cltr.interfaces import LogReader

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class CountsReader(LogReader):
    """The result of the query that ``cltr ingest --emit-sql`` prints, as Parquet."""

    name = "counts"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            return select_files(connection, paths)
