"""Text in HDF5 files: rows of Unicode code points, of one width."""

from pathlib import Path
from typing import Any

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


def text_of_bytes(
    characters: NDArray[np.uint8], lengths: NDArray[Any], width: int
) -> NDArray[np.str_]:
    """Text from UTF-8, all of one width.

    Args:
        characters: all values, end to end.
        lengths: bytes of each value.
        width: characters of the longest value, at least.

    Example:
        >>> text_of_bytes(np.frombuffer(b"teacup", np.uint8), np.array([3, 3]), 4)
        array(['tea', 'cup'], dtype='<U4')
    """
    if (characters >= 128).any():
        pieces = np.split(characters, np.cumsum(lengths)[:-1])
        words = [piece.tobytes().decode("utf-8", "replace") for piece in pieces]
        return np.array(words, dtype=f"<U{width}")
    matrix = np.zeros((len(lengths), width), np.uint32)
    matrix[np.arange(width) < np.asarray(lengths)[:, None]] = characters
    return matrix.view(f"<U{width}")[:, 0]
