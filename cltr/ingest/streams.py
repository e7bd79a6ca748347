"""Results of duckdb as numpy arrays, batch by batch, through the stream that Arrow defines.

duckdb offers its results as an `Arrow C stream`_: three structures in memory, read here with
ctypes, so that rows flow from files to compiled code without a table between them, and without
another library. Only columns of numbers, none of them missing.

.. _Arrow C stream: https://arrow.apache.org/docs/format/CStreamInterface.html
"""

import ctypes
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class _Array(ctypes.Structure):
    """A batch, or a column of it."""


class _Stream(ctypes.Structure):
    """Where batches come from."""


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def batches(
    connection: "Connection", table: str, columns: Mapping[str, str]
) -> Iterator[dict[str, NDArray[Any]]]:
    """Rows of a table in its order, some at a time.

    Args:
        connection: it must not be used for anything else until the last batch came.
        table: a table, or a query in brackets.
        columns: types of the columns, in the words of numpy; values are cast to them.

    Yields:
        Arrays by column, to be used up before the next batch.
    """
    listed = ", ".join(f"{name}::{_TYPES[kind]} AS {name}" for name, kind in columns.items())
    capsule = connection.sql(f"SELECT {listed} FROM {table}").__arrow_c_stream__()
    address = _pointer_of(capsule, b"arrow_array_stream")
    stream = ctypes.cast(address, ctypes.POINTER(_Stream))
    try:
        while True:
            batch = _Array()
            if stream.contents.get_next(stream, ctypes.byref(batch)):
                raise _error(stream.contents.get_last_error(stream))
            if not batch.release:
                return
            try:
                yield {
                    name: _values(batch.children[i].contents, batch, kind)
                    for i, (name, kind) in enumerate(columns.items())
                }
            finally:
                batch.release(ctypes.byref(batch))
    finally:
        stream.contents.release(stream)


_TYPES = {"uint64": "UBIGINT", "int16": "SMALLINT", "uint8": "UTINYINT"}


def _values(column: _Array, batch: _Array, kind: str) -> NDArray[Any]:
    if not batch.length:
        return np.zeros(0, kind)
    size = np.dtype(kind).itemsize
    first = column.buffers[1] + (column.offset + batch.offset) * size
    memory = (ctypes.c_char * (batch.length * size)).from_address(first)
    return np.frombuffer(memory, kind)


def _error(message: bytes | None) -> Exception:
    """What went wrong in the stream, as if a statement had failed."""
    import duckdb

    text = (message or b"cannot be read").decode(errors="replace")
    kind = duckdb.OutOfMemoryException if text.startswith("Out of Memory") else duckdb.Error
    return kind(text)
