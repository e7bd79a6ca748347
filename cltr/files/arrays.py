"""Arrays by name in one file (safetensors): never pickled, checked when read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.files.json_files import read_bytes


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of arrays."""
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    path.write_bytes(save(contiguous))  # save_file hides a full disk


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read a file of arrays; FileNotFoundError if there is none."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = read_bytes(path)
    try:
        return load(content)
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: damaged weights: {reason}") from error


def finite_array(values: NDArray[Any]) -> bool:
    """Whether all are finite numbers."""
    return values.dtype.kind in "fiub" and bool(np.isfinite(values).all())


def check_arrays(
    arrays: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]], *, what: str
) -> None:
    """Refuse arrays of other names, types or shapes than those expected, or that are not finite.

    Example:
        >>> check_arrays({"w": np.zeros(2)}, {"w": np.zeros(3)}, what="weights")
        Traceback (most recent call last):
        ValueError: weights: 'w' is 2 of float64; expected 3 of float64
    """
    if arrays.keys() != expected.keys():
        odd = sorted(arrays.keys() ^ expected.keys())[0]
        raise ValueError(f"{what}: '{odd}' is {'missing' if odd in expected else 'too many'}")
    for name, one in expected.items():
        given = arrays[name]
        if given.shape != one.shape or given.dtype != one.dtype:
            raise ValueError(f"{what}: '{name}' is {_form(given)}; expected {_form(one)}")
        if not finite_array(given):
            raise ValueError(f"{what}: '{name}' has values that are not finite")


def _form(values: NDArray[Any]) -> str:
    return f"{'x'.join(map(str, values.shape)) or 'one'} of {values.dtype}"
