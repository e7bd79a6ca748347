"""A hash of a data set's content, for results to quote: same numbers, same fingerprint."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Fingerprint:
    """Hashes named arrays, each in as many blocks as it comes in, in any interleaving.

    Example:
        >>> whole, blocks = Fingerprint(), Fingerprint()
        >>> whole.update("labels", np.array([1.0, 0.0]))
        >>> blocks.update("labels", np.array([1.0]))
        >>> blocks.update("labels", np.array([0.0]))
        >>> whole.text() == blocks.text()
        True
    """

    def __init__(self) -> None:
        self._hashes: dict[str, Any] = {}

    def update(self, name: str, block: NDArray[Any]) -> None:
        """Add the next rows of the array ``name``."""
        little_endian = block.dtype.newbyteorder("<")
        data = np.ascontiguousarray(block, dtype=little_endian)
        self._hashes.setdefault(name, hashlib.sha256()).update(data.reshape(-1).view(np.uint8))

    def text(self) -> str:
        """The fingerprint of all arrays so far: 16 hexadecimal digits."""
        parts = [f"{name} {self._hashes[name].hexdigest()}" for name in sorted(self._hashes)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def fingerprint(**arrays: NDArray[Any]) -> str:
    """The fingerprint of whole arrays.

    Example:
        >>> fingerprint(labels=np.array([1.0, 0.0]))
        'ae3cdbc965d2f010'
    """
    result = Fingerprint()
    for name, array in arrays.items():
        result.update(name, array)
    return result.text()


def file_fingerprint(path: Path) -> str:
    """The fingerprint of a file as it is, byte by byte."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
