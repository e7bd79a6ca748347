"""Sources of logs, data sets and scores: file names, objects, or tables in memory.

What a run needs to be repeated must be a file, so a table in memory is written into the folder of
the result. What is only read once goes into a temporary file.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from cltr.api.log import Log
from cltr.data.frames import read_dataset
from cltr.data.loading import load_dataset
from cltr.errors import CltrError, UsageError
from cltr.files.claims import hidden_folder
from cltr.files.frames import write_frame
from cltr.types import ClickLog, Dataset

FileName: TypeAlias = str | PathLike[str]
Frame: TypeAlias = Any
"""A data frame of pandas, polars or pyarrow, or lists or arrays by column name."""
LogLike: TypeAlias = Any
"""A log file, a :class:`cltr.Log`, or a frame with a row for each document shown."""
DataLike: TypeAlias = Any
"""A file from ``cltr data import``, a :class:`cltr.Dataset`, or a frame with a row for each query
and document, whose columns :func:`cltr.read_dataset` finds by their common names."""


def file_of(source: Any) -> Path | None:
    """Return the file of a source; None if it is in memory."""
    if isinstance(source, Log):
        return source.path
    return Path(source) if isinstance(source, str | PathLike) else None


def named_data(data: DataLike | None) -> str | Dataset | None:
    """Return a data set by its name on the command line, or as an object in memory."""
    if data is None or isinstance(data, Dataset):
        return data
    return str(data) if isinstance(data, str | PathLike) else read_dataset(data)


def name_of(data: DataLike | None) -> str:
    """Return what the command line calls a data set; empty if there is none, or only in memory."""
    if isinstance(data, Dataset):
        return ""
    return str(data) if isinstance(data, str | PathLike) else ""


def dataset_of(data: DataLike | None) -> Dataset | None:
    """Return the data set itself."""
    named = named_data(data)
    return None if named is None else load_dataset(named)


def check_table(source: Any) -> None:
    """Raise an error for a source that is neither a file nor a table."""
    if isinstance(source, ClickLog):
        raise UsageError(
            "a ClickLog has no parts for training and validation; give the data frame or the "
            "file that it was read from"
        )


@contextmanager
def as_files(*sources: Any) -> Iterator[list[list[Path]]]:
    """Return the file names of each source; a table in memory is written to a temporary file.

    Errors name the file ``frame.parquet`` if the table is in memory.
    """
    with hidden_folder() as folder:
        try:
            yield [_files(source, folder / f"{number}") for number, source in enumerate(sources)]
        except CltrError as error:
            raise type(error)(_without_folder(str(error), str(folder))) from error


def _files(source: Any, folder: Path) -> list[Path]:
    if source is None:
        return []
    if isinstance(source, str | PathLike):
        return [Path(source)]
    if isinstance(source, Sequence) and all(isinstance(one, str | PathLike) for one in source):
        return [Path(one) for one in source]
    check_table(source)
    folder.mkdir()
    write_frame(source, folder / "frame.parquet")
    return [folder / "frame.parquet"]


def _without_folder(message: str, folder: str) -> str:
    for number in range(10):
        message = message.replace(f"{folder}/{number}/", "")
    return message


def flat(on: Sequence[str] | Mapping[str, str]) -> list[str]:
    """Turn ``{"gaps": "drop"}`` into the words ``gaps=drop``."""
    return [f"{key}={value}" for key, value in on.items()] if isinstance(on, Mapping) else [*on]
