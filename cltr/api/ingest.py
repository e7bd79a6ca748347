"""``cltr.ingest``."""

import inspect
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from cltr.api.log import Log
from cltr.api.progress import share_progress
from cltr.api.sources import DataLike, FileName, Frame, as_files, dataset_of, flat, name_of
from cltr.data.feature_columns import TableOptions
from cltr.data.log_features import import_log_features
from cltr.errors import UsageError
from cltr.experiment.components import build
from cltr.files.claims import hidden_folder, reserve
from cltr.files.storage import keep_inputs
from cltr.files.table_files import OnShare, workspace
from cltr.logs.ingest import IngestOptions, LogSource, check_production, ingest_log
from cltr.logs.merging import merge_files
from cltr.logs.problems import parse_actions
from cltr.logs.splitting import By, Split
from cltr.logs.time_windows import Window
from cltr.options import Choice


def ingest(
    source: FileName | Sequence[FileName] | Frame,
    *,
    out: FileName,
    format: str = "long",
    data: DataLike | None = None,
    production: FileName | Frame | None = None,
    top_k: int | None = None,
    valid: FileName | Sequence[FileName] | Frame | None = None,
    test: FileName | Sequence[FileName] | Frame | None = None,
    valid_share: float = 0.2,
    test_share: float | None = None,
    split_by: By | None = None,
    valid_from: str | None = None,
    test_from: str | None = None,
    start: str | None = None,
    until: str | None = None,
    seed: int = 1,
    on: Sequence[str] | Mapping[str, str] = (),
    sessions: bool = False,
    feature_columns: Sequence[str] = (),
    data_out: FileName | None = None,
    missing: str = "refuse",
    memory: str = "",
    engine: Literal["duckdb", "spark"] = "duckdb",
    master: str = "",
    progress: bool | None = None,
    **reader: Any,
) -> Log:
    """Import a click log into a log file. Same as ``cltr ingest``.

    Args:
        source: files or folders (Parquet, CSV, TSV, JSON lines), a data frame, or lists by column
            name. Log files (.h5) are merged: their counts are added.
        out: the log file to write.
        format: layout of the source; ``long`` has one row for each document that was shown.
        data: the data set with the documents that were shown; ids are matched.
        production: production's scores: a file or a table with query, document and score.
        top_k: number of ranks to keep; all by default.
        valid: source of validation interactions, instead of a part of ``source``.
        test: test interactions, instead of splitting some off.
        valid_share: share of the interactions to split off for validation.
        test_share: share to split off for testing; 0.1 where it is possible by default.
        split_by: what is split: ``interaction``, ``user``, or ``time``; or ``part``: the column
            ``part`` of an exported log says which interaction is in which part. This is the default
            for a log with such a column; without it, single interactions are split.
        valid_from: first time of validation, with ``split_by="time"``.
        test_from: time at which the test part begins, with ``split_by="time"``.
        start: leave out interactions that began earlier.
        until: leave out interactions that began at this time or later.
        seed: seed of the split.
        on: what to do about problems, such as ``{"gaps": "drop"}`` or ``{"all": "refuse"}``.
        sessions: keep every interaction, not only counts.
        feature_columns: patterns of feature columns in the log, such as ``bm25*``. cltr makes a
            data set without judgements from them. A document has the features of its first
            impression.
        data_out: the data set file to write from these features.
        missing: what to do about missing features: ``refuse``, ``zero`` or ``mean``.
        memory: most memory to use, such as ``4GB``; half of the machine's by default.
        engine: program that reads and counts the log: ``duckdb`` or ``spark``. With Spark,
            ``source`` names Spark tables or files that Spark can read.
        master: Spark's master, such as ``spark://host:7077``; Spark chooses by default.
        progress: show progress bars; by default only in a terminal.
        reader: options of the format, such as ``query_column="q"``. ``cltr plugins long`` lists
            them.
    """
    given = dict(locals())
    if engine != "duckdb":
        return _ingest_elsewhere(given, reader)
    if master:
        raise UsageError("--master: can only be used with --engine spark")
    with (
        reserve(Path(out)),
        as_files(source, valid, test, production) as (paths, for_valid, for_test, scores),
    ):
        if any(path.suffix == ".h5" for path in paths):
            return Log(out, report=_merge(paths, Path(out), given))
        chosen = build("log-reader", Choice(name=format, **reader), owner=format)
        options = _options(given)
        called = name_of(data if data_out is None else data_out)
        origin = LogSource(paths, chosen, for_valid, next(iter(scores), None), for_test, called)
        with share_progress(progress) as bars, _beside(data_out, [*paths, out]) as place:
            notes = _make_dataset(paths, given | {"data_out": place}, reader, bars)
            dataset = dataset_of(data if place is None else str(place))
            report = ingest_log(origin, Path(out), dataset=dataset, options=options, progress=bars)
    report["notes"] = [*notes, *report["notes"]]
    return Log(out, report=report)


def _options(given: Mapping[str, Any]) -> IngestOptions:
    """How a log is taken in, from the arguments of :func:`ingest`."""
    times = {key: str(given[key] or "") for key in ("valid_from", "test_from", "start", "until")}
    return IngestOptions(
        top_k=given["top_k"] or 0,
        split=Split(
            given["valid_share"],
            given["split_by"] or "interaction",
            given["seed"],
            given["test_share"],
            times["valid_from"],
            times["test_from"],
        ),
        window=Window(times["start"], times["until"]),
        keep_parts=given["split_by"] is None,
        actions=parse_actions(flat(given["on"])),
        sessions=given["sessions"],
        memory=given["memory"],
    )


