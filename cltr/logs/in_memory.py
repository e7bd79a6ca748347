"""A log from elsewhere as interactions in memory: from files, or from a data frame."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.errors import UsageError
from cltr.files.frames import register_frame
from cltr.files.table_files import columns_of, expand, plain_errors, select_files, workspace
from cltr.interfaces import LogReader
from cltr.logs.count_arrays import Assembled, count_alone, count_on
from cltr.logs.id_coding import Tally
from cltr.logs.interactions import interactions
from cltr.logs.problems import Problems, parse_actions
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.types import ClickLog, Dataset

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def read_log(
    source: Any,
    *,
    reader: LogReader | None = None,
    dataset: Dataset | None = None,
    on: Sequence[str] = (),
    **columns: Any,
) -> ClickLog:
    """The interactions of Parquet, CSV, TSV or JSON files, or of a data frame.

    Args:
        source: a file, several of one kind, a data frame (pandas, polars, pyarrow), or lists or
            arrays by column name.
        reader: how files are laid out; one row per impression by default, and in data frames.
        dataset: whose documents were shown, by id; without, the log has lists of its own.
        on: what to do about problems, as ``gaps=drop`` (:mod:`cltr.logs.problems`).
        columns: names of columns that are not common, such as ``query_column="q"``.

    Example:
        >>> log = read_log({
        ...     "session": [1, 1, 2, 2],
        ...     "query": ["tea", "tea", "tea", "tea"],
        ...     "document": ["a", "b", "b", "c"],
        ...     "position": [1, 2, 1, 2],
        ...     "click": [0, 1, 1, 0],
        ... })
        >>> log.documents.tolist(), log.lists.document_ids.tolist()
        ([[0, 1], [1, 2]], ['a', 'b', 'c'])
    """
    paths = [source] if isinstance(source, str | Path) else source
    if not isinstance(paths, list | tuple) or not all(isinstance(p, str | Path) for p in paths):
        return _read_frame(source, dataset, on, columns)
    files, chosen = expand(paths), reader or LongReader(**columns)
    where = str(files[0])

    def cause(connection: "Connection") -> str:
        if not isinstance(chosen, LongReader):
            return ""
        return chosen.cause(connection, select_files(connection, files), where)

    return _read(lambda connection: chosen.select(connection, files), where, dataset, on, cause)


def _read_frame(
    frame: Any, dataset: Dataset | None, on: Sequence[str], columns: dict[str, Any]
) -> ClickLog:

    reader, where, table = LongReader(**columns), "data frame", "SELECT * FROM frame"

    def select(connection: "Connection") -> str:
        register_frame(connection, "frame", frame)
        return reader.select_from(connection, table, where)

    def cause(connection: "Connection") -> str:
        return reader.cause(connection, table, where)

    return _read(select, where, dataset, on, cause)


def _read(
    select: "Callable[[Connection], str]",
    where: str,
    dataset: Dataset | None,
    on: Sequence[str],
    cause: "Callable[[Connection], str]",
) -> ClickLog:
    with workspace() as connection, plain_errors([Path(where)]):
        connection.execute(f"CREATE TEMP VIEW raw AS {select(connection)}")
        columns = columns_of(connection, "SELECT * FROM raw")
        tally = Tally(
            connection,
            Problems(where, parse_actions(on)),
            columns,
            Split(share=0.0, test_share=0.0),
            keeps_context=True,
            cause=cache(lambda: cause(connection)),
        )
        if not tally.has_sessions:
            raise UsageError(
                f"{where}: rows have no session, so they form no interactions; name "
                "the session's column"
            )
        tally.code()
        with tally.problems.together():
            found = _count(tally, dataset, where)
        return _together(list(interactions(tally, found, "train")), tally, found.lists)


def _count(tally: Tally, dataset: Dataset | None, where: str) -> Assembled:
    """On lists of its own, or on a data set, all of it for training."""
    if dataset is None:
        return count_alone(tally, name=Path(where).stem)
    n = dataset.n_queries
    whole = replace(dataset, splits={"train": (0, n), "valid": (n, n), "test": (n, n)})
    return count_on(tally, whole)


def _together(chunks: list[ClickLog], tally: Tally, lists: Dataset) -> ClickLog:
    nothing = np.zeros((0, tally.top_k))
    empty = ClickLog(np.zeros(0, np.int64), nothing.astype(np.int64), nothing.astype(np.bool_))
    parts = chunks or [empty]
    return ClickLog(
        np.concatenate([part.queries for part in parts]),
        np.concatenate([part.documents for part in parts]),
        np.concatenate([part.clicks for part in parts]),
        {name: np.concatenate([part.context[name] for part in parts]) for name in parts[0].context},
        lists,
    )
