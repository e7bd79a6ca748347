"""Arrays by name in one file (safetensors): never pickled, checked when read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of arrays."""
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    path.write_bytes(save(contiguous))  # save_file hides a full disk


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read a file of arrays; FileNotFoundError if there is none."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except FileNotFoundError:
        raise
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise DataError(f"{path}: damaged weights: {error}") from error
