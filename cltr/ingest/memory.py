"""[1] A log from elsewhere as interactions in memory: from files, or from a data frame."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.errors import UsageError
from cltr.ingest.assembly import count_alone, count_on
from cltr.ingest.interactions import interactions
from cltr.ingest.problems import Problems, parse_actions
from cltr.ingest.readers import LongReader
from cltr.ingest.sources import columns_of, expand, plain_errors, workspace
from cltr.ingest.tallies import Split, Tally
from cltr.interfaces import LogReader
from cltr.types import ClickLog, Dataset

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def log_from_files(
    paths: Sequence[Path | str] | Path | str,
    *,
    reader: LogReader | None = None,
    dataset: Dataset | None = None,
    on: Sequence[str] = (),
    **columns: Any,
) -> ClickLog:
    """The interactions of Parquet, CSV, TSV or JSON files.

    Args:
        paths: a file, or several of one kind.
        reader: how they are laid out; one row per impression by default.
        dataset: whose documents were shown; without, the log has lists of its own.
        on: what to do about problems, as ``gaps=drop`` (:mod:`cltr.ingest.problems`).
        columns: options of the default reader, such as ``query_column``.
    """
    files = expand([paths] if isinstance(paths, str | Path) else paths)
    chosen = reader or LongReader(**columns)
    where = str(files[0])
    return _read(lambda connection: chosen.select(connection, files), where, dataset, on)


def log_from_frame(
    frame: Any, *, dataset: Dataset | None = None, on: Sequence[str] = (), **columns: Any
) -> ClickLog:
    """The interactions of a data frame with a row per impression; as :func:`log_from_files`.

    Args:
        frame: anything that duckdb reads: pandas, polars, pyarrow, a mapping of numpy arrays.
        dataset: whose documents were shown.
        on: what to do about problems.
        columns: options of the reader, such as ``query_column``.
    """

    def select(connection: "Connection") -> str:
        import duckdb

        try:
            connection.register("frame", dict(frame) if isinstance(frame, Mapping) else frame)
        except (duckdb.Error, TypeError) as error:
            kind = type(frame).__name__
            raise UsageError(f"a '{kind}' is no data frame that duckdb reads") from error
        return LongReader(**columns).select_from(connection, "SELECT * FROM frame", "data frame")

    return _read(select, "data frame", dataset, on)


def _read(
    select: "Callable[[Connection], str]", where: str, dataset: Dataset | None, on: Sequence[str]
) -> ClickLog:
    with workspace() as connection, plain_errors([Path(where)]):
        connection.execute(f"CREATE TEMP VIEW raw AS {select(connection)}")
        columns = columns_of(connection, "SELECT * FROM raw")
        tally = Tally(
            connection,
            Problems(where, parse_actions(on)),
            columns,
            Split(share=0.0),
            keeps_context=True,
        )
        if not tally.has_sessions:
            raise UsageError(f"{where}: has no sessions; single impressions are no interactions")
        tally.code()
        if dataset is None:
            found = count_alone(tally, name=Path(where).stem)
        else:
            n = dataset.n_queries
            whole = replace(dataset, splits={"train": (0, n), "valid": (n, n), "test": (n, n)})
            found = count_on(tally, whole)
        return _together(list(interactions(tally, found, "train")), tally, found.lists)


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
