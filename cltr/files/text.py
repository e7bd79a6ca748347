"""Text in HDF5 files: rows of Unicode code points, of one width."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError

_LAST_CHARACTER = 0x10FFFF


def code_points(ids: NDArray[np.str_], width: int | None = None) -> NDArray[np.uint32]:
    """Text as rows of Unicode code points, the way it is stored."""
    width = width or max(ids.dtype.itemsize // 4, 1)
    return ids.astype(f"<U{width}").view("<u4").reshape(len(ids), width)


def text_of(path: Path, name: str, points: NDArray[np.uint32]) -> NDArray[np.str_]:
    """Rows of code points as text, without a copy; checked."""
    if points.shape[1] == 0 or points.max() > _LAST_CHARACTER:
        raise DataError(f"{path}: '{name}' is not text")
    text: NDArray[np.str_] = points.view(f"<U{points.shape[1]}")[:, 0]
    return text
