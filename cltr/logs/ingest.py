"""A log from elsewhere into a log file: read, counted, checked, split, written.

Nothing is dropped silently: every problem is counted, and dropped, kept or refused as one asked.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.errors import DataError, UsageError
from cltr.files.storage import keep_inputs
from cltr.interfaces import LogReader
from cltr.logs.count_arrays import (
    Assembled,
    count_alone,
    count_on,
    propensities_of,
    scores_of,
    statistics_of,
)
from cltr.logs.id_coding import Split, Tally
from cltr.logs.interactions import interactions
from cltr.logs.log_file import LogFile, write_log, write_sessions
from cltr.logs.problems import Problems
from cltr.logs.readers import ListReader, LongReader
from cltr.logs.score_files import create_scores, match_scores
from cltr.logs.summaries import summarise
from cltr.logs.table_files import OnShare, columns_of, expand, plain_errors, run, silent, workspace
from cltr.types import ClickStatistics, Dataset

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


@dataclass(frozen=True)
class IngestOptions:
    """How a log is taken in."""

    top_k: int = 0
    """Ranks to keep; as many as there are if 0."""
    split: Split = field(default_factory=Split)
    actions: Mapping[str, str] = field(default_factory=dict)
    """What to do about problems, by name (``cltr.logs.problems``)."""
    sessions: bool = False
    """Keep the interactions, not only their counts."""
    memory: str = ""


@dataclass(frozen=True)
class LogSource:
    """Where a log comes from."""

    paths: Sequence[Path]
    reader: LogReader
    valid: Sequence[Path] = ()
    """Files with validation interactions; else some are split off."""
    production: Path | None = None
    """A file with production's scores."""


def ingest_log(
    source: LogSource,
    out: Path,
    *,
    dataset: Dataset | None = None,
    options: IngestOptions | None = None,
    progress: OnShare = silent,
) -> dict[str, Any]:
    """Read a log and write it as a log file; returns a report.

    Args:
        source: the files, and how they are read.
        out: the log file to write.
        dataset: whose documents were shown, matched by id; without, the log stands alone.
        options: how it is taken in.
        progress: called now and then with the stage and how much of it is done.
    """
    began = time.perf_counter()
    options = options or IngestOptions()
    files = expand([*source.paths, *source.valid])
    keep_inputs(out, [*files, source.production] if source.production else files)
    with workspace(out.parent, memory=options.memory) as connection, plain_errors(files):
        tally = code(connection, source, options, progress)
        found = count(tally, source, dataset, name=out.stem)
        log = assemble(tally, source, dataset, found)
        log = replace(log, description=_describe(tally, source, files, options, log, found))
        if options.sessions:
            _write_interactions(tally, out, log, found)
        else:
            write_log(out, log)
    return report(log, out, seconds=time.perf_counter() - began)


def code(
    connection: "Connection", source: LogSource, options: IngestOptions, progress: OnShare = silent
) -> Tally:
    """Read a log; its tables are then in the connection."""
    query = source.reader.select(connection, list(source.paths))
    split = options.split
    if source.valid:
        held = source.reader.select(connection, list(source.valid))
        query = (
            f"SELECT *, false AS valid FROM ({query}) UNION ALL BY NAME "
            f"SELECT *, true AS valid FROM ({held})"
        )
        split = replace(split, by="files")
    files = expand([*source.paths, *source.valid])
    # Text is parsed once, and tables are joined once; Parquet is read again by each pass, which is
    # faster than keeping it.
    direct = isinstance(source.reader, LongReader | ListReader)
    kept = not direct or any(path.suffix.lower() not in (".parquet", ".pq") for path in files)
    what = "TABLE" if kept else "TEMP VIEW"
    run(connection, f"CREATE OR REPLACE {what} raw AS {query}", "parsing", progress)
    tally = Tally(
        connection,
        Problems(str(files[0]), options.actions),
        columns_of(connection, "SELECT * FROM raw"),
        split,
        top_k=options.top_k,
        numbered=kept and len(files) == 1 and isinstance(source.reader, LongReader),
        keeps_context=options.sessions,
        progress=progress,
    )
    tally.code()
    return tally


def count(
    tally: Tally, source: LogSource, dataset: Dataset | None = None, *, name: str = "log"
) -> Assembled:
    """Count a log, on a data set's documents or on lists of its own."""
    if source.production is not None:
        create_scores(tally.connection, source.production)
    if dataset is None:
        return count_alone(tally, name=name, offered=source.production is not None)
    found = count_on(tally, dataset)
    _check_matches(tally, dataset, found)
    return found


