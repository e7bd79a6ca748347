"""``cltr ingest``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import (
    Count,
    assignments_option,
    key_values,
    out_file,
    shared,
    warn_about_plugins,
)
from cltr.errors import UsageError

COLUMNS = {
    "query": "Column of the query or its id.",
    "document": "Column of the document's id.",
    "position": "Column of the position where the document was shown.",
    "click": "Column that says whether the document was clicked: 0 or 1, false or true.",
    "documents": "Format list: column of the documents shown, in order.",
    "clicks": "Format list: column of the clicks on the documents shown.",
    "event": "Format events: column that says what happened, an impression or a click.",
    "score": "Column of production's score of the document.",
    "propensity": "Column of production's probability to show the document at this position.",
    "logger": "Column of the policy that served the row, if several policies served the log.",
    "user": "Column of the user's id.",
    "time": "Column of the time of the interaction.",
}


def _columns(command: Any) -> Any:
    for name, meaning in reversed(COLUMNS.items()):
        flag = f"--{name}-column"
        command = click.option(flag, metavar="NAME", help=meaning)(command)
    return command


@click.command(
    "ingest",
    epilog="""\b
Examples:
  cltr ingest clicks.parquet --out log.h5
  cltr ingest clicks.tsv.gz --query-column q --document-column url --out log.h5
  cltr ingest sessions.jsonl --format list -o clicks-are=documents --out log.h5
  cltr ingest ubi_queries.jsonl ubi_events.jsonl --format ubi --out log.h5
  cltr ingest men.csv --format open-bandit --out log.h5
  cltr ingest monday.h5 tuesday.h5 --out days.h5
  cltr ingest shop.clicks --engine spark --master spark://host:7077 --out log.h5
  cltr ingest shop.clicks --emit-sql bigquery > count.sql
  cltr ingest counts.parquet --format counts --out log.h5
  cltr ingest clicks.parquet --feature-column 'bm25*' --data-out data.h5 --out log.h5
  cltr ingest clicks.parquet --data data.h5 --production scores.parquet --out log.h5

