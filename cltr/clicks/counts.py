"""Impressions and clicks of documents by cell: a rank, or whatever else a click depends on."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.types import Booleans, ClickStatistics, Floats, Integers, Lists

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
        from cltr.kernels import grouping

        known, shown, hits = grouping.count_keys(keys, clicked, n_cells, int(offsets[-1]))
        return cls(known, shown, hits, n_cells, offsets)

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
        from cltr.kernels import grouping

        starts: Integers = grouping.starts_of(self.keys, self.n_cells, self.n_documents)
        return starts

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

    def grouped(self, strata: Integers) -> "Groups":
        """Documents with the same entries and stratum once; those without entries are left out.

        On a log where most documents were shown a few times, few are different.

        Example:
            >>> keys = np.array([0, 2, 4, 7])  # documents 0, 1 and 2 in cell 0, document 3 in 1
            >>> counts = CellCounts(keys, np.ones(4), np.zeros(4), 2, np.array([0, 4]))
            >>> found = counts.grouped(np.zeros(4, int))
            >>> found.times, found.of_kinds[0][found.kinds]
            (array([3., 1.]), array([0, 1]))
        """
        from cltr.kernels import grouping

        starts, *entries = self.arrays
        kinds, examples = grouping.kinds_of(*entries)
        cells, shown, clicked = (column[examples] for column in entries)
        used = np.flatnonzero(np.diff(starts))
        begins = np.append(starts[used], starts[-1])
        firsts, times = grouping.alike(begins, kinds, strata[used])
        lengths = np.diff(begins)[firsts]
        order = np.argsort(lengths.astype(np.uint16), kind="stable")  # processors guess loops then
        firsts, times, lengths = firsts[order], times[order], lengths[order]
        rows = Lists(begins[firsts], lengths).members
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Groups(offsets, kinds[rows], (cells, shown, clicked), times, strata[used[firsts]])

    def tiles(self, documents: Booleans) -> "Tiles":
        """The entries of some documents, ``[docs]``, as if there were no others.

        Example:
            >>> keys = np.array([0, 3, 5])  # document 0 in cell 0, documents 1 and 2 in cell 1
            >>> counts = CellCounts(keys, np.full(3, 9.0), np.arange(3.0), 2, np.array([0, 3]))
            >>> found = counts.tiles(np.array([True, False, True]))
            >>> found.cells, found.clicked[:, :2]
            (array([0, 1]), array([[0., 0.],
                   [0., 2.]]))
        """
        from cltr.kernels.lanes import LANES

        kept = documents[self.documents]
        document = (np.cumsum(documents) - 1)[self.documents[kept]]
        n_rows = -(-int(documents.sum()) // LANES)
        keys = document // LANES * self.n_cells + self.cells[kept]
        used = np.zeros(n_rows * self.n_cells, bool)
        used[keys] = True
        tiles, place = np.flatnonzero(used), (np.cumsum(used) - 1)[keys]
        clicked, skipped = np.zeros((2, len(tiles), LANES))
        clicked[place, document % LANES] = self.clicks[kept]
        skipped[place, document % LANES] = (self.impressions - self.clicks)[kept]
        starts = np.searchsorted(tiles, np.arange(n_rows + 1) * self.n_cells)
        return Tiles(starts.astype(np.int64), tiles % self.n_cells, skipped, clicked)

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
        from cltr.kernels import grouping

        linked = grouping.linked_cells(self.keys, self.n_cells) | np.eye(self.n_cells, dtype=bool)
        linked |= linked.T
        shown = self.by_cell(self.impressions)
        reached = np.arange(self.n_cells) == shown.argmax()
        for _ in range(self.n_cells):
            reached = linked[reached].any(0)
        return tuple(int(cell) + 1 for cell in np.flatnonzero((shown > 0) & ~reached))


class Groups(NamedTuple):
    """Documents that are alike, once; and their entries that are alike."""

    starts: Integers
    """Where each group's entries begin, and the end, ``[groups + 1]``."""
    kinds: NDArray[np.int32]
    """Of entries; those of one kind have the same cell, impressions and clicks."""
    of_kinds: tuple[Integers, Floats, Floats]
    """Cell, impressions and clicks of each kind."""
    times: Floats
    """Documents of each group."""
    strata: Integers
    """Of groups."""


class Tiles(NamedTuple):
    """What each eight documents (:data:`cltr.kernels.lanes.LANES`) did in one cell."""

    starts: Integers
    """Where the tiles of each eight documents begin, and the end."""
    cells: Integers
    """Of tiles."""
    skipped: Floats
    """Impressions without a click, ``[tiles, LANES]``."""
    clicked: Floats
    """``[tiles, LANES]``"""


def _collect(
    keys: Integers, n_keys: int, *columns: NDArray[Any]
) -> tuple[Integers, tuple[Floats, ...]]:
    """Distinct keys, rising, and the sum of each column at each of them."""
    if n_keys <= DENSE * len(keys):  # an array of all keys is smaller than what a sort moves
        seen = np.flatnonzero(np.bincount(keys, minlength=n_keys))
        return seen, tuple(totals(keys, column, n_keys)[seen] for column in columns)
    distinct, entry = np.unique(keys, return_inverse=True)
    return distinct, tuple(totals(entry, column, len(distinct)) for column in columns)
