"""Results of duckdb as numpy arrays, batch by batch: rows flow from files to compiled code."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_TYPES = {"uint64": "UBIGINT", "int16": "SMALLINT", "uint8": "UTINYINT"}


def batches(
    connection: "Connection", table: str, columns: Mapping[str, str]
) -> Iterator[dict[str, NDArray[Any]]]:
    """Rows of a table in its order, some at a time.

    Args:
        connection: it must not be used for anything else until the last batch came.
        table: a table, or a query in brackets; none of its values is missing.
        columns: types of the columns, in the words of numpy; values are cast to them.

    Yields:
        Arrays by column; do not change them.
    """
    import pyarrow

    listed = ", ".join(f"{name}::{_TYPES[kind]} AS {name}" for name, kind in columns.items())
    rows = connection.sql(f"SELECT {listed} FROM {table}")
    try:
        with pyarrow.RecordBatchReader.from_stream(rows) as reader:
            for batch in reader:
                yield {name: _values(batch.column(name), kind) for name, kind in columns.items()}
    except (pyarrow.ArrowException, OSError) as error:
        raise _duckdb_error(str(error)) from error


def _values(column: Any, kind: str) -> NDArray[Any]:
    """The memory of a column without missing values; ``to_numpy`` would import pandas for it."""
    if not len(column):
        return np.zeros(0, kind)
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def _duckdb_error(text: str) -> Exception:
    """What went wrong in the stream, as if a statement had failed."""
    import duckdb

    kind = duckdb.OutOfMemoryException if "Out of Memory" in text else duckdb.Error
    return kind(text)
