"""Impressions and clicks of documents by cell: a rank, or whatever else a click depends on."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.types import Booleans, ClickStatistics, Floats, Integers, Lists

_MIX = np.uint64(0x9E3779B97F4A7C15)
DENSE = 8
"""Keys there may be for each that came, for counting in an array of all of them."""


def totals(places: Integers, values: NDArray[Any], n: int) -> Floats:
    """Sum of the values at each of n places, ``[n]``."""
    sums: Floats = np.bincount(places, values, minlength=n).astype(np.float64)
    return sums


@dataclass(frozen=True)
class CellCounts:
    """Sparse and additive: only what happened takes space; entries go document by document.

    Example:
        >>> keys = np.array([0, 0, 3, 3])  # document 0 in cell 0, twice; document 1 in cell 1
        >>> once = CellCounts.of_keys(
        ...     keys, np.array([True, False, False, False]), 2, offsets=np.array([0, 2])
        ... )
        >>> (once + once).impressions, (once + once).clicks
        (array([4., 4.]), array([2., 0.]))
    """

    keys: Integers
    """Document times number of cells plus cell, rising, ``[entries]``."""
    impressions: Floats
    """``[entries]``"""
    clicks: Floats
    """``[entries]``"""
    n_cells: int
    offsets: Integers
    """Where each query's documents lie, ``[queries + 1]``."""

    @classmethod
    def of_keys(
        cls, keys: Integers, clicked: np.ndarray, n_cells: int, *, offsets: Integers
    ) -> "CellCounts":
        """Count impressions one by one: the key of each, and whether it was clicked."""
        n_keys = int(offsets[-1]) * n_cells
        known, (impressions, clicks) = _collect(keys, n_keys, np.ones(len(keys)), clicked)
        return cls(known, impressions, clicks, n_cells, offsets)

    @classmethod
    def of_statistics(cls, statistics: ClickStatistics) -> "CellCounts":
        """With ranks as cells."""
        keys = np.flatnonzero(statistics.impressions)
        return cls(
            keys,
            statistics.impressions.ravel()[keys].astype(np.float64),
            statistics.clicks.ravel()[keys].astype(np.float64),
            statistics.top_k,
            statistics.offsets,
        )

    def __add__(self, other: "CellCounts") -> "CellCounts":
        if self.n_cells != other.n_cells or not np.array_equal(self.offsets, other.offsets):
            raise DataError(
                "counts of different lists cannot be added: "
                f"{self.n_cells} and {other.n_cells} cells of {len(self.offsets) - 1} and "
                f"{len(other.offsets) - 1} queries"
            )
        keys, (impressions, clicks) = _collect(
            np.concatenate([self.keys, other.keys]),
            self.n_documents * self.n_cells,
            np.concatenate([self.impressions, other.impressions]),
            np.concatenate([self.clicks, other.clicks]),
        )
        return replace(self, keys=keys, impressions=impressions, clicks=clicks)

    @property
    def n_documents(self) -> int:
        return int(self.offsets[-1])

    @property
    def documents(self) -> Integers:
        """Document of each entry."""
        return self.keys // self.n_cells

    @property
    def cells(self) -> Integers:
        """Cell of each entry."""
        return self.keys % self.n_cells

    @property
    def starts(self) -> Integers:
        """Where each document's entries begin, and the end, ``[docs + 1]``."""
        documents = np.arange(self.n_documents + 1, dtype=np.int64)
        return np.searchsorted(self.keys, documents * self.n_cells).astype(np.int64)

    def by_cell(self, values: Floats) -> Floats:
        """Sum of the entries' values in each cell, ``[cells]``."""
        return totals(self.cells, values, self.n_cells)

    def by_document(self, values: Floats) -> Floats:
        """Sum of the entries' values of each document, ``[docs]``."""
        return totals(self.documents, values, self.n_documents)

    @property
    def arrays(self) -> tuple[Integers, Integers, Floats, Floats]:
        """As compiled steps take them: starts, cells, impressions, clicks."""
        return self.starts, self.cells, self.impressions, self.clicks

    def grouped(
        self, strata: Integers
    ) -> tuple[tuple[Integers, Integers, Floats, Floats], Floats, Integers]:
        """Documents with the same entries and stratum once: arrays, how many each, its stratum.

        On a log where most documents were shown a few times, few are different.

        Example:
            >>> keys = np.array([0, 2, 4, 7])  # documents 0, 1 and 2 in cell 0, document 3 in 1
            >>> counts = CellCounts(keys, np.ones(4), np.zeros(4), 2, np.array([0, 4]))
            >>> arrays, times, strata = counts.grouped(np.zeros(4, int))
            >>> dict(zip(arrays[1].tolist(), times.tolist()))
            {0: 3.0, 1: 1.0}
        """
        starts, cells, shown, clicked = arrays = self.arrays
        lengths = np.diff(starts)
        used = np.flatnonzero(lengths)
        everybody = arrays, np.ones(len(strata)), strata
        if not len(used):
            return everybody
        hashes = _hashes(arrays, used, strata)
        rising = np.argsort(hashes, kind="stable")
        order = used[rising]
        new = np.ones(len(order), bool)
        new[1:] = np.diff(hashes[rising]) != 0
        firsts, groups = order[new], np.cumsum(new) - 1
        if 2 * len(firsts) > len(used):
            return everybody
        # Every entry beside that of the first of its group: a hash alone proves nothing.
        model = firsts[groups]
        mine, its = _entries(starts, order), _entries(starts, model, lengths[order])
        columns = (cells, shown, clicked)
        same = (lengths[order] == lengths[model]).all() and (strata[order] == strata[model]).all()
        if not same or any((column[mine] != column[its]).any() for column in columns):
            return everybody
        rows = _entries(starts, firsts)
        begin = np.concatenate([[0], np.cumsum(lengths[firsts])])
        kept = (begin, cells[rows], shown[rows], clicked[rows])
        return kept, np.bincount(groups).astype(np.float64), strata[firsts]

    def only(self, documents: Booleans) -> "CellCounts":
        """The entries of some documents, ``[docs]``; the others have none."""
        kept = documents[self.documents]
        return replace(
            self,
            keys=self.keys[kept],
            impressions=self.impressions[kept],
            clicks=self.clicks[kept],
        )

    def unconnected(self) -> tuple[int, ...]:
        """Cells (from 1) that no chain of shared documents links to the cell shown most.

        Example:
            >>> keys = np.array([0, 1, 5])  # document 0 in cells 0 and 1, document 1 in cell 2
            >>> CellCounts.of_keys(keys, keys > 9, 3, offsets=np.array([0, 2])).unconnected()
            (3,)
        """
        same = self.documents[1:] == self.documents[:-1]
        linked = np.eye(self.n_cells, dtype=bool)
        linked[self.cells[:-1][same], self.cells[1:][same]] = True
        linked |= linked.T
        shown = self.by_cell(self.impressions)
        reached = np.arange(self.n_cells) == shown.argmax()
        for _ in range(self.n_cells):
            reached = linked[reached].any(0)
        return tuple(int(cell) + 1 for cell in np.flatnonzero((shown > 0) & ~reached))


