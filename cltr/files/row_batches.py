"""Results of duckdb as numpy arrays, batch by batch: rows flow from files to compiled code."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_TYPES = {
    "uint64": "UBIGINT",
    "int16": "SMALLINT",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "text": "VARCHAR",
}


def batches(
    connection: "Connection", table: str, columns: Mapping[str, str], *, most: int = 0
) -> Iterator[dict[str, Any]]:
    """Rows of a table in its order, some at a time.

    Args:
        connection: it must not be used for anything else until the last batch came.
        table: a table, or a query in brackets; none of its values is missing.
        columns: types of the columns, in the words of numpy; values are cast to them. A column of
            ``text`` comes as bytes and lengths, see :class:`Texts`.
        most: rows of a batch; 0 leaves it to duckdb.

    Yields:
        Arrays by column, or :class:`Texts`; do not change them.
    """
    import pyarrow

    listed = ", ".join(f"{name}::{_TYPES[kind]} AS {name}" for name, kind in columns.items())
    rows = connection.sql(f"SELECT {listed} FROM {table}")
    try:
        with (
            rows.to_arrow_reader(most) if most else pyarrow.RecordBatchReader.from_stream(rows)
        ) as reader:
            for batch in reader:
                yield {name: _values(batch.column(name), kind) for name, kind in columns.items()}
    except (pyarrow.ArrowException, OSError) as error:
        raise _duckdb_error(str(error)) from error


class Texts(NamedTuple):
    """A column of text: all of it end to end in UTF-8, and the bytes of each value."""

    characters: NDArray[np.uint8]
    lengths: NDArray[np.int64]


def _texts(column: Any) -> Texts:
    if not len(column):
        return Texts(np.zeros(0, np.uint8), np.zeros(0, np.int64))
    wide = np.int64 if str(column.type) == "large_string" else np.int32
    _, offsets, characters = column.buffers()
    ends = np.frombuffer(offsets, wide)[column.offset : column.offset + len(column) + 1]
    ends = ends.astype(np.int64)
    return Texts(np.frombuffer(characters or b"", np.uint8)[ends[0] : ends[-1]], np.diff(ends))


def _values(column: Any, kind: str) -> Any:
    """The memory of a column without missing values; ``to_numpy`` would import pandas for it."""
    if kind == "text":
        return _texts(column)
    if not len(column):
        return np.zeros(0, kind)
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def _duckdb_error(text: str) -> Exception:
    """What went wrong in the stream, as if a statement had failed."""
    import duckdb

    kind = duckdb.OutOfMemoryException if "Out of Memory" in text else duckdb.Error
    return kind(text)
