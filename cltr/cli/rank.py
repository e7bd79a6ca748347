"""``cltr rank``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import shared, warn_about_plugins


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
    help="Queries, documents and features: Parquet, CSV, TSV, JSON lines or a data set.  "
    "[the run's own]",
)
@click.option(
    "--production",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Production's scores, where the model or the serving rule needs them: a table of query, "
    "document, score.",
)
@click.option(
    "--requests",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A table of request and query: write the ranking that each request gets.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write: .parquet, .csv, .jsonl or .trec.",
)
@click.option("--query-column", default="", metavar="NAME", help="The query, or its id.")
@click.option("--document-column", default="", metavar="NAME", help="The document's id.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero"]),
    default="refuse",
    show_default=True,
    help="Missing features: refuse them, or set them to 0.",
)
@shared
def command(run: Path, as_json: bool, verbose: bool, **options: Any) -> None:
    """Score and rank queries with the model of a finished run.

    RUN is the folder that 'cltr train' wrote. Raw features are normalised as in training, and
    columns are matched by name. The file gets a row for each document: query, document, rank,
    score, and its expected DCG weight under the run's policy.
    """
    del verbose
    warn_about_plugins()

    from cltr.api.rank import rank, ranking_tables
    from cltr.cli.common.output import show

    found = rank(run, **options)
    show(found.result, ranking_tables(found.result), as_json=as_json)