def _entries(starts: Integers, documents: Integers, lengths: Integers | None = None) -> Integers:
    """Places of all entries of some documents, document by document."""
    wanted = np.diff(starts)[documents] if lengths is None else lengths
    rows = Lists(starts[documents], wanted).members
    inside: Integers = np.minimum(rows, starts[-1] - 1)
    return inside


def _hashes(
    arrays: tuple[Integers, Integers, Floats, Floats], documents: Integers, strata: Integers
) -> NDArray[np.uint64]:
    """A number of each document, the same for the same entries and stratum."""
    starts, cells, shown, clicked = arrays
    rows, lengths = _entries(starts, documents), np.diff(starts)[documents]
    mixed = cells[rows].astype(np.uint64) * _MIX
    for column in (shown[rows], clicked[rows]):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX + column.view(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _MIX
    sums = np.add.reduceat(mixed, np.cumsum(lengths) - lengths)
    hashes: NDArray[np.uint64] = (sums ^ (sums >> np.uint64(31))) * _MIX
    return hashes + strata[documents].astype(np.uint64)


def _collect(
    keys: Integers, n_keys: int, *columns: NDArray[Any]
) -> tuple[Integers, tuple[Floats, ...]]:
    """Distinct keys, rising, and the sum of each column at each of them."""
    if n_keys <= DENSE * len(keys):  # an array of all keys is smaller than what a sort moves
        seen = np.flatnonzero(np.bincount(keys, minlength=n_keys))
        return seen, tuple(totals(keys, column, n_keys)[seen] for column in columns)
    distinct, entry = np.unique(keys, return_inverse=True)
    return distinct, tuple(totals(entry, column, len(distinct)) for column in columns)
