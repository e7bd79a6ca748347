"""A log from elsewhere into a log file: read, counted, checked, split, written.

Nothing is dropped silently: every problem is counted, and dropped, kept or refused as one asked.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cltr.errors import UsageError
from cltr.files.storage import keep_inputs
from cltr.files.table_files import (
    OnShare,
    columns_of,
    expand,
    plain_errors,
    quoted,
    run,
    select_files,
    silent,
    workspace,
)
from cltr.interfaces import LogReader
from cltr.logs.count_arrays import (
    Assembled,
    count_alone,
    count_on,
    scores_of,
    statistics_of,
)
from cltr.logs.count_checks import check_first_clicks, check_matches, check_split
from cltr.logs.digests import digests_of
from cltr.logs.exported_parts import reading_part, settle_parts
from cltr.logs.id_coding import Tally
from cltr.logs.interactions import interactions
from cltr.logs.list_reader import ListReader
from cltr.logs.log_file import COMPUTED, LogFile, write_log, write_sessions
from cltr.logs.log_lists import shared_splits
from cltr.logs.log_report import report
from cltr.logs.logged_chances import logged_chances
from cltr.logs.portable.counts_reader import CountsReader
from cltr.logs.portable.home import Asked, open_counts
from cltr.logs.problems import Problems
from cltr.logs.readers import LongReader
from cltr.logs.score_files import check_columns, create_scores, match_scores
from cltr.logs.served_chances import offer_candidates, served_chances, served_scores
from cltr.logs.shown import documents_shown
from cltr.logs.splitting import FILE_PART, PART, Split
from cltr.logs.summaries import summarise
from cltr.logs.time_windows import Window
from cltr.types import Dataset, Floats

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
    window: Window = field(default_factory=Window)
    """Times between which interactions are kept."""
    keep_parts: bool = True
    """Let a column ``part``, as in an exported log, say how interactions are split."""
    sessions: bool = False
    """Keep the interactions, not only their counts."""
    memory: str = ""


@dataclass(frozen=True)
class Brought:
    """A table of counts that another engine made."""

    counts: Any
    """A table of Arrow; see :mod:`cltr.logs.portable.counted_table`."""
    cause: Callable[[], str] = lambda: ""
    """Says why rows contradict each other."""


@dataclass(frozen=True)
class LogSource:
    """Where a log comes from."""

    paths: Sequence[Path]
    reader: LogReader
    valid: Sequence[Path] = ()
    """Files with validation interactions; else some are split off."""
    production: Path | None = None
    """A file with production's scores."""
    test: Sequence[Path] = ()
    """Files with test interactions; else some are split off, unless validation files are given."""
    data: str = ""
    """What the user called the data set; empty if there is none, or it has no name."""
    brought: "Brought | None" = None
    """What another engine counted; then paths are the names of its tables."""

    @property
    def has_counts(self) -> bool:
        """Whether the log was counted elsewhere."""
        return self.brought is not None or isinstance(self.reader, CountsReader)

    @property
    def files(self) -> list[Path]:
        """All files with interactions, folders expanded."""
        if self.brought is not None:
            return [*self.paths]
        return expand([*self.paths, *self.valid, *self.test])


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
        dataset: whose documents were shown, matched by id; its splits are the parts of the log.
            Without, the log stands alone. Then, and where the data set has no splits, its
            interactions are split.
        options: how it is taken in.
        progress: called now and then with the stage and how much of it is done.
    """
    began = time.perf_counter()
    options = _settle(source, options or IngestOptions(), dataset)
    files = source.files
    keep_inputs(out, [*files, source.production] if source.production else files)
    with workspace(out.parent, memory=options.memory) as connection, plain_errors(files):
        check_production(connection, source.production, source.reader)
        tally = code(connection, source, options, progress)
        if dataset is not None and not dataset.shared:  # its queries decide the parts
            tally.split = replace(tally.split, test_share=0.0)
        with tally.problems.together():
            found = count(tally, source, dataset, name=out.stem)
            log = assemble(tally, source, dataset, found)
        described = _describe(tally, source, files, options, log, found)
        notes = [*log.description["notes"], *_notes(tally, source, dataset, log.statistics)]
        notes += tally.notes if dataset is None or dataset.shared else ()
        notes += _shared_users(described["interactions"], tally.split)
        log = replace(log, description={**log.description, **described, "notes": notes})
        if options.sessions:
            _write_interactions(tally, out, log, found)
        else:
            write_log(out, log)
    return report(log, out, seconds=time.perf_counter() - began)


def _settle(source: LogSource, options: IngestOptions, dataset: Dataset | None) -> IngestOptions:
    """Refuse options that contradict each other; a data set's splits leave nothing to split off."""
    if options.split.by == PART and (source.valid or source.test):
        flag = "--valid" if source.valid else "--test"
        raise UsageError(f"--split-by part: cannot be used with {flag}; leave one of them out")
    if dataset is not None and not dataset.shared:
        if source.test or options.split.test_share:
            flag = "--test" if source.test else "--test-share"
            raise UsageError(
                f"{flag}: with --data, the test part is what was logged on the data set's test "
                "queries; leave it out"
            )
        if not source.has_counts:  # whoever counted has decided
            return replace(options, split=replace(options.split, test_share=0.0))
        return options
    if options.split.test_share and (source.valid or source.test):
        flag = "--valid" if source.valid else "--test"
        raise UsageError(
            f"--test-share: with {flag}, no test interactions are split off; "
            "give files with test interactions (--test), or leave out --test-share"
        )
    return options


