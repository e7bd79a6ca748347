"""Rows of several arrays as one array: parts that are mapped from disk stay there.

What is asked of a few rows is answered from the parts, without a copy of the rest. Everything else
that numpy can do works as with any array, but puts all rows into memory first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

Array = NDArray[Any]


class JoinedRows(NDArrayOperatorsMixin):
    """Arrays of the same type and width, end to end; read only.

    Example:
        >>> joined = JoinedRows([np.array([[1.0], [2.0]]), np.array([[3.0]])])
        >>> joined.shape, joined[1:].tolist(), np.take(joined, [2, 0], axis=0).tolist()
        ((3, 1), [[2.0], [3.0]], [[3.0], [1.0]])
        >>> (joined * 2).sum()
        np.float64(12.0)
    """

    def __init__(self, parts: Sequence[Array]) -> None:
        self._parts = tuple(parts)
        lengths = [len(part) for part in parts]
        self._starts = np.cumsum([0, *lengths])
        self.dtype = parts[0].dtype
        self.shape = (sum(lengths), *parts[0].shape[1:])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    @property
    def size(self) -> int:
        return sum(part.size for part in self._parts)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(*key.indices(len(self)))
        if isinstance(key, int | np.integer):
            return self._row(int(key))
        if isinstance(key, tuple):
            rows, *others = key
            return np.asarray(self[rows])[(slice(None), *others)] if others else self[rows]
        chosen = np.asarray(key)
        if chosen.dtype == np.bool_ and chosen.ndim == 1 and len(chosen) == len(self):
            chosen = np.flatnonzero(chosen)
        if chosen.ndim == 1 and chosen.dtype.kind in "iu":
            return self.take(chosen, axis=0)
        return np.asarray(self)[key]

    def take(
        self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
    ) -> Array:
        """Some rows, read from the parts that have them; ``np.take`` comes here."""
        rows = np.asarray(indices)
        if axis != 0 or rows.ndim != 1 or out is not None or mode != "raise":
            return np.take(np.asarray(self), indices, axis=axis, out=out, mode=mode)  # type: ignore[call-overload,no-any-return]
        if len(rows) and not -len(self) <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"rows {rows.min()} to {rows.max()} of {len(self)}")
        rows = np.where(rows < 0, rows + len(self), rows)
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        owners = np.searchsorted(self._starts, rows, side="right") - 1
        for owner in np.unique(owners):
            here = owners == owner
            found[here] = self._parts[owner][rows[here] - self._starts[owner]]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("rows of several files cannot be one array without a copy")
        whole = np.concatenate(self._parts)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        whole = [np.asarray(one) if isinstance(one, JoinedRows) else one for one in inputs]
        return getattr(function, method)(*whole, **options)

    def __getattr__(self, name: str) -> Any:
        """What arrays have besides; of all rows, in memory."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def _row(self, row: int) -> Array:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row %= len(self)
        owner = int(np.searchsorted(self._starts, row, side="right")) - 1
        found: Array = self._parts[owner][row - int(self._starts[owner])]
        return found

    def _slice(self, first: int, last: int, step: int) -> "Array | JoinedRows":
        """Views of the parts; one array where a single part has all the rows."""
        if step < 0:
            return self.take(np.arange(first, last, step), axis=0)
        pieces = []
        for start, part in zip(self._starts[:-1].tolist(), self._parts, strict=True):
            skipped = max(0, -(-(start - first) // step)) * step  # the first multiple from here on
            begin, end = first + skipped - start, min(last - start, len(part))
            if begin < end:
                pieces.append(part[begin:end:step])
        if not pieces:
            return self._parts[0][:0]
        return pieces[0] if len(pieces) == 1 else JoinedRows(pieces)
