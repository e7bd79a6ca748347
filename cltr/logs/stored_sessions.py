"""The interactions of a stored log, where it keeps them: read chunk by chunk, checked."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import h5py
import numpy as np

from cltr.errors import DataError
from cltr.logs.log_file import check_part, open_file, parts_of
from cltr.logs.stored_checks import check_sessions
from cltr.types import LOGGED_SPLITS, ClickLog

INTERACTIONS_AT_ONCE = 262_144
"""Interactions of a log in memory at a time."""


def read_sessions(
    path: Path, split: str = "train", *, chunk: int = 1_000_000
) -> Iterator[ClickLog]:
    """The interactions of a split, chunk by chunk, where the log keeps them."""
    with open_file(path) as file:
        check_part(path, split, parts_of(path, file))
        if f"{split}/sessions" not in file:
            raise DataError(
                f"{path}: holds counts only; keep the interactions too, with cltr simulate "
                "--sessions or cltr ingest --sessions"
            )
        sessions, offsets = file[f"{split}/sessions"], file[f"{split}/offsets"][...]
        missing = {"queries", "documents", "clicks"} - set(sessions)
        if missing:
            raise DataError(f"{path}: '{split}/sessions' has no {', '.join(sorted(missing))}")
        for start in range(0, len(sessions["queries"]), chunk):
            rows = _read_chunk(sessions, slice(start, start + chunk))
            check_sessions(path, rows, offsets)
            yield rows


def has_sessions(path: Path) -> bool:
    """Whether the log keeps the interactions themselves."""
    found = path.stat() if path.exists() else None
    return _keeps_sessions(path, found and (found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=16)
def _keeps_sessions(path: Path, version: tuple[int, ...] | None) -> bool:
    """The same, once for each version of a file."""
    del version
    with open_file(path) as file:
        return all(f"{split}/sessions" in file for split in LOGGED_SPLITS)


def context_names(path: Path) -> set[str]:
    """Names of the columns that are kept with the interactions."""
    with open_file(path) as file:
        return set(file["train/sessions"].get("context", {}))


def interactions_of(
    path: Path | str, split: str, *, top_k: int, chunk: int = INTERACTIONS_AT_ONCE
) -> Callable[[], Iterator[ClickLog]] | None:
    """What reads the interactions of a split, cut to some ranks, if the log keeps them.

    Args:
        path: a log file; there are no interactions if it is empty.
        split: whose interactions.
        top_k: ranks to keep.
        chunk: interactions in memory at a time.
    """
    if not str(path) or not has_sessions(Path(path)):
        return None
    kept = slice(top_k)

    def read() -> Iterator[ClickLog]:
        for rows in read_sessions(Path(path), split, chunk=chunk):
            yield replace(rows, documents=rows.documents[:, kept], clicks=rows.clicks[:, kept])

    return read


def _read_chunk(sessions: h5py.Group, rows: slice) -> ClickLog:
    columns = sessions.get("context", {})
    return ClickLog(
        sessions["queries"][rows],
        sessions["documents"][rows],
        sessions["clicks"][rows],
        {key: np.char.decode(columns[key][rows], "utf-8") for key in columns},
    )
