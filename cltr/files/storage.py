"""Files at rest: written beside and renamed when whole, checked before use.

A file is written under a name that ends in ``.cltr-partial`` in the folder of the target, and takes
the target's name in one step when all of it is on disk. So a kill at any moment, or a full disk,
leaves the old file or none, never half of a new one. HDF5 files also say what they are
(``format``) and, last of all, that they are ``complete``.
"""

import io
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError, UsageError
from cltr.files.attributes import read_attribute, write_attributes
from cltr.files.claims import FULL, claim, why_not_written
from cltr.files.schema import Member, check_members

_PAGE = 4096


@contextmanager
def write_beside(path: Path | str, *, wait: bool = False) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; at the end it becomes ``path``, in one step.

    On any error it is removed and ``path`` stays what it was. While one process writes a file,
    another one that wants to is refused in one line, or waits.

    Args:
        path: the target.
        wait: for another process that writes it.

    Example:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp()) / "scores.txt"
        >>> with write_beside(target) as partial:
        ...     _ = partial.write_text("0.5")
        ...     target.exists()
        False
        >>> target.read_text()
        '0.5'
    """
    path = Path(path)
    with claim(path, wait=wait) as partial:
        try:
            yield partial
            _flush_to_disk(partial)
            os.replace(partial, path)
        except OSError as error:
            # An error about another file, such as an input that is missing, is not ours to explain.
            if error.filename not in (None, partial, str(partial)) and error.errno not in FULL:
                raise
            raise DataError(f"{path}: {why_not_written(error)}") from error


def make_folder(path: Path) -> None:
    """A folder, and those above it; it may be there already."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot make the folder: {error.strerror}") from error


def keep_inputs(out: Path | str, inputs: Iterable[Path | str]) -> None:
    """Refuse to write over a file that is read."""
    if any(Path(path).exists() and Path(out).resolve() == Path(path).resolve() for path in inputs):
        raise UsageError(f"--out {out}: is also an input; choose another file")


def _flush_to_disk(path: Path) -> None:
    with open(path, "rb+") as stream:
        os.fsync(stream.fileno())


class _Sink(io.RawIOBase):
    """The file under an HDF5 file that is being written; it never fails, it remembers.

    HDF5 cannot close a file after a failed write, and ends the process when it tries. So errors
    are kept for :func:`create_h5` to raise, and what HDF5 still wants to write goes nowhere.
    """

    def __init__(self, path: Path) -> None:
        self.stream = open(path, "rb+", buffering=0)  # noqa: SIM115  closed with the sink
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        size = len(view)
        with self._remember():
            while len(view):
                view = view[self.stream.write(view) :]
        return size

    def readinto(self, buffer: Any) -> int:
        return self.stream.readinto(buffer) or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.stream.seek(offset, whence)

    def tell(self) -> int:
        return self.stream.tell()

    def truncate(self, size: int | None = None) -> int:
        with self._remember():
            self.stream.truncate(size)
        return self.tell() if size is None else size

    def close(self) -> None:
        self.stream.close()
        super().close()

    @contextmanager
    def _remember(self) -> Iterator[None]:
        if self.error is None:
            try:
                yield
            except OSError as error:
                self.error = error
        else:
            with suppress(OSError):
                yield


@contextmanager
def create_h5(path: Path | str, *, format: str, version: int = 1) -> Iterator[h5py.File]:
    """A new HDF5 file that appears under its name when it is whole, and not before.

    Args:
        path: where to write; an older file of that name is replaced at the end.
        format: what the file is, such as ``cltr-dataset``; :func:`open_h5` asks for it.
        version: of the format; raise it when older readers would misread the file.
    """
    with write_beside(path) as partial:
        sink = _Sink(partial)
        try:
            # Version 1.10 of HDF5 was the first to sum up all that says where things are.
            with h5py.File(
                sink,
                "w",
                libver=("v110", "v110"),
                alignment_threshold=_PAGE,
                alignment_interval=_PAGE,
            ) as file:
                write_attributes(file, format=format, version=version)
                yield file
                write_attributes(file, complete=True)
        finally:
            sink.close()
        if sink.error is not None:
            raise sink.error


def is_hdf5(path: Path) -> bool:
    """Whether a file is in HDF5, by its first bytes; a folder is not."""
    return path.is_file() and bool(h5py.is_hdf5(path))


