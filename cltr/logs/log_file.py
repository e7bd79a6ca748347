"""Click logs at rest: statistics, and the interactions themselves where they are kept.

A log lies on a data set's documents, or stands alone: then it holds its own lists, of all that was
ever shown for a query, and the statistics of all its parts lie on them. The test part is optional:
logs of version 0.1.0 have none.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.files.attributes import write_attributes
from cltr.files.json_files import parse_json
from cltr.files.schema import Member
from cltr.files.storage import attribute, create_h5, open_h5
from cltr.logs.description import Description
from cltr.logs.log_lists import MEMBERS as LISTS
from cltr.logs.log_lists import read_lists, write_lists
from cltr.logs.stored_checks import (
    check_counts,
    check_data_set,
    check_lists,
    check_propensities,
    check_scores,
)
from cltr.types import LOG_PARTS, LOGGED_SPLITS, ClickLog, ClickStatistics, Dataset, Floats

FORMAT = "cltr-log"
COMPUTED = "computed"
"""What the description of a log says of its exposure if it is known exactly."""
STATISTICS = ("impressions", "clicks", "displays", "offsets")


def _members(split: str) -> dict[str, Member]:
    docs, queries, rows = f"{split} documents", f"{split} queries", f"{split} interactions"
    return {
        f"{split}/impressions": Member("<i8", (docs, "ranks")),
        f"{split}/clicks": Member("<i8", (docs, "ranks")),
        f"{split}/displays": Member("<i8", (queries,)),
        f"{split}/offsets": Member("<i8", (f"{queries}+1",)),
        f"{split}/propensities": Member("<f8", (docs, "ranks")),
        f"{split}/sessions/queries": Member("<i8", (rows,)),
        f"{split}/sessions/documents": Member("<i8", (rows, "ranks")),
        f"{split}/sessions/clicks": Member("|b1", (rows, "ranks")),
        f"{split}/sessions/context/*": Member("S", (rows,)),
    }


_EXTRAS = {
    "scores": Member("<f8", ("documents",)),
    "propensities": Member("<f8", ("documents", "ranks")),
    "digests": Member("<u8", ("digests",)),
}
_TEST = _members("test")
MEMBERS = _members("train") | _members("valid") | _TEST | LISTS | _EXTRAS
_IF_KEPT = [name for name in MEMBERS if "/sessions/" in name or name.endswith("/propensities")]
OPTIONAL = [*_IF_KEPT, *_TEST, *LISTS, *_EXTRAS]


@dataclass(frozen=True)
class LogFile:
    """A log as it is stored: statistics by part, production's scores, where it came from."""

    statistics: Mapping[str, ClickStatistics]
    """``train`` and ``valid``, and ``test`` if the log has a test part."""
    scores: Floats | None
    """Production's scores on all documents of the data set; None if they are not known."""
    description: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    """Of the data set whose documents the log shows."""
    lists: Dataset | None = None
    """The log's own lists, without features or judgements; None if it lies on a data set."""
    propensities: Floats | None = None
    """Logged probabilities to show a document at a rank, ``[docs, K]``; 0 where none is logged."""
    part_propensities: Mapping[str, Floats] = field(default_factory=dict)
    """The same by part, where several policies served the log and their shares differ by part."""
    digests: NDArray[np.uint64] | None = None
    """The smallest digests of interactions (:mod:`cltr.logs.digests`); None if none are known."""

    @property
    def computed(self) -> bool:
        """Whether propensities are exact, of all documents, as from records of the serving rule."""
        return self.propensities is not None and self.description.get("exposure") == COMPUTED


def write_log(path: Path, log: LogFile) -> None:
    """Statistics alone: the size does not depend on the number of interactions."""
    with create_h5(path, format=FORMAT) as file:
        _write_frame(file, log)
        for split, statistics in log.statistics.items():
            _write_statistics(file, split, statistics)


def write_sessions(
    path: Path,
    log: LogFile,
    sessions: Mapping[str, tuple[int, Iterable[ClickLog]]],
    offsets: Mapping[str, NDArray[np.int64]],
    *,
    progress: Callable[[int], None] = lambda n: None,
) -> dict[str, ClickStatistics]:
    """The interactions chunk by chunk, counted as they pass; returns their statistics.

    Args:
        path: where to write.
        log: scores and description; its statistics are replaced by what is counted.
        sessions: number of interactions and chunks of them, by split.
        offsets: where each query's documents lie, by split.
        progress: called with the number of interactions of each chunk written.
    """
    counted = {}
    with create_h5(path, format=FORMAT) as file:
        _write_frame(file, log)
        for split, (n, chunks) in sessions.items():
            group = file.create_group(f"{split}/sessions")
            start, total = 0, None
            for chunk in chunks:
                _write_chunk(group, chunk, start, n)
                part = ClickStatistics.count(chunk, offsets[split])
                total = part if total is None else total + part
                start += len(chunk)
                progress(len(chunk))
            if total is None or start != n:
                raise DataError(f"{path}: {split} has {start} interactions; expected {n}")
            counted[split] = total
            _write_statistics(file, split, total)
    return counted


def _write_frame(file: h5py.File, log: LogFile) -> None:
    write_attributes(
        file, description=json.dumps(dict(log.description)), fingerprint=log.fingerprint
    )
    extras = {name: getattr(log, name) for name in _EXTRAS}
    extras |= {f"{split}/propensities": part for split, part in log.part_propensities.items()}
    for name, values in extras.items():
        if values is not None:
            file[name] = values
    if log.lists is not None:
        write_lists(file, log.lists)