def _ingest_elsewhere(given: Mapping[str, Any], reader: Mapping[str, Any]) -> Log:
    """Count a log by Spark, and write what comes home."""
    if given["engine"] != "spark":
        raise UsageError(f"--engine {given['engine']}: expected duckdb or spark")
    for name in ("valid", "test", "feature_columns", "data_out"):
        if given[name]:
            flag = "--feature-column" if name == "feature_columns" else f"--{name}"
            raise UsageError(f"{flag.replace('_', '-')}: cannot be used with --engine spark")
    from cltr.logs.remote_counts import counted_by_spark

    out, tables = Path(given["out"]), _tables(given["source"])
    chosen = build("log-reader", Choice(name=given["format"], **reader), owner=given["format"])
    options = _options(given)
    dataset = dataset_of(given["data"])
    began = time.perf_counter()
    with (
        reserve(out),
        as_files(given["production"]) as (scores,),
        share_progress(given["progress"]) as bars,
    ):
        with workspace() as connection:
            check_production(connection, next(iter(scores), None), chosen)
        bars("counting", 0.0)
        with counted_by_spark(tables, chosen, options, master=given["master"]) as origin:
            bars("counting", 1.0)
            scored = replace(
                origin, production=next(iter(scores), None), data=name_of(given["data"])
            )
            report = ingest_log(scored, out, dataset=dataset, options=options, progress=bars)
    report["seconds"] = round(time.perf_counter() - began, 3)
    return Log(out, report=report)


def _tables(source: Any) -> list[str]:
    """Names of Spark's tables, or of files that Spark reads."""
    named = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(named, Sequence) or not all(isinstance(n, str | os.PathLike) for n in named):
        raise UsageError("--engine spark: needs names of tables or files, not a table in memory")
    tables = [str(one) for one in named]
    if any(table.endswith(".h5") for table in tables):
        raise UsageError("--engine spark: cannot read log files (.h5); merge them without it")
    return tables


def ingest_sql(table: str, *, dialect: str, format: str = "long", **options: Any) -> str:
    """Return the SQL query with which another engine cleans, checks, splits and counts a log.

    Save its result as Parquet and read it with ``cltr.ingest(file, format="counts", out=...)``. The
    default names of columns are query, document, position, click and session.

    Args:
        table: name of the table in that engine.
        dialect: ``spark``, ``bigquery``, ``snowflake`` or ``trino``.
        format: layout of the table; ``long`` has one row for each document that was shown.
        options: options of :func:`ingest` for the split, times and columns.
    """
    from cltr.logs.portable.dialects import DIALECTS
    from cltr.logs.remote_counts import emitted

    if dialect not in DIALECTS:
        raise UsageError(f"--emit-sql {dialect}: expected {', '.join(DIALECTS)}")
    known = inspect.signature(ingest).parameters
    given = {name: one.default for name, one in known.items()} | options
    reader = {name: value for name, value in options.items() if name not in known}
    chosen = build("log-reader", Choice(name=format, **reader), owner=format)
    return emitted(table, dialect, chosen, _options(given))


@contextmanager
def _beside(path: FileName | None, kept: Sequence[FileName]) -> Iterator[Path | None]:
    """Where to write a file that takes its name when all else is done, and not before.

    Args:
        path: the file; None if there is none to write.
        kept: files that it must not replace.
    """
    if path is None:
        yield None
        return
    keep_inputs(Path(path), [Path(one) for one in kept])
    with reserve(Path(path)), hidden_folder(Path(path).parent) as folder:
        place = folder / Path(path).name
        yield place
        os.replace(place, path)


def _make_dataset(
    paths: Sequence[Path], given: Mapping[str, Any], reader: Mapping[str, Any], progress: OnShare
) -> list[str]:
    """A data set of the features that stand in the log, where some are named; what was decided."""
    patterns, out = given["feature_columns"], given["data_out"]
    if not patterns and out is None:
        return []
    if not patterns or out is None:
        raise UsageError("--feature-column and --data-out go together; give both")
    if given["format"] != "long" or any(given[k] is not None for k in ("data", "valid", "test")):
        raise UsageError(
            "--feature-column: needs a log with a row for each impression (--format long), and "
            "cannot be used with --data, --valid or --test"
        )
    named = {key: reader[key] for key in ("query_column", "document_column") if key in reader}
    chosen = named | {"feature_columns": tuple(patterns), "missing": given["missing"]}
    info = import_log_features(
        paths,
        Path(out),
        TableOptions.parse(chosen, owner=""),
        time_column=reader.get("time_column", ""),
        memory=given["memory"],
        progress=progress,
    )
    return [note for note in info["notes"] if not note.startswith("columns:")]


def _merge(paths: Sequence[Path], out: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Add up log files, whole parts of which may be left out."""
    if not all(path.suffix == ".h5" for path in paths):
        raise UsageError("give either log files (.h5) to merge, or files to import, not both")
    defaults = {name: one.default for name, one in inspect.signature(ingest).parameters.items()}
    free = ("source", "out", "progress", "reader", "start", "until", "on")
    asked = [*given["reader"]]
    asked += [key for key in given if key not in free and not _same(given[key], defaults[key])]
    if asked:
        raise UsageError(
            f"--{asked[0].replace('_', '-')}: cannot be used when log files (.h5) are merged; "
            "leave it out"
        )
    window = Window(str(given["start"] or ""), str(given["until"] or ""))
    return merge_files(paths, out, window=window, actions=parse_actions(flat(given["on"])))


def _same(value: Any, default: Any) -> bool:
    """Whether a value is the default; a data frame, which has no single answer to ==, is not."""
    return value is default or (isinstance(value, float | int | str | tuple) and value == default)
