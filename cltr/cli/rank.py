"""``cltr rank``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import out_file, shared, warn_about_plugins


@click.command(
    "rank",
    epilog="""\b
Examples:
  cltr rank runs/001-prpo-dr --out rankings.parquet
  cltr rank runs/001-prpo-dr --data new.parquet --out rankings.trec
  cltr rank runs/001-prpo-dr --data new.jsonl --production scores.csv --out rankings.csv
  cltr rank runs/001-prpo-dr --data new.csv --requests requests.csv --out served.jsonl""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--data",
    metavar="FILE",
    help="Queries, documents and features to rank: a table (Parquet, CSV, TSV, JSON lines) or a "
    "data set file.  [the data of the run]",
)
@click.option(
    "--production",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table with production's scores (columns query, document, score); needed with --data if "
    "the run builds on production's scores, or serves production to some requests; cltr says so if "
    "it is missing.",
)
@click.option(
    "--requests",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table with columns request and query: write the ranking that each request gets, new or "
    "production, by the run's serving rule.",
)
@out_file(help="File to write: .parquet, .csv, .jsonl or .trec.", required=True)
@click.option(
    "--query-column",
    default="",
    metavar="NAME",
    help="Column of the query or its id, in all tables that have it.  [found by common names]",
)
@click.option(
    "--document-column",
    default="",
    metavar="NAME",
    help="Column of the document's id, likewise.  [found by common names]",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero"]),
    default="refuse",
    show_default=True,
    help="If a feature value is missing: refuse the table, or set the value to 0.",
)
@shared
def command(run: Path, as_json: bool, verbose: bool, **options: Any) -> None:
    """Score and rank queries with a trained run.

    RUN is a folder from 'cltr train'. Give features as they were imported for training: cltr
    matches columns by name and normalises them as in training. The file gets a row for each
    document: query, document, rank, score, and its expected DCG weight under the run's policy.
    """
    del verbose
    warn_about_plugins()

    from cltr.api.rank import rank, ranking_tables
    from cltr.cli.common.output import show

    found = rank(run, **options)
    show(found.result, ranking_tables(found.result), as_json=as_json)
