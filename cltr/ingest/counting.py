"""[2] Coded rows to statistics, in chunks: as they came if they lie in order, else sorted."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.ingest.cleaning import clean_rows, drop_gaps, shares_keys, sort_rows
from cltr.ingest.sources import arrays, silent
from cltr.ingest.tallies import Tally
from cltr.types import Dataset, Integers

CHUNK = 1_000_000
"""Rows in memory at a time."""
MOST_CELLS = 20_000_000
"""Documents times ranks up to which each thread has counts of its own."""
_BASE = ("key", "pair", "rank", "state", "valid")


@dataclass(frozen=True)
class Places:
    """Where documents lie, found by the hash of query and document."""

    slots: NDArray[np.uint64]
    rows: Integers
    owners: Integers
    """Query of each document, ``[docs]``."""
    splits: NDArray[np.int8]
    """Of each query: 0 training, 1 validation, 2 neither, -1 as the row says."""

    @classmethod
    def of(cls, pairs: NDArray[np.uint64], places: Integers, dataset: Dataset) -> "Places":
        """A table of hashes.

        Args:
            pairs: hashes of query and document.
            places: rows of these documents in the data set.
            dataset: the lists; interactions are split where its splits share queries.
        """
        from cltr.ingest import counting_kernel as kernel

        size = 1 << max(4, int(2 * len(pairs)).bit_length())
        slots, order = np.zeros(size, np.uint64), np.zeros(size, np.int64)
        kernel.fill_slots(pairs, slots, order)
        rows = places.astype(np.int64)[order] if len(places) else order
        return cls(slots, rows, dataset.lists.owners, _splits(dataset))

    def find(self, pairs: NDArray[np.uint64]) -> Integers:
        """Rows of documents, -1 for those that are not there."""
        from cltr.ingest import counting_kernel as kernel

        out = np.empty(len(pairs), np.int64)
        kernel.find_places(pairs, self.slots, self.rows, out)
        return out


def _splits(dataset: Dataset) -> NDArray[np.int8]:
    splits = np.full(dataset.n_queries, 2, np.int8)
    for number, name in enumerate(("train", "valid")):
        first, last = dataset.splits[name]
        splits[first:last] = number
    if dataset.splits["train"] == dataset.splits["valid"]:
        splits[:] = -1
    return splits


@dataclass
class Counted:
    """Counts of a log on the documents of ``Places``, by split: training first."""

    impressions: NDArray[Any]
    """``[2, docs, K]``"""
    clicks: NDArray[Any]
    displays: Integers
    """``[2, queries]``"""
    found: Integers
    """See :mod:`cltr.ingest.counting_kernel`."""
    lengths: Integers
    """Interactions by number of documents."""
    click_counts: Integers
    """Interactions by number of clicks."""
    runs: int = 0
    scattered: bool = False
    """Whether the rows of an interaction lie in several places; then the rest does not count."""

    @classmethod
    def nothing(cls, places: Places, top_k: int, *, most: int) -> "Counted":
        """No counts yet, of at most so many rows: small numbers are faster."""
        from cltr.ingest import counting_kernel as kernel

        cells, kind = (2, len(places.owners), top_k), np.int32 if most < 2**31 else np.int64
        return cls(
            impressions=np.zeros(cells, kind),
            clicks=np.zeros(cells, kind),
            displays=np.zeros((2, len(places.splits)), np.int64),
            found=np.zeros(kernel.N_FOUND, np.int64),
            lengths=np.zeros(kernel.MOST + 1, np.int64),
            click_counts=np.zeros(kernel.MOST + 1, np.int64),
        )

    def of(self, what: int) -> int:
        """One of the other counts."""
        return int(self.found[what])

    def add(self, other: "Counted") -> None:
        """Add the counts of other rows."""
        for name in ("impressions", "clicks", "displays", "found", "lengths", "click_counts"):
            np.add(getattr(self, name), getattr(other, name), out=getattr(self, name))
        self.runs += other.runs
        self.scattered |= other.scattered


class SharedKeysError(Exception):
    """Two interactions share a hash: all must be coded anew."""


def count_rows(tally: Tally, places: Places) -> Counted:
    """Statistics of a coded log; it is sorted or cleaned first if it must be."""
    from cltr.ingest import counting_kernel as kernel

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


def _count(tally: Tally, places: Places) -> Counted:
    """Count all rows, parts of them at the same time."""
    tally.connection.execute("CREATE OR REPLACE TABLE runs (key UBIGINT)")
    total = tally.row(f"SELECT count(*) FROM {tally.table}")[0]
    small = len(places.owners) * tally.top_k <= MOST_CELLS  # each thread has counts of its own
    bounds = _bounds(tally, total, threads=2 if small else 1)
    counted = Counted.nothing(places, tally.top_k, most=total)
    with ThreadPoolExecutor(len(bounds)) as pool:
        parts = [pool.submit(_count_part, tally, places, *part) for part in bounds]
        for part in parts:
            counted.add(part.result())
    return counted


def _bounds(tally: Tally, total: int, *, threads: int) -> list[tuple[int, int]]:
    """Where to cut the table so that no interaction is cut."""
    middle = total // 2
    if threads == 1 or total < CHUNK:
        return [(0, total)]
    near = arrays(
        tally.connection,
        f"SELECT key, rowid AS row FROM {tally.table} WHERE rowid >= {middle - 1} "
        f"AND rowid < {middle + 1000} ORDER BY row",
    )
    keys = np.ma.getdata(near["key"])
    ends = np.flatnonzero(keys[1:] != keys[:-1])
    if not len(ends):
        return [(0, total)]
    middle += int(ends[0])
    return [(0, middle), (middle, total)]


def _count_part(tally: Tally, places: Places, start: int, stop: int) -> Counted:
    from cltr.ingest import counting_kernel as kernel

    counted = Counted.nothing(places, tally.top_k, most=stop)
    own = replace(tally, connection=tally.connection.cursor(), progress=silent)
    for rows in chunks(own, start, stop):
        tally.progress("counting", rows["done"] / max(stop, 1))
        run_keys = np.empty(len(rows["key"]), np.uint64)
        runs = kernel.count_runs(
            *(rows[name] for name in _BASE),
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
        if tally.has_sessions:
            if not counted.runs and len(np.unique(run_keys[:runs])) < runs:
                counted.scattered = True
                break
            own.connection.register("chunk", {"key": run_keys[:runs]})
            own.connection.execute("INSERT INTO runs SELECT key FROM chunk")
            own.connection.unregister("chunk")
        counted.runs += runs
    own.connection.close()
    return counted


def chunks(
    tally: Tally, start: int, stop: int, *, more: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """Rows that are counted, in chunks that end where an interaction ends.

    Args:
        tally: coded.
        start: the first row.
        stop: the row behind the last.
        more: further columns to read.
    """
    columns = [*_BASE, *more]
    left: dict[str, Any] | None = None
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        rows = _read(tally, columns, first, last)
        if left is not None:
            rows = {name: np.concatenate([left[name], rows[name]]) for name in columns}
        if tally.has_sessions and last < stop:
            ends = np.flatnonzero(rows["key"][1:] != rows["key"][:-1])
            # What fills a whole chunk is no list; it is counted as it is, and then cleaned.
            cut = int(ends[-1]) + 1 if len(ends) else len(rows["key"])
            left = {name: values[cut:] for name, values in rows.items()}
            rows = {name: values[:cut] for name, values in rows.items()}
        if len(rows["key"]):
            yield rows | {"done": last}


def _read(tally: Tally, columns: list[str], start: int, stop: int) -> dict[str, Any]:
    listed = ", ".join(f"{name} AS c{i}" for i, name in enumerate(columns))
    found = arrays(
        tally.connection,
        f"SELECT {listed} FROM {tally.table} WHERE rowid >= {start} AND rowid < {stop} "
        f"AND {tally.usable}",
    )
    return {name: np.ma.getdata(found[f"c{i}"]) for i, name in enumerate(columns)}