def check_production(connection: "Connection", path: Path | None, reader: LogReader) -> None:
    """Refuse unclear columns of production's scores before the log is read, which may take long."""
    if path is not None:
        check_columns(connection, path, named=_named(reader))


def code(
    connection: "Connection", source: LogSource, options: IngestOptions, progress: OnShare = silent
) -> Tally:
    """Read a log; its tables are then in the connection."""
    if source.has_counts:
        return _code_counts(connection, source, options)
    parts, split = (source.paths, source.valid, source.test), options.split
    reader = source.reader
    if not source.valid and not source.test:
        reader = reading_part(
            reader, lambda: columns_of(connection, select_files(connection, source.paths)), split
        )
    queries = {
        number: reader.select(connection, list(paths))
        for number, paths in enumerate(parts)
        if paths
    }
    query = queries[0]
    if len(queries) > 1:
        query = " UNION ALL BY NAME ".join(
            f"SELECT *, {number} AS {quoted(FILE_PART)} FROM ({one})"
            for number, one in queries.items()
        )
        split = replace(split, by="files" if source.valid else split.by, test_share=0.0)
    files = source.files
    # Text is parsed once, and tables are joined once; Parquet is read again by each pass, which is
    # faster than keeping it.
    direct = isinstance(source.reader, LongReader | ListReader)
    kept = not direct or any(path.suffix.lower() not in (".parquet", ".pq") for path in files)
    what = "TABLE" if kept else "TEMP VIEW"
    run(connection, f"CREATE OR REPLACE {what} raw AS {query}", "parsing", progress)
    columns = columns_of(connection, "SELECT * FROM raw")
    notes: tuple[str, ...] = ()
    if reader is not source.reader:
        split, notes = settle_parts(connection, columns, split, keep=options.keep_parts)
        if split.by != PART and PART not in source.reader.options.context_columns:
            columns.pop(PART)  # nobody asked for it
    tally = Tally(
        connection,
        Problems(str(files[0]), options.actions),
        columns,
        split,
        options.window,
        top_k=options.top_k,
        numbered=kept and len(files) == 1 and isinstance(source.reader, LongReader),
        keeps_context=options.sessions,
        progress=progress,
        cause=cache(lambda: _cause(connection, source)),
        notes=notes,
    )
    tally.code()
    return tally


def _code_counts(connection: "Connection", source: LogSource, options: IngestOptions) -> Tally:
    """The same of a log that another engine counted."""
    if options.sessions or source.valid or source.test:
        flag = "--sessions" if options.sessions else "--valid" if source.valid else "--test"
        raise UsageError(
            f"{flag}: needs single interactions, and the input has only counts; leave it out"
        )
    asked = Asked(options.split, options.window, options.actions, options.top_k)
    where = str(source.paths[0])
    if source.brought is None:
        table = source.reader.select(connection, list(source.paths))
        return open_counts(connection, table, asked, where=where)
    asked = replace(asked, split=Split(), window=Window())  # as asked for when it was counted
    connection.register("brought", source.brought.counts)
    cause = source.brought.cause
    return open_counts(connection, "SELECT * FROM brought", asked, where=where, cause=cause)


