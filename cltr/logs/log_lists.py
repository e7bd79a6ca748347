"""The lists of a log that stands alone: all that was ever shown for a query, by id."""

from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.files.fingerprints import fingerprint
from cltr.files.schema import Member
from cltr.files.storage import map_array
from cltr.files.text import code_points, text_of
from cltr.types import Dataset

MEMBERS = {
    "lists/offsets": Member("<i8", ("queries+1",)),
    "lists/query_ids": Member("<u4", ("queries", "width of query ids")),
    "lists/document_ids": Member("<u4", ("documents", "width of document ids")),
}


def lists_of_log(
    offsets: NDArray[np.int64],
    query_ids: NDArray[np.str_],
    document_ids: NDArray[np.str_],
    *,
    name: str = "log",
    tested: bool = False,
) -> Dataset:
    """Lists without features or judgements; all parts of the log lie on them.

    Args:
        offsets: where each query's documents lie, ``[queries + 1]``.
        query_ids: as text.
        document_ids: as text.
        name: of the log.
        tested: whether the log has a test part; without, no query is for testing.

    Example:
        >>> ids = np.array(["tea", "coffee"]), np.array(["d1", "d2", "d1"])
        >>> lists_of_log(np.array([0, 2, 3]), *ids).splits
        {'train': (0, 2), 'valid': (0, 2), 'test': (2, 2)}
    """
    n_queries, n_documents = len(offsets) - 1, int(offsets[-1])
    return Dataset(
        features=np.zeros((n_documents, 0), np.float32),
        labels=np.full(n_documents, np.nan),
        offsets=offsets,
        query_ids=query_ids,
        document_ids=document_ids,
        splits=shared_splits(n_queries, tested=tested),
        name=name,
        fingerprint=fingerprint(
            offsets=offsets,
            query_ids=code_points(query_ids),
            document_ids=code_points(document_ids),
        ),
    )


def shared_splits(n_queries: int, *, tested: bool) -> dict[str, tuple[int, int]]:
    """Splits of lists that all parts of a log share; the test split is empty if it has none."""
    every = (0, n_queries)
    return {"train": every, "valid": every, "test": every if tested else (n_queries, n_queries)}


def write_lists(file: h5py.File, lists: Dataset) -> None:
    """Into an open log file."""
    file["lists/offsets"] = lists.offsets
    file["lists/query_ids"] = code_points(lists.query_ids)
    file["lists/document_ids"] = code_points(lists.document_ids)


def read_lists(path: Path, file: h5py.File) -> Dataset | None:
    """From an open log file, checked; None if it has none."""
    missing = [name for name in MEMBERS if name not in file]
    if len(missing) == len(MEMBERS):
        return None
    if missing:
        raise DataError(f"{path}: '{missing[0]}' is missing; expected {', '.join(MEMBERS)}")
    offsets = file["lists/offsets"][...]
    queries, documents = (map_array(file[f"lists/{name}_ids"]) for name in ("query", "document"))
    rising = len(offsets) > 1 and offsets[0] == 0 and (np.diff(offsets) > 0).all()
    if not rising or offsets[-1] != len(documents):
        raise DataError(
            f"{path}: 'lists/offsets' must rise from 0 to {len(documents)}, the number of "
            "documents; the file is damaged, so make it again"
        )
    return lists_of_log(
        offsets,
        text_of(path, "lists/query_ids", queries),
        text_of(path, "lists/document_ids", documents),
        name=path.stem,
        tested="test" in file,
    )
