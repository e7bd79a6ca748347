"""What an HDF5 file must hold, written down as a table and checked before anything is read."""

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from cltr.errors import DataError


class Member(NamedTuple):
    """What a data set inside an HDF5 file must be.

    Attributes:
        dtype: numpy's name of the type, such as ``<f4``; ``S`` for byte strings of any width.
        shape: a word or a number per axis; the same word means the same length, and
            ``queries+1`` is one more than ``queries``.
    """

    dtype: str
    shape: tuple[str | int, ...]


def check_members(
    path: Path,
    file: h5py.File,
    members: Mapping[str, Member],
    optional: Collection[str] = (),
) -> None:
    """Refuse, in one line, a file that holds anything else than ``members``.

    Args:
        path: the file's name, for the message.
        file: open for reading.
        members: what it must hold, by name; ``context/*`` stands for any number of names.
        optional: names that may be missing.
    """
    found = dict(_walk(path, file, members))
    for name in members:
        if name not in found and name not in optional and "*" not in name:
            raise DataError(f"{path}: '{name}' is missing; expected {_list(members)}")
    lengths: dict[str, tuple[int, str]] = {}
    patterns = {name: _pattern(name, members) for name in found}
    for pattern, member in members.items():
        for name, dataset in found.items():
            if patterns[name] == pattern:
                _check_type(path, name, dataset, member)
                _check_lengths(path, name, dataset, member, lengths)


def _walk(
    path: Path, group: h5py.Group, members: Mapping[str, Member]
) -> Iterator[tuple[str, h5py.Dataset]]:
    """All data sets; the names that are expected bound the depth, so a cycle ends as an extra."""
    for key in group:
        name = f"{group.name}/{key}".lstrip("/")
        link = group.get(key, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise DataError(f"{path}: '{name}' is a link to elsewhere; refused")
        member = group[key]
        if isinstance(member, h5py.Group) and any(m.startswith(f"{name}/") for m in members):
            yield from _walk(path, member, members)
        elif isinstance(member, h5py.Dataset) and _pattern(name, members):
            yield name, member
        else:
            raise DataError(f"{path}: '{name}' does not belong there; expected {_list(members)}")


def _pattern(name: str, members: Mapping[str, Member]) -> str | None:
    if name in members:
        return name
    wild = (pattern for pattern in members if "*" in pattern)
    return next((p for p in wild if fnmatch(name, p) and p.count("/") == name.count("/")), None)


def _list(members: Mapping[str, Member]) -> str:
    return ", ".join(members)


def _check_type(path: Path, name: str, dataset: h5py.Dataset, member: Member) -> None:
    given = dataset.dtype
    fits = given.kind == "S" if member.dtype == "S" else given == np.dtype(member.dtype)
    if not fits:
        raise DataError(f"{path}: '{name}' has type {given}; expected {np.dtype(member.dtype)}")
    if dataset.shape is None or dataset.ndim != len(member.shape):
        axes = " x ".join(map(str, member.shape))
        raise DataError(f"{path}: '{name}' has shape {dataset.shape}; expected {axes}")
    if dataset.is_virtual or dataset.external:
        raise DataError(f"{path}: '{name}' lies in another file; refused")
    if dataset.chunks is not None:
        raise DataError(f"{path}: '{name}' is stored in chunks; expected one contiguous block")
    stored, declared = dataset.id.get_storage_size(), dataset.size * given.itemsize
    end = (dataset.id.get_offset() or 0) + declared
    if declared and (stored != declared or end > path.stat().st_size):
        raise DataError(f"{path}: '{name}' is not all there; copy or write the file again")


def _check_lengths(
    path: Path,
    name: str,
    dataset: h5py.Dataset,
    member: Member,
    lengths: dict[str, tuple[int, str]],
) -> None:
    for axis, length in zip(member.shape, dataset.shape, strict=True):
        word, _, more = str(axis).partition("+")
        extra = int(more or 0)
        known, other = lengths.setdefault(word, (max(length - extra, 0), name))
        expected = int(axis) if isinstance(axis, int) else known + extra
        if length != expected:
            beside = f" to agree with '{other}'" if other != name else ""
            raise DataError(
                f"{path}: '{name}' has length {length}; expected {expected}{beside}; the "
                "file is damaged, so make it again"
            )