def _cause(connection: "Connection", source: LogSource) -> str:
    """Why rows contradict each other, as far as the reader can tell."""
    if not isinstance(source.reader, LongReader):
        return ""
    table = select_files(connection, source.files)
    return source.reader.cause(connection, table, str(source.files[0]))


def count(
    tally: Tally, source: LogSource, dataset: Dataset | None = None, *, name: str = "log"
) -> Assembled:
    """Count a log, on a data set's documents or on lists of its own."""
    offered = offer_candidates(tally)
    if source.production is not None:
        create_scores(tally.connection, source.production, named=_named(source.reader))
        offered = True
    if dataset is None:
        return count_alone(tally, name=name, offered=offered)
    found = count_on(tally, dataset)
    check_matches(tally, dataset, found)
    return found


def _named(reader: LogReader) -> dict[str, str]:
    """Columns of the log that the user named; a file with scores may use the same names."""
    keys = ("query_column", "document_column", "score_column")
    return {key: name for key in keys if (name := getattr(reader.options, key, ""))}


def assemble(tally: Tally, source: LogSource, dataset: Dataset | None, found: Assembled) -> LogFile:
    """The log as arrays."""
    lists, statistics = found.lists, statistics_of(tally, found)
    check_split(tally, statistics, alone=found.places.shared)
    check_first_clicks(tally, statistics)
    if dataset is None:
        lists = replace(lists, splits=shared_splits(lists.n_queries, tested="test" in statistics))
    served = served_chances(tally, found)
    scores: Floats | None = None
    if source.production is not None:
        scores = match_scores(tally.connection, source.production, lists)
    elif served:
        scores = served_scores(tally, found)
    elif "logger" not in tally.columns:
        scores = scores_of(tally, found)
    chances = served or logged_chances(tally, found)
    shown = documents_shown(statistics, shared=found.places.shared)
    tally.problems.found("unshown-documents", _listed(found, statistics) - shown)
    digests, made_of = digests_of(tally)
    described: dict[str, Any] = {"loggers": chances.loggers} if chances.loggers else {}
    described |= {"exposure": COMPUTED} if served and served.whole is not None else {}
    described |= {"notes": [*chances.notes]}
    return LogFile(
        statistics,
        scores,
        fingerprint=lists.fingerprint,
        lists=None if dataset is not None else lists,
        propensities=chances.whole,
        part_propensities=chances.by_part,
        description=described | ({"digests": made_of} if made_of else {}),
        digests=digests,
    )


def _listed(found: Assembled, parts: Iterable[str]) -> int:
    if found.places.shared:
        return found.lists.n_documents
    return sum(found.lists.part(split).n_documents for split in parts)


def _notes(
    tally: Tally, source: LogSource, dataset: Dataset | None, parts: Iterable[str]
) -> list[str]:
    """Why the log has no test part, where nobody asked for that."""
    if "test" in parts:
        return []
    if dataset is not None and not dataset.shared:
        dropped = tally.problems.counts.get("test-queries")
        why = "" if dropped else "nothing was logged on the test queries of the data set"
    elif source.test:
        why = "nothing is left of the test files"
    elif source.valid:
        why = "validation files are given, and no test files (--test)"
    elif tally.split.tested:
        coarse = " or times too coarse" if tally.split.by == "time" else ""
        why = f"interactions are too few{coarse} to split some off"
    else:
        why = ""
    return [f"the log has no test part: {why}"] if why else []


def _shared_users(summary: Mapping[str, Any], split: Split) -> list[str]:
    """That users are known, and interactions were split without regard to them."""
    users = summary.get("users", {})
    shared = users.get("in_both_splits", 0) or users.get("in_test_too", 0)
    if not shared or split.by != "interaction":
        return []
    return [
        "some users are in several parts of the log, so the parts depend on each other; "
        "--split-by user keeps all interactions of a user in one part"
    ]


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
        "data": source.data,
        "top_k": tally.top_k,
        "n_interactions": log.statistics["train"].n_interactions,
        "sessions": options.sessions,
        "single_impressions": not tally.has_sessions,
        "shared_lists": found.places.shared,
        "split": {
            "by": tally.split.by,
            "valid_share": tally.split.share,
            "test_share": tally.split.tested,
            "seed": tally.split.seed,
        },
        "windows": dict(tally.cuts),
        "problems": tally.problems.table(),
        "interactions": summarise(tally, found),
    }