@contextmanager
def open_h5(
    path: Path | str,
    *,
    format: str,
    members: Mapping[str, Member],
    optional: Collection[str] = (),
    version: int = 1,
) -> Iterator[h5py.File]:
    """Open an HDF5 file for reading, after a check that it is what it should be.

    Links out of the file, members that do not belong, wrong types, lengths that disagree and data
    that lie past the end of the file are refused, in one line each.

    Args:
        path: the file.
        format: as given to :func:`create_h5`.
        members: what the file must hold, by name; ``context/*`` stands for any number of names.
        optional: names in ``members`` that may be missing.
        version: the newest version that the caller can read.
    """
    path = Path(path)
    with _opened(path) as file:
        try:
            _check_format(path, file, format=format, version=version)
            check_members(path, file, members, optional)
        except DataError:
            raise
        except Exception as error:  # of a damaged file h5py complains in many ways
            raise DataError(f"{path}: {_why_not_read(path, str(error))}") from error
        yield file


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if path.is_dir():
        raise DataError(f"{path}: is a folder, not an HDF5 file")
    if not path.is_file():
        raise DataError(f"{path}: is not a regular file; copy its contents to a file first")
    try:
        # No lock: a file is never changed in place, and some network disks cannot lock.
        with h5py.File(path, "r", locking=False) as file:
            yield file
    except OSError as error:
        if error.filename is not None:  # of a file that the caller has in hand, not of this one
            raise
        raise DataError(f"{path}: {_why_not_read(path, str(error))}") from error


def _why_not_read(path: Path, message: str) -> str:
    if "truncated file" in message:
        return "the file is cut off; copy or write it again"
    if not os.access(path, os.R_OK):
        return "permission denied"
    if "signature not found" in message:
        return "is not an HDF5 file"
    return f"cannot be read: {' '.join(message.split())}"


_KINDS = {
    "cltr-dataset": ("a data set", "cltr data import"),
    "cltr-log": ("a log", "cltr ingest"),
    "cltr-click-model": ("a click model", "cltr fit"),
}
"""What a file is, by its format, and the command that writes such files."""


def _check_format(path: Path, file: h5py.File, *, format: str, version: int) -> None:
    found = attribute(file, "format", str, default="", path=path)
    if found != format:
        what = _KINDS.get(
            found, (f"a {found} file" if found else "an HDF5 file of another program",)
        )[0]
        wanted, maker = _KINDS.get(format, (f"a {format} file", "cltr"))
        raise DataError(f"{path}: is {what}, not {wanted}; give a file that '{maker}' wrote")
    newer = attribute(file, "version", int, path=path)
    if newer > version:
        raise DataError(
            f"{path}: has version {newer} of {format}, newer than {version}; upgrade cltr"
        )
    if not attribute(file, "complete", bool, default=False, path=path):
        raise DataError(f"{path}: was not written to its end; write it again")


def attribute(
    file: h5py.File, name: str, kind: type, *, path: Path | str, default: Any = None
) -> Any:
    """An attribute of the file as a ``kind`` (str, int, float or bool), or one clear line."""
    if name not in file.attrs:
        if default is None:
            raise DataError(f"{path}: attribute '{name}' is missing")
        return default
    value = read_attribute(file, name, path=path)
    if type(value) is not kind:
        raise DataError(f"{path}: attribute '{name}' is {value!r}; expected {kind.__name__}")
    return value


def map_array(dataset: h5py.Dataset) -> NDArray[Any]:
    """The data of a contiguous HDF5 data set as an array, mapped from disk, not read.

    The array outlives the HDF5 file. It can be written to, for torch to take it without a copy,
    but what is written stays in memory and never reaches the file.
    """
    if dataset.size == 0 or dataset.chunks is not None or dataset.id.get_offset() is None:
        values: NDArray[Any] = dataset[...]
        return values
    with os.fdopen(os.dup(dataset.file.id.get_vfd_handle()), "rb") as stream:
        mapped = np.memmap(
            stream, dataset.dtype, "c", offset=dataset.id.get_offset(), shape=dataset.shape
        )
    return np.asarray(mapped)


def finite(value: Any) -> Any:
    """The same value with None for every number that JSON does not know.

    Example:
        >>> finite({"ratio_max": float("inf"), "ratio_min": 0.5})
        {'ratio_max': None, 'ratio_min': 0.5}
    """
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
