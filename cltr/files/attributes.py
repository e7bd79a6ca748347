"""Attributes of HDF5 files: numbers, and text of a fixed length.

HDF5 keeps text of variable length in a heap, and reading a damaged heap can run for ever. So text
is written with a fixed length. Version 0.1 wrote variable lengths: such text is read by a process
of its own, which is ended if it does not answer.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from cltr.errors import DataError

LONGEST_TEXT = 64 << 20
"""Bytes of an attribute that are read at most."""
PATIENCE = 20.0
"""Seconds to wait for text of variable length, on a machine that is very busy."""
_READ = """
import json, resource, signal, sys, h5py
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
signal.setitimer(signal.ITIMER_PROF, 0.5)  # seconds of the processor; then the system ends it
with h5py.File(sys.argv[1], "r", locking=False) as file:
    value = file.attrs[sys.argv[2]]
    print(json.dumps(value if isinstance(value, str) else None))
"""


def write_attributes(file: h5py.File, **values: str | float | bool) -> None:
    """Write attributes; text in UTF-8 with a fixed length.

    Example:
        >>> import tempfile
        >>> with h5py.File(Path(tempfile.mkdtemp()) / "a.h5", "w") as file:
        ...     write_attributes(file, name="shop", version=2)
        ...     [read_attribute(file, name, path="a.h5") for name in ("name", "version")]
        ['shop', 2]
    """
    for name, value in values.items():
        if isinstance(value, str):
            raw = value.encode()
            kind = h5py.string_dtype("utf-8", max(len(raw), 1))
            file.attrs.create(name, np.bytes_(raw), dtype=kind)
        else:
            file.attrs[name] = value


def read_attribute(file: h5py.File, name: str, *, path: Path | str) -> Any:
    """An attribute as text, a number or whatever else it holds; it must be there."""
    try:
        return _read(file, name, path)
    except (RuntimeError, OSError, ValueError, TypeError, KeyError) as error:
        # h5py complains of damage in many ways
        raise DataError(
            f"{path}: attribute '{name}' cannot be read; write the file again"
        ) from error


def _read(file: h5py.File, name: str, path: Path | str) -> Any:
    stored = file.attrs.get_id(name)
    if stored.get_storage_size() > LONGEST_TEXT:
        raise DataError(f"{path}: attribute '{name}' is longer than {LONGEST_TEXT >> 20} MB")
    if stored.get_type().get_class() == h5py.h5t.STRING:
        if stored.get_type().is_variable_str():
            return _read_apart(Path(path), name)
        return _decode(bytes(file.attrs[name]), name, path)
    if stored.get_type().get_class() not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.ENUM):
        raise DataError(f"{path}: attribute '{name}' is neither text nor a number")
    value = file.attrs[name]
    return value.item() if isinstance(value, np.generic) else value


def _decode(raw: bytes, name: str, path: Path | str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: attribute '{name}' is not text in UTF-8") from error


def _read_apart(path: Path, name: str) -> str:
    """Text of variable length, read by another process."""
    try:
        answer = subprocess.run(
            [sys.executable, "-I", "-c", _READ, str(path), name],
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        )
        value = json.loads(answer.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        raise DataError(f"{path}: attribute '{name}' is damaged; write the file again") from error
    if not isinstance(value, str):
        raise DataError(f"{path}: attribute '{name}' is not text")
    return value