def assemble(tally: Tally, source: LogSource, dataset: Dataset | None, found: Assembled) -> LogFile:
    """The log as arrays."""
    lists = found.lists
    statistics = statistics_of(tally, found)
    _check_split(tally, statistics)
    scores = scores_of(tally, found)
    if source.production is not None:
        scores = match_scores(tally.connection, source.production, lists)
    shown = sum(int((part.impressions.sum(-1) > 0).sum()) for part in _apart(statistics, dataset))
    tally.problems.found("unshown-documents", _listed(lists, dataset) - shown)
    return LogFile(
        statistics,
        scores,
        fingerprint=lists.fingerprint,
        lists=None if dataset is not None else lists,
        propensities=propensities_of(tally, found),
    )


def _apart(
    statistics: Mapping[str, ClickStatistics], dataset: Dataset | None
) -> list[ClickStatistics]:
    """Statistics that lie on different documents."""
    train, valid = statistics["train"], statistics["valid"]
    return [train, valid] if dataset is not None else [train + valid]


def _listed(lists: Dataset, dataset: Dataset | None) -> int:
    if dataset is None:
        return lists.n_documents
    return sum(lists.part(split).n_documents for split in ("train", "valid"))


def _check_matches(tally: Tally, dataset: Dataset, found: Assembled) -> None:
    """Impressions on documents or queries that cannot be used with the data set."""
    from cltr.kernels import counting as kernel

    if not len(found.pairs):
        query, document = tally.row("SELECT query::VARCHAR, document::VARCHAR FROM names LIMIT 1")
        raise DataError(
            f"{tally.problems.where}: no document of the log is in '{dataset.name}'; the log has "
            f"query '{query}' and document '{document}', the data set query "
            f"'{dataset.query_ids[0]}' and document '{dataset.document_ids[0]}'"
        )
    tally.problems.found("unknown-documents", found.counted.of(kernel.UNKNOWN))
    tally.problems.found("test-queries", found.counted.of(kernel.TESTED))


def _check_split(tally: Tally, statistics: Mapping[str, ClickStatistics]) -> None:
    for split, part in statistics.items():
        if part.n_interactions == 0:
            advice = "give another --valid-share or --seed" if split == "valid" else "it needs some"
            raise DataError(f"{tally.problems.where}: no {split} interactions; {advice}")


def _write_interactions(tally: Tally, out: Path, log: LogFile, found: Assembled) -> None:
    if not tally.has_sessions:
        raise UsageError("--sessions: the log has no sessions, only single impressions")
    write_sessions(
        out,
        log,
        {
            split: (part.n_interactions, interactions(tally, found, split))
            for split, part in log.statistics.items()
        },
        {split: part.offsets for split, part in log.statistics.items()},
    )


def _describe(
    tally: Tally,
    source: LogSource,
    files: list[Path],
    options: IngestOptions,
    log: LogFile,
    found: Assembled,
) -> dict[str, Any]:
    return {
        "format": source.reader.name,
        "files": [path.name for path in files],
        "top_k": tally.top_k,
        "n_interactions": log.statistics["train"].n_interactions,
        "sessions": options.sessions,
        "single_impressions": not tally.has_sessions,
        "split": {
            "by": tally.split.by,
            "valid_share": tally.split.share,
            "seed": tally.split.seed,
        },
        "problems": tally.problems.table(),
        "interactions": summarise(tally, found.counted),
    }


def report(log: LogFile, out: Path, *, seconds: float) -> dict[str, Any]:
    """What was ingested, ready for JSON."""
    parts = log.statistics
    together = parts["train"].impressions.sum(0) + parts["valid"].impressions.sum(0)
    clicks = parts["train"].clicks.sum(0) + parts["valid"].clicks.sum(0)
    rates = clicks / np.maximum(together, 1)
    lists = log.lists
    return {
        **{key: log.description[key] for key in ("format", "files", "top_k", "sessions")},
        "n_interactions": {split: part.n_interactions for split, part in parts.items()},
        "impressions": {split: int(part.impressions.sum()) for split, part in parts.items()},
        "clicks": {split: int(part.clicks.sum()) for split, part in parts.items()},
        "queries": lists.n_queries if lists else None,
        "documents": lists.n_documents if lists else None,
        "impressions_by_rank": together.tolist(),
        "click_rate": [round(float(rate), 6) for rate in rates],
        "scores": log.scores is not None,
        "propensities": log.propensities is not None,
        "problems": log.description["problems"],
        "split": log.description["split"],
        "seconds": round(seconds, 3),
        "log": str(out),
    }