\b
Problems that --on knows: missing-values, bad-positions, no-first-position,
  unknown-clicks, repeated-clicks, beyond-top-k, repeated-rows, conflicts,
  repeated-documents, only-clicks, no-first-click, clicks-without-impression,
  gaps, unreadable-times, outside-window, unknown-documents, test-queries,
  unshown-documents, bad-propensities, varying-propensities,
  shared-interactions, varying-scores, missing-scores.""",
)
@click.argument("paths", nargs=-1, required=True)
@out_file(help="Log file to write (.h5).  [required]")
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    default="long",
    help="Layout of the log; 'cltr plugins' lists them under log-reader.  [long]",
)
@click.option(
    "--data",
    metavar="FILE",
    help="Data set file with the documents that were shown; matched by query and document id.",
)
@click.option(
    "--production",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table with production's scores (columns query, document, score).",
)
@click.option(
    "--session-column",
    "session_column",
    multiple=True,
    metavar="NAME",
    help="Column of the id of the interaction: of one request, with the list that was shown for "
    "it, not of a visit with several requests. Repeat it if several columns together identify an "
    "interaction. 'none' if each row is an impression of its own.",
)
@_columns
@click.option(
    "--page-column", metavar="NAME", help="Column of the page, if positions restart on each page."
)
@click.option(
    "--grid-columns",
    metavar="ROW,COLUMN",
    help="Two columns with the row and the column of a result in a grid, instead of a position.",
)
@click.option(
    "--context-column",
    "context_columns",
    multiple=True,
    metavar="NAME",
    help="Another column to store with --sessions; may be repeated.",
)
@click.option(
    "--feature-column",
    "feature_columns",
    multiple=True,
    metavar="PATTERN",
    help="Columns with features of the documents, such as 'bm25*': cltr writes them to --data-out, "
    "as they were at the document's first impression. May be repeated.",
)
@out_file("--data-out", help="Data set file to write (.h5), with the features of the log.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero", "mean"]),
    default="refuse",
    show_default=True,
    help="If a feature value is missing: refuse the log, or set the value to 0 or to the mean.",
)
@click.option(
    "--positions-from",
    type=click.Choice(["0", "1"]),
    help="Number of the first position in the log.  [1]",
)
@assignments_option(
    "Another option of the format, such as clicks-are=documents of the format list; 'cltr plugins "
    "FORMAT' lists them. May be repeated.",
    metavar="KEY=VALUE",
)
@click.option("--top-k", type=Count(), help="Number of ranks to keep.  [all]")
@click.option(
    "--valid",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the validation interactions, instead of a split; may be repeated.",
)
@click.option(
    "--test",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the test interactions, instead of a split; may be repeated.",
)
@click.option(
    "--valid-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the interactions to use for validation.",
)
@click.option(
    "--test-share",
    type=click.FloatRange(0, 1, max_open=True),
    help="Share of the interactions to use for testing; 0 for no test part.  [0.1]",
)
@click.option(
    "--split-by",
    type=click.Choice(["interaction", "user", "time", "part"]),
    help="Split by single interactions, by users, or by time, with the latest for testing; or as "
    "the column 'part' of an exported log says.  [part if the log has it, or interaction]",
)
@click.option(
    "--from",
    "start",
    metavar="TIME",
    help="Leave out interactions that began before this time, such as "
    "2024-01-31 or 2024-01-31T10:00:00+01:00.",
)
@click.option(
    "--until",
    metavar="TIME",
    help="Leave out interactions that began at this time or later; written as for --from.",
)
@click.option(
    "--valid-from",
    metavar="TIME",
    help="With --split-by time: interactions from this time on, up to --test-from, are for "
    "validation, such as 2024-01-31 or 2024-01-31T10:00:00+01:00.",
)
@click.option(
    "--test-from",
    metavar="TIME",
    help="With --split-by time: interactions from this time on are for testing, such as 2024-02-29 "
    "or 2024-02-29T10:00:00+01:00. Needs --valid-from too.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Seed of the split.  [1]")
@click.option(
    "--on",
    "actions",
    multiple=True,
    metavar="PROBLEM=ACTION",
    help="What to do about a problem of the log: keep or drop what it concerns, or refuse the log; "
    "such as gaps=drop or all=refuse. The problems are listed below. May be repeated.",
)
@click.option(
    "--sessions",
    is_flag=True,
    help="Also store each interaction (a ranking that was shown, and its clicks), not only counts: "
    "bounds get narrower, and more click models can be fitted. The file grows with the log.",
)
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="Engine that reads and counts the log: duckdb on this machine, or Spark. With Spark, "
    "PATHS are names of tables, or files that Spark can read.",
)
@click.option(
    "--master", default="", metavar="URL", help="Address of Spark's master.  [Spark's default]"
)
@click.option(
    "--emit-sql",
    type=click.Choice(["spark", "bigquery", "snowflake", "trino"]),
    help="Only print the SQL query that counts the table PATHS in this engine; run it there, then "
    "read its result with --format counts.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    default="",
    help="Most memory to use, such as 4GB.  [half of the machine's]",
)
@shared
def command(
    paths: tuple[str, ...],
    out: Path | None,
    format_: str,
    emit_sql: str | None,
    assignments: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    **flags: Any,
) -> None:
    """Import a click log: Parquet, CSV, TSV or JSON lines.

    PATHS are files, possibly compressed (.gz), or folders of files. They may be larger than memory.
    By default a log has a row for each document shown; with --format list it has a row for each
    interaction, which is one list shown for a query. cltr finds columns with common names; name the
    others. It counts what is wrong with the log, and says what it did about it.

    cltr splits the interactions into training, validation and test, so that a ranker can be judged
    by clicks that it has not seen. If the data set of --data has training, validation and test
    queries, as one with judgements has, the query of an interaction decides instead.

    Without --data the log has no features, and the scorer 'table' can be trained on it. PATHS may
    also be log files of this command (.h5): cltr merges them into one.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.ingest import ingest, ingest_sql
    from cltr.cli.common.output import show
    from cltr.report.log_tables import ingested_tables

    reader = _reader_options(flags, assignments)
    if emit_sql is not None:
        click.echo(ingest_sql(_one(paths), dialect=emit_sql, **_asked(flags, format_), **reader))
        return
    if out is None:
        raise UsageError("--out: name the log file to write")
    parts: dict[str, Any] = {part: flags.pop(part) or None for part in ("valid", "test")}
    found = ingest(
        paths,
        out=out,
        format=format_,
        on=flags.pop("actions"),
        progress=True,
        **parts,
        **flags,
        **reader,
    )
    show(found.report, ingested_tables(found.report), as_json=as_json)


def _one(paths: tuple[str, ...]) -> str:
    if len(paths) > 1:
        raise UsageError("--emit-sql: give one table; make a view of several")
    return paths[0]


def _asked(flags: dict[str, Any], format_: str) -> dict[str, Any]:
    """What a query can do of the options; others are refused."""
    unusable = ("data", "production", "valid", "test", "feature_columns", "data_out")
    for name in unusable:
        if flags.get(name):
            raise UsageError(
                f"--{name.replace('_', '-')}: cannot be used with --emit-sql; give it "
                "later, with --format counts"
            )
    names = ("valid_share", "test_share", "split_by", "valid_from", "test_from", "start", "until")
    asked = {name: flags[name] for name in (*names, "seed", "top_k", "sessions")}
    return asked | {"on": flags["actions"], "format": format_}


def _reader_options(flags: dict[str, Any], assignments: tuple[str, ...]) -> dict[str, Any]:
    """Options of the format: columns that were named, and ``-o``."""
    given = {f"{column}_column": flags.pop(f"{column}_column") for column in COLUMNS}
    given["session_column"] = flags.pop("session_column") or None
    given["page_column"], given["grid_columns"] = (
        flags.pop("page_column"),
        flags.pop("grid_columns"),
    )
    given["context_columns"] = flags.pop("context_columns") or None
    positions = flags.pop("positions_from")
    given["positions_from"] = int(positions) if positions else None
    given |= key_values(assignments, example="clicks-are=documents")
    return {key: value for key, value in given.items() if value is not None}