def _write_statistics(file: h5py.File, split: str, statistics: ClickStatistics) -> None:
    for name in STATISTICS:
        file[f"{split}/{name}"] = getattr(statistics, name).astype(np.int64, copy=False)


def _write_chunk(group: h5py.Group, chunk: ClickLog, start: int, n: int) -> None:
    context = {f"context/{key}": _bytes(column) for key, column in chunk.context.items()}
    arrays = {
        "queries": chunk.queries,
        "documents": chunk.documents,
        "clicks": chunk.clicks,
        **context,
    }
    for name, array in arrays.items():
        if name not in group:
            dtype = "S64" if name.startswith("context/") else array.dtype
            group.create_dataset(name, (n, *array.shape[1:]), dtype)
        group[name][start : start + len(chunk)] = array


def _bytes(column: NDArray[Any]) -> NDArray[np.bytes_]:
    encoded = np.char.encode(column.astype(str), "utf-8")
    if encoded.dtype.itemsize > 64:
        raise DataError("a context value is longer than 64 bytes; shorten it")
    return encoded


def open_file(path: Path) -> AbstractContextManager[h5py.File]:
    """The HDF5 file of a log, checked; an error that helps if it is a log as it came."""
    if path.is_file() and path.name.lower().removesuffix(".gz").endswith(_AS_IT_CAME):
        raise DataError(
            f"{path}: is not a log file of cltr; import it first: cltr ingest {path} --out log.h5"
        )
    return open_h5(path, format=FORMAT, members=MEMBERS, optional=OPTIONAL)


_AS_IT_CAME = (".parquet", ".pq", ".csv", ".tsv", ".jsonl", ".ndjson", ".json")


def open_log(path: Path, dataset: Dataset | None = None) -> LogFile:
    """Read a log's statistics; with a data set, check that it shows that data set's documents."""
    with open_file(path) as file:
        statistics = {
            split: ClickStatistics(**{name: file[f"{split}/{name}"][...] for name in STATISTICS})
            for split in parts_of(path, file)
        }
        log = LogFile(
            statistics,
            file["scores"][...] if "scores" in file else None,
            _description(path, file),
            attribute(file, "fingerprint", str, path=path, default=""),
            read_lists(path, file),
            file["propensities"][...] if "propensities" in file else None,
            {
                split: file[f"{split}/propensities"][...]
                for split in statistics
                if f"{split}/propensities" in file
            },
            file["digests"][...] if "digests" in file else None,
        )
    _check(path, log, log.lists if dataset is None else dataset)
    return log


def _check(path: Path, log: LogFile, dataset: Dataset | None) -> None:
    parts = log.statistics
    for split, part in parts.items():
        check_counts(path, split, part)
    check_propensities(path, [log.propensities, *log.part_propensities.values()])
    if dataset is not None:
        check_data_set(path, dataset, log.fingerprint, log.description.get("data", ""))
        check_lists(path, dataset, parts, log.scores)
    if log.scores is not None:
        check_scores(path, log.scores, parts)


def parts_of(path: Path, file: h5py.File) -> tuple[str, ...]:
    """Parts of a log file; one that has anything of a test part must have all its counts."""
    if "test" not in file:
        return LOGGED_SPLITS
    missing = [name for name in STATISTICS if name not in file["test"]]
    if missing:
        expected = ", ".join(f"test/{name}" for name in STATISTICS)
        raise DataError(f"{path}: 'test/{missing[0]}' is missing; a test part has {expected}")
    return LOG_PARTS


def stored_lists(path: Path) -> Dataset | None:
    """The lists of a log that stands alone, without reading its counts."""
    with open_file(path) as file:
        return read_lists(path, file)


def own_lists(lists: Dataset | None, path: Path, *, made_with: str = "") -> Dataset:
    """The data set that a log is by itself; all its parts share its lists.

    Args:
        lists: of the log; None if it refers to a data set.
        path: the log.
        made_with: name of that data set; empty if it is not known.
    """
    if lists is None:
        named = f" ({made_with})" if made_with else ""
        raise DataError(
            f"{path}: the log refers to the documents of a data set{named}; give that data set "
            "with --data"
        )
    return lists


def _description(path: Path, file: h5py.File) -> dict[str, Any]:
    text = attribute(file, "description", str, path=path, default="{}")
    value = parse_json(text, where=f"{path}: attribute 'description'")
    return dict(Description.check(value, where=f"{path}: attribute 'description'"))


def check_part(path: Path, split: str, parts: Collection[str]) -> None:
    """Refuse a part that a log does not have."""
    if split not in parts:
        raise DataError(f"{path}: the log has no {split} part; it has {' and '.join(parts)}")


def shape_of(path: Path) -> tuple[int, bool]:
    """How many ranks the log shows, and whether it stands alone, without features."""
    with open_file(path) as file:
        return int(file["train/impressions"].shape[1]), "lists" in file


def read_statistics(
    path: Path | str, *, dataset: Dataset | None = None, split: str = "train"
) -> ClickStatistics:
    """The counts of one split of a log file.

    Args:
        path: of the log.
        dataset: on which it lies; none if it has lists of its own.
        split: ``train``, ``valid``, or ``test`` if the log has a test part.
    """
    statistics = open_log(Path(path), dataset).statistics
    check_part(Path(path), split, statistics)
    return statistics[split]
