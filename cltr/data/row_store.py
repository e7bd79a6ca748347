"""Rows of a table on disk, written as they come and taken back in any order.

Rows go to unnamed files in the folder of the target, which vanish with the process. They are mapped
when they are read, some at a time, so that memory does not grow with their number.
"""

import mmap
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cltr.types import Floats, Integers


class TableRows(NamedTuple):
    """Documents, one row each."""

    features: NDArray[np.float32]
    """``[docs, features]``; NaN where one is missing."""
    labels: Floats
    """``[docs]``; NaN where there is none."""
    ids: NDArray[np.str_]
    """``[docs]``, all of one width."""

    def cut(self, begin: int, end: int | None = None) -> "TableRows":
        """Rows ``begin`` to ``end - 1``."""
        which = slice(begin, end)
        return TableRows(self.features[which], self.labels[which], self.ids[which])


def joined(parts: list[TableRows]) -> TableRows:
    """Rows of several blocks, one after the other."""
    return TableRows(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.ids for part in parts]),
    )


class RowStore:
    """Rows on disk."""

    def __init__(self, folder: Path) -> None:
        self._streams: list[Any] = [
            tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed with the store
            for _ in TableRows._fields
        ]
        self._shapes: list[tuple[np.dtype[Any], tuple[int, ...]]] = []
        self._mapped: list[Any] = []
        self._n = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._mapped.clear()
        for stream in self._streams:
            # On a full disk what is still in hand cannot be written; it is not wanted any more.
            with suppress(OSError):
                stream.close()

    def add(self, rows: TableRows) -> None:
        """Append rows."""
        self._shapes = [(values.dtype, values.shape[1:]) for values in rows]
        self._n += len(rows.labels)
        for stream, values in zip(self._streams, rows, strict=True):
            stream.write(np.ascontiguousarray(values).view(np.uint8).data)

    def take(self, which: Integers) -> TableRows:
        """Rows by their number, in any order; none can be added after."""
        if not self._mapped:
            for stream, (dtype, shape) in zip(self._streams, self._shapes, strict=True):
                stream.flush()
                self._mapped.append(np.memmap(stream, dtype, "r", shape=(self._n, *shape)))
        taken = TableRows(*(np.array(mapped[which]) for mapped in self._mapped))
        for mapped in self._mapped:
            # What was read stays in the system's cache, but is no longer this process's memory.
            mapped._mmap.madvise(mmap.MADV_DONTNEED)
        return taken
