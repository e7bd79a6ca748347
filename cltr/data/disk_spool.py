"""A pile on disk for documents of which it is not yet known how many there are.

While a data set is imported, the number of documents and features, and which queries train, are
known only at the end. So rows go to unnamed files in the folder of the target, which vanish with
the process, and are taken back from there in any order of queries, some at a time.
"""

import tempfile
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cltr.data.svmlight import Rows
from cltr.files.text import text_of_bytes
from cltr.types import Floats, Integers

BLOCK = 16 * 2**20
"""Bytes of features that are taken back at a time; a longer list makes a larger block."""


class Block(NamedTuple):
    """Whole lists, in the order that was asked for."""

    features: NDArray[np.float32]
    """``[docs, features]``"""
    labels: Floats
    """``[docs]``"""
    offsets: Integers
    """``[queries + 1]``, from 0"""


def cut_lists(lengths: Integers, n_features: int) -> Iterator[tuple[int, int]]:
    """Cut consecutive lists into parts that fit a block: the first list of each, and the end.

    Whoever reads the same lists in these parts gets the same normalisation to the last bit.
    """
    most = max(BLOCK // (4 * max(n_features, 1)), 1)
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        done = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, done + most, side="right")), first + 1)
        yield first, last
        first = last


class Spool:
    """Rows on disk; in memory only where each query begins."""

    def __init__(self, folder: Path) -> None:
        self._rows = {
            "labels": _Column(folder, np.float64),
            "counts": _Column(folder, np.int32),
            "id_lengths": _Column(folder, np.int32),
        }
        self._values = {"columns": _Column(folder, np.int32), "values": _Column(folder, np.float32)}
        self._ids = _Column(folder, np.uint8)
        self._starts = {kind: array("q") for kind in ("row", "value", "byte")}
        self._total = {"row": 0, "value": 0, "byte": 0}
        self._bounds: dict[str, Integers] = {}
        self.n_features = 0
        self.n_missing = 0
        self.highest_grade = 0.0
        self.longest_id = 0
        self.n_without_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for column in (*self._rows.values(), *self._values.values(), self._ids):
            # On a full disk what is still in hand cannot be written; it is not wanted any more.
            with suppress(OSError):
                column.stream.close()

    @property
    def n_queries(self) -> int:
        return len(self._starts["row"])

    @property
    def n_rows(self) -> int:
        return self._total["row"]

    def add(self, rows: Rows, query_rows: list[int]) -> None:
        """Append rows; new queries begin at ``query_rows``, counted from the first of them."""
        self._bounds.clear()
        at = np.asarray(query_rows, np.int64)
        for kind, sizes in (("value", rows.counts), ("byte", rows.id_lengths)):
            ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
            self._starts[kind].extend((self._total[kind] + ends[at]).tolist())
            self._total[kind] += int(ends[-1])
        self._starts["row"].extend((self._total["row"] + at).tolist())
        self._total["row"] += len(rows.labels)
        for name, column in {**self._rows, **self._values}.items():
            column.append(getattr(rows, name))
        self._ids.append(rows.id_bytes)
        self.n_features = max(self.n_features, rows.n_features)
        self.n_missing += rows.n_missing
        self.highest_grade = max(self.highest_grade, float(rows.labels.max()))
        self.longest_id = max(self.longest_id, int(rows.id_lengths.max()))
        self.n_without_id += int(np.count_nonzero(rows.id_lengths == 0))

    def lengths(self) -> Integers:
        """Documents of each query, in the order in which they came."""
        return np.diff(self._bounds_of("row"))

    def parts(self, order: Integers) -> Iterator[Integers]:
        """Cut an order of queries into parts that fit a block."""
        lengths = self.lengths()[order]
        for first, last in cut_lists(lengths, self.n_features):
            yield order[first:last]

    def take(self, queries: Integers) -> Block:
        """The lists of some queries, with all features."""
        from cltr.kernels.svmlight_rows import densify

        rows = self._runs("row", queries)
        counts = self._rows["counts"].read(rows)
        values = self._runs("value", queries)
        features = np.zeros((len(counts), self.n_features), np.float32)
        columns = self._values["columns"].read(values)
        densify(counts, columns, self._values["values"].read(values), features)
        offsets = np.concatenate([[0], np.cumsum(self.lengths()[queries])])
        return Block(features, self._rows["labels"].read(rows), offsets)

    def take_ids(self, queries: Integers) -> NDArray[np.str_]:
        """The ids of the documents of some queries, all of the same width."""
        lengths = self._rows["id_lengths"].read(self._runs("row", queries))
        characters = self._ids.read(self._runs("byte", queries))
        return text_of_bytes(characters, lengths, self.longest_id)

    def _bounds_of(self, kind: str) -> Integers:
        """Where each query begins in a column, and the end."""
        if kind not in self._bounds:
            starts = np.frombuffer(self._starts[kind], np.int64)
            self._bounds[kind] = np.append(starts, self._total[kind])
        return self._bounds[kind]

    def _runs(self, kind: str, queries: Integers) -> list[tuple[int, int]]:
        """Stretches of a column that hold the queries; neighbours are read together."""
        bounds = self._bounds_of(kind)
        breaks = np.flatnonzero(np.diff(queries) != 1) + 1
        firsts = queries[np.concatenate([[0], breaks])]
        lasts = queries[np.concatenate([breaks - 1, [len(queries) - 1]])]
        return list(zip(bounds[firsts].tolist(), bounds[lasts + 1].tolist(), strict=True))


class _Column:
    """An array in an unnamed file, that grows at its end."""

    def __init__(self, folder: Path, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.stream = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed with the spool

    def append(self, values: NDArray[Any]) -> None:
        self.stream.write(np.ascontiguousarray(values, self.dtype).data)

    def read(self, runs: list[tuple[int, int]]) -> NDArray[Any]:
        out = np.empty(sum(end - begin for begin, end in runs), self.dtype)
        place = 0
        for begin, end in runs:
            self.stream.seek(begin * self.dtype.itemsize)
            self.stream.readinto(out[place : place + end - begin].data)
            place += end - begin
        return out
