"""Coded rows to statistics, in chunks: as they came if they lie in order, else sorted."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltr.files.row_batches import batches
from cltr.logs.cleaning import clean_rows, drop_gaps, shares_keys, sort_rows
from cltr.logs.id_coding import Tally
from cltr.logs.problems import DROP
from cltr.logs.value_checks import Values, check_values
from cltr.types import LOG_PARTS, Dataset, Integers

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

LOG_ROWS_AT_ONCE = 262_144
"""Rows in memory at a time."""
ROWS = {"key": "uint64", "pair": "uint64", "rank": "int16", "state": "uint8", "part": "uint8"}
"""Columns that are counted, and their types."""
Rows: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Places:
    """Where documents lie, found by the hash of query and document."""

    slots: NDArray[np.uint64]
    rows: Integers
    owners: Integers
    """Query of each document, ``[docs]``."""
    splits: NDArray[np.int8]
    """Part of the log by query: 0 training, 1 validation, 2 test, 3 none, -1 as the row says."""

    @property
    def shared(self) -> bool:
        """Whether all parts of the log lie on the same queries."""
        return bool((self.splits == -1).any())

    @classmethod
    def of(cls, pairs: NDArray[np.uint64], places: Integers, dataset: Dataset) -> "Places":
        """A table of hashes.

        Args:
            pairs: hashes of query and document.
            places: rows of these documents in the data set.
            dataset: the lists; interactions are split where its splits share queries.
        """
        from cltr.kernels import counting as kernel

        size = 1 << max(4, int(2 * len(pairs)).bit_length())
        slots, order = np.zeros(size, np.uint64), np.zeros(size, np.int64)
        kernel.fill_slots(pairs, slots, order)
        rows = places.astype(np.int64)[order] if len(places) else order
        return cls(slots, rows, dataset.lists.owners, _splits(dataset))

    def find(self, pairs: NDArray[np.uint64]) -> Integers:
        """Rows of documents, -1 for those that are not there."""
        from cltr.kernels import counting as kernel

        out = np.empty(len(pairs), np.int64)
        kernel.find_places(pairs, self.slots, self.rows, out)
        return out


def _splits(dataset: Dataset) -> NDArray[np.int8]:
    splits = np.full(dataset.n_queries, len(LOG_PARTS), np.int8)
    for number, name in enumerate(LOG_PARTS):
        first, last = dataset.splits.get(name, (0, 0))
        splits[first:last] = number
    if dataset.splits["train"] == dataset.splits["valid"]:
        splits[slice(*dataset.splits["train"])] = -1
    return splits


@dataclass
class RowCounts:
    """Counts of a log on the documents of ``Places``.

    There is a plane for each part of the log where parts share queries, and one plane for all where
    each query belongs to one part.
    """

    impressions: Integers
    """``[planes, docs, K]``"""
    clicks: Integers
    displays: Integers
    """``[planes, queries]``"""
    found: Integers
    """See :mod:`cltr.kernels.counting`."""
    lengths: Integers
    """Interactions by number of documents."""
    click_counts: Integers
    """Interactions by number of clicks."""
    runs: int = 0
    scattered: bool = False
    """Whether the rows of an interaction lie in several places; then the rest does not count."""

    @classmethod
    def nothing(cls, places: Places, top_k: int) -> "RowCounts":
        """No counts yet."""
        from cltr.kernels import counting as kernel

        planes = len(LOG_PARTS) if places.shared else 1
        cells = (planes, len(places.owners), top_k)
        return cls(
            impressions=np.zeros(cells, np.int64),
            clicks=np.zeros(cells, np.int64),
            displays=np.zeros((planes, len(places.splits)), np.int64),
            found=np.zeros(kernel.N_FOUND, np.int64),
            lengths=np.zeros(kernel.MOST + 1, np.int64),
            click_counts=np.zeros(kernel.MOST + 1, np.int64),
        )

    def of(self, what: int) -> int:
        """One of the other counts."""
        return int(self.found[what])


class SharedKeysError(Exception):
    """Two interactions share a hash: all must be coded anew."""


def count_rows(tally: Tally, places: Places) -> RowCounts:
    """Statistics of a coded log; it is sorted or cleaned first if it must be."""
    from cltr.kernels import counting as kernel

    if tally.elsewhere is not None:
        return tally.elsewhere.count(places)
    counted = _count(tally, places)
    if not tally.has_sessions:
        return counted
    if counted.scattered or _come_again(tally):
        sort_rows(tally)
        counted = _count(tally, places)
    if counted.of(kernel.TWICE):
        if shares_keys(tally):
            raise SharedKeysError
        clean_rows(tally)
        counted = _count(tally, places)
    if drop_gaps(tally, counted.of(kernel.GAPS)):
        counted = _count(tally, places)
    return counted


def _come_again(tally: Tally) -> bool:
    """Whether the rows of an interaction lie in several places."""
    return bool(tally.row("SELECT count(*) > count(DISTINCT key) FROM runs")[0])


def _count(tally: Tally, places: Places) -> RowCounts:
    """Count all rows, and check their values the first time."""
    from cltr.kernels import counting as kernel

    tally.connection.execute("CREATE OR REPLACE TABLE runs (key UBIGINT)")
    counted = RowCounts.nothing(places, tally.top_k)
    values = np.zeros(kernel.N_VALUES, np.int64)
    values[kernel.LOW] = np.iinfo(np.int64).max
    with closing(tally.connection.cursor()) as runs:  # the stream has the connection for itself
        for rows in _chunks(tally, values):
            if not counted.scattered:
                _count_chunk(tally, places, rows, counted, runs)
    check_values(tally, Values(*values.tolist()))
    return counted


def _count_chunk(
    tally: Tally, places: Places, rows: Rows, counted: RowCounts, connection: "Connection"
) -> None:
    from cltr.kernels import counting as kernel

    run_keys = np.empty(len(rows["key"]), np.uint64)
    runs = kernel.count_runs(
        *(rows[name] for name in ROWS),
        places.slots,
        places.rows,
        places.owners,
        places.splits,
        tally.top_k,
        tally.has_sessions,
        counted.impressions,
        counted.clicks,
        counted.displays,
        counted.found,
        counted.lengths,
        counted.click_counts,
        run_keys,
    )
    if not tally.has_sessions:
        return
    if not counted.runs and len(np.unique(run_keys[:runs])) < runs:
        counted.scattered = True
        return
    counted.runs += runs
    connection.register("chunk", {"key": run_keys[:runs]})
    connection.execute("INSERT INTO runs SELECT key FROM chunk")
    connection.unregister("chunk")


def _chunks(tally: Tally, values: Integers) -> Iterator[Rows]:
    """Rows that are counted, in chunks that end where an interaction ends.

    Args:
        tally: coded.
        values: filled with what single rows tell.
    """
    from cltr.kernels import counting as kernel

    drop_unclear = tally.problems.action("unknown-clicks") == DROP
    waiting = {name: np.empty(LOG_ROWS_AT_ONCE, kind) for name, kind in ROWS.items()}
    n, done, total = 0, 0, tally.count_all()
    for batch in batches(tally.connection, tally.table, ROWS):
        size = len(batch["key"])
        done += size
        if total:
            tally.progress("counting", done / total)
        if n and n + size > len(waiting["key"]):
            cut = _last_start(waiting["key"][:n]) if tally.has_sessions else n
            yield {name: rows[:cut] for name, rows in waiting.items()}
            waiting = {name: _behind(rows, cut, n, size) for name, rows in waiting.items()}
            n -= cut
        elif size > len(waiting["key"]):
            waiting = {name: _behind(rows, 0, 0, size) for name, rows in waiting.items()}
        n = kernel.take_rows(
            *batch.values(), tally.top_k, drop_unclear, *waiting.values(), n, values
        )
    if n:
        yield {name: rows[:n] for name, rows in waiting.items()}


def _last_start(keys: NDArray[np.uint64]) -> int:
    """Where the last interaction begins; what fills a whole chunk is no list, and is cut."""
    starts = np.flatnonzero(keys[1:] != keys[:-1])
    return int(starts[-1]) + 1 if len(starts) else len(keys)


def _behind(rows: NDArray[Any], start: int, stop: int, more: int) -> NDArray[Any]:
    """A part of some rows, with room for more behind it."""
    left = stop - start
    room = rows if left + more <= len(rows) else np.empty(left + more, rows.dtype)
    room[:left] = rows[start:stop].copy()
    return room
