"""Tables that are in memory: data frames of pandas, polars or pyarrow, and columns by name."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cltr.errors import DataError, UsageError
from cltr.files.storage import write_beside
from cltr.files.table_files import workspace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def register_frame(connection: "Connection", name: str, frame: Any) -> None:
    """Give a table in memory a name in a database connection; nothing is copied where possible.

    Args:
        connection: of duckdb.
        name: of the table.
        frame: a data frame, lists or arrays by column name, or a list of rows.

    Example:
        >>> import duckdb
        >>> connection = duckdb.connect()
        >>> register_frame(connection, "shown", {"document": ["a", "b"], "click": [0, 1]})
        >>> connection.execute("SELECT * FROM shown").fetchall()
        [('a', 0), ('b', 1)]
    """
    import duckdb

    table = arrow_table(frame) if isinstance(frame, Mapping | list) else frame
    try:
        connection.register(name, table)
    except (duckdb.Error, TypeError) as error:
        if type(frame).__module__.startswith("pandas"):  # a reversed one, for example
            connection.register(name, arrow_table(frame))
            return
        raise UsageError(
            f"a '{type(frame).__name__}' is no table; give a data frame of pandas, polars or "
            "pyarrow, or lists by column name"
        ) from error


def arrow_table(frame: Any) -> Any:
    """A data frame as an Arrow table, without an index.

    Args:
        frame: pandas, polars, pyarrow, anything else with Arrow's C stream, a dictionary of
            columns, or a list of rows.
    """
    import pyarrow

    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        elif isinstance(frame, list):
            table = pyarrow.Table.from_pylist(frame)
        else:
            table = pyarrow.table(dict(frame) if isinstance(frame, Mapping) else frame)
    except (pyarrow.ArrowException, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(
            f"a '{type(frame).__name__}' cannot be read as a table: {reason}; expected a data "
            "frame of pandas, polars or pyarrow, or a dictionary of columns"
        ) from error
    names = table.column_names
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"data frame: column '{twice[0]}' appears twice")
    return table


def write_frame(frame: Any, path: Path) -> None:
    """Write a table in memory as a Parquet file, whole or not at all."""
    import duckdb

    with workspace() as connection:
        register_frame(connection, "frame", frame)
        with write_beside(path) as partial:
            try:
                connection.table("frame").write_parquet(str(partial))
            except duckdb.Error as error:
                reason = (str(error).splitlines() or [""])[0]
                raise DataError(f"the data frame cannot be read: {reason}") from error
