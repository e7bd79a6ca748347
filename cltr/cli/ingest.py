"""``cltr ingest``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import Count, key_values, shared, warn_about_plugins
from cltr.errors import UsageError

COLUMNS = {
    "query": "The query, or its id.",
    "document": "The document's id.",
    "position": "Where it was shown.",
    "click": "Whether it was clicked.",
    "documents": "List form: the documents shown, in order.",
    "clicks": "List form: the clicks on them.",
    "event": "Event log: what happened, an impression or a click.",
    "score": "Production's score of the document.",
    "propensity": "Production's probability to show it there.",
    "logger": "Policy that served it, where several policies served the log.",
    "user": "User id.",
    "time": "Time of the interaction.",
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
  cltr ingest clicks.parquet --data data.h5 --production scores.parquet --out log.h5""",
)
@click.argument("paths", nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), help="Log file to write.  [required]")
@click.option(
    "--format", "format_", metavar="NAME", default="long", help="How it is laid out.  [long]"
)
@click.option("--data", metavar="FILE", help="Data set whose documents were shown, by their ids.")
@click.option(
    "--production",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Production's scores: a table of query, document, score.",
)
@click.option(
    "--session-column",
    "session_column",
    multiple=True,
    metavar="NAME",
    help="Id of the interaction; repeat it if several columns together tell interactions apart. "
    "'none' for single impressions.",
)
@_columns
@click.option(
    "--page-column", metavar="NAME", help="Number of the page, if positions restart on each page."
)
@click.option(
    "--grid-columns",
    metavar="ROW,COLUMN",
    help="Row and column of a grid of results, instead of a position.",
)
@click.option(
    "--context-column",
    "context_columns",
    multiple=True,
    metavar="NAME",
    help="A column to keep with interactions; may be repeated.",
)
@click.option(
    "--feature-column",
    "feature_columns",
    multiple=True,
    metavar="PATTERN",
    help="Features in the log, such as 'bm25*', to make a data set of (--data-out); a document has "
    "those of its first impression. May be repeated.",
)
@click.option(
    "--data-out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Data set file to write from the features of the log.",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero", "mean"]),
    default="refuse",
    show_default=True,
    help="Missing features in the log: refuse them, or set them to 0 or to the mean.",
)
@click.option(
    "--positions-from", type=click.Choice(["0", "1"]), help="Number of the first position.  [1]"
)
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Another option of the format; 'cltr plugins NAME' shows them.",
)
@click.option("--top-k", type=Count(), help="Ranks to keep.  [all]")
@click.option(
    "--valid",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Validation interactions, instead of splitting some off; may be repeated.",
)
@click.option(
    "--test",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Test interactions, instead of splitting some off; may be repeated.",
)
@click.option(
    "--valid-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the interactions to split off for validation.",
)
@click.option(
    "--test-share",
    type=click.FloatRange(0, 1, max_open=True),
    help="Share of the interactions to split off for testing; 0 for no test part.  [0.1]",
)
@click.option(
    "--split-by",
    type=click.Choice(["interaction", "user", "time"]),
    default="interaction",
    show_default=True,
    help="What is split: interactions, users, or earlier from later, with the latest for testing.",
)
@click.option("--from", "start", metavar="TIME", help="Leave out interactions that began earlier.")
@click.option(
    "--until",
    metavar="TIME",
    help="Leave out interactions that began at this time or later.",
)
@click.option(
    "--valid-from", metavar="TIME", help="First time of validation, with --split-by time."
)
@click.option("--test-from", metavar="TIME", help="First time of test, with --split-by time.")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Decides the split.  [1]")
@click.option(
    "--on",
    "actions",
    multiple=True,
    metavar="PROBLEM=ACTION",
    help="Keep, drop or refuse a problem, such as gaps=drop or all=refuse; may be repeated.",
)
@click.option("--sessions", is_flag=True, help="Keep the interactions, not only their counts.")
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="What counts the log: duckdb here, or Spark where the log lives; then PATHS are its "
    "tables, or files that it can read.",
)
@click.option("--master", default="", metavar="URL", help="Spark's master.  [Spark's own choice]")
@click.option(
    "--emit-sql",
    type=click.Choice(["spark", "bigquery", "snowflake", "trino"]),
    help="Print the query that counts the table PATHS there; --format counts reads its result.",
)
@click.option("--memory", metavar="SIZE", default="", help="Memory limit.  [half of the machine's]")
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

    PATHS are files, possibly compressed (.gz), or folders of them, larger than memory if need be.
    In the long form there is a row for each document shown, in the list form one for each
    interaction. Columns with common names are found; name the others. What is wrong with the log
    is counted, shown, and dropped, kept or refused. Without --data the log stands alone, and the
    scorer 'table' can be trained on it; its interactions are split into training, validation and
    test. With --data, the splits of the data set decide. Log files of this command (.h5) are
    merged: counts add up.
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
            raise UsageError(f"--{name.replace('_', '-')}: is for --format counts, not --emit-sql")
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
