"""A log file back to a table: a row for each document shown, as ``cltr ingest`` reads it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cltr.errors import DataError, UsageError
from cltr.files.storage import keep_inputs, write_beside
from cltr.files.table_files import KINDS, text, workspace
from cltr.logs.log_file import LogFile, open_log, own_lists
from cltr.logs.stored_sessions import read_sessions
from cltr.types import ClickLog, Dataset

_COPIES = {
    "parquet": "FORMAT parquet",
    "csv": "FORMAT csv, HEADER",
    "tsv": "FORMAT csv, HEADER, DELIMITER '\t', QUOTE ''",
    "json": "FORMAT json",
}


def export_log(path: Path, out: Path, *, dataset: Dataset | None = None) -> int:
    """Write the interactions of a log as Parquet, CSV, TSV or JSON lines; returns how many rows.

    Columns are session, query, document, position, click, the part of the log, and the context that
    was kept. Ingested again, the table gives the same counts and the same parts.

    Args:
        path: a log that keeps its interactions (``--sessions``).
        out: the file to write.
        dataset: on which the log lies; none if it has lists of its own.
    """
    copy, log, lists = _prepare(path, out, dataset)
    with workspace(out.parent) as connection:
        connection.execute(f"CREATE TABLE rows ({_columns(path, log)})")
        for rows in _rows(path, log, lists):
            connection.register("chunk", rows)
            connection.execute("INSERT INTO rows BY NAME SELECT * FROM chunk")
            connection.unregister("chunk")
        with write_beside(out) as partial:
            connection.execute(f"COPY rows TO {text(str(partial))} ({copy})")
        return int(connection.execute("SELECT count(*) FROM rows").fetchall()[0][0])


def export_scores(path: Path, out: Path, *, dataset: Dataset | None = None) -> int:
    """Write production's scores of a log as a table of query, document and score; returns rows.

    Args:
        path: a log that knows them.
        out: the file to write.
        dataset: on which the log lies; none if it has lists of its own.
    """
    copy, log, lists = _prepare(path, out, dataset)
    if log.scores is None:
        raise DataError(f"{path}: has no production scores")
    owners = np.repeat(lists.query_ids.astype(object), lists.lists.lengths)
    rows = {"query": owners, "document": lists.document_ids.astype(object), "score": log.scores}
    with workspace(out.parent) as connection, write_beside(out) as partial:
        connection.register("rows", rows)
        connection.execute(f"COPY (SELECT * FROM rows) TO {text(str(partial))} ({copy})")
    return len(owners)


def _prepare(path: Path, out: Path, dataset: Dataset | None) -> tuple[str, LogFile, Dataset]:
    """How to write, the log, and whose documents it shows."""
    kind = KINDS.get(out.suffix.lower())
    if kind is None:
        raise UsageError(f"{out}: the name of a table must end in {', '.join(KINDS)}")
    keep_inputs(out, [path])
    log = open_log(path, dataset)
    made_with = log.description.get("data", "")
    return _COPIES[kind], log, dataset or own_lists(log.lists, path, made_with=made_with)


_OWN = {"session": "VARCHAR", "query": "VARCHAR", "document": "VARCHAR", "position": "INTEGER",
        "click": "INTEGER", "part": "VARCHAR"}  # fmt: skip


def _context(path: Path, log: LogFile) -> list[str]:
    first = next(iter(read_sessions(path, next(iter(log.statistics)), chunk=1)), None)
    return [] if first is None else list(first.context)


def _columns(path: Path, log: LogFile) -> str:
    more = {f"context_{name}": "VARCHAR" for name in _context(path, log)}
    return ", ".join(f'"{name}" {kind}' for name, kind in (_OWN | more).items())


def _rows(path: Path, log: LogFile, lists: Dataset) -> Iterator[dict[str, Any]]:
    """Rows of all parts, some interactions at a time."""
    for split in log.statistics:
        part, first = lists.part(split), 0
        query_ids, document_ids = part.query_ids.astype(object), part.document_ids.astype(object)
        for chunk in read_sessions(path, split, chunk=100_000):
            yield _unrolled(chunk, split, first) | _ids(chunk, query_ids, document_ids)
            first += len(chunk)


def _unrolled(chunk: ClickLog, split: str, first: int) -> dict[str, Any]:
    interaction, rank = np.nonzero(chunk.documents >= 0)
    sessions = np.array([f"{split}-{first + i}" for i in range(len(chunk))], object)
    return {
        "session": sessions[interaction],
        "position": (rank + 1).astype(np.int32),
        "click": chunk.clicks[interaction, rank].astype(np.int32),
        "part": np.full(len(rank), split, object),
        **{
            f"context_{name}": column.astype(object)[interaction]
            for name, column in chunk.context.items()
        },
    }


def _ids(chunk: ClickLog, query_ids: Any, document_ids: Any) -> dict[str, Any]:
    interaction, rank = np.nonzero(chunk.documents >= 0)
    return {
        "query": query_ids[chunk.queries[interaction]],
        "document": document_ids[chunk.documents[interaction, rank]],
    }
