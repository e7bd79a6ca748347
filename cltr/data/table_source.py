"""Where a table of features comes from: files, files by split, or a data frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cltr.data.feature_columns import ROW, FeatureColumns, TableOptions, choose_columns
from cltr.errors import UsageError
from cltr.files.table_files import (
    OnShare,
    columns_of,
    expand,
    kind_of,
    quoted,
    run,
    select_files,
    text,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

SPLIT_OF_FILE = "split of the file"
"""Column of ``raw``: the split that a file is for, where files are given by split."""
_OF_FILES = ("file_index", "file_row_number")
"""What duckdb calls the place of a row in Parquet files."""


@dataclass(frozen=True)
class TableSource:
    """Where a table comes from: files, perhaps by split, or a frame in memory."""

    files: Mapping[str, Sequence[Path]]
    """By split; those that belong to none under ``""``."""
    frame: Any = None
    """An Arrow table, instead of files."""
    called: str = ""
    """What messages call it, if not by the name of its first file."""

    @property
    def where(self) -> str:
        """Its name, for messages."""
        if self.called:
            return self.called
        return "data frame" if self.frame is not None else str(self.paths[0])

    @property
    def paths(self) -> list[Path]:
        return [path for group in self.files.values() for path in group]


def open_table(
    connection: "Connection", source: TableSource, options: TableOptions, progress: OnShare
) -> FeatureColumns:
    """Define ``raw``: the table with a number for each row, and its split where files say it."""
    if source.frame is not None:
        connection.register("raw", source.frame)
        return choose_columns(
            columns_of(connection, "SELECT * FROM raw"), options, where=source.where
        )
    split = next((s for s in source.files if s), "")
    if split and options.split_column:
        raise UsageError("--split-column: files are given by split already; leave one out")
    selects = []
    for part, paths in source.files.items():
        told = f", {text(part)} AS {quoted(SPLIT_OF_FILE)}" if split else ""
        selects.append(f"SELECT *{told} FROM ({select_files(connection, paths)})")
    query = " UNION ALL BY NAME ".join(selects)
    files = expand(source.paths)
    types = columns_of(connection, query)
    direct = kind_of(files) == "parquet" and not split and not set(_OF_FILES) & set(types)
    if direct:
        place = f"(file_index * {2**40} + file_row_number)::BIGINT"
        inner = select_files(connection, source.paths).removeprefix("SELECT * ")
        sql = f"CREATE OR REPLACE TEMP VIEW raw AS SELECT *, {place} AS {quoted(ROW)} {inner}"
    else:  # text is parsed once
        numbered = f"SELECT *, row_number() OVER () AS {quoted(ROW)} FROM ({query})"
        sql = f"CREATE OR REPLACE TEMP TABLE raw AS {numbered}"
    run(connection, sql, "reading", progress)
    chosen = options.model_copy(update={"split_column": SPLIT_OF_FILE}) if split else options
    return choose_columns(types, chosen, where=source.where)
