"""``cltr evaluate``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.candidates import candidate_options_with_log, save_options
from cltr.cli.common.options import Share, shared, warn_about_plugins


@click.command(
    "evaluate",
    epilog="""\b
Examples:
  cltr evaluate runs/001-prpo-dr
  cltr evaluate runs/001-prpo-dr --blend-to-loss 0.02
  cltr evaluate runs/001-prpo-dr --gain exponential --empty skip
  cltr evaluate runs/001-prpo-dr --metric err --metric rbp
  cltr evaluate runs/001-prpo-dr --data other.h5 --json
  cltr evaluate scores.parquet runs/001-prpo-dr --log log.h5""",
)
@click.argument("candidates", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--data",
    metavar="FILE",
    help="Another data set with the same features; with --log, the one that the log was "
    "ingested with.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Judge candidates by this log, by several estimators side by side.",
)
@click.option(
    "--blend-to-loss",
    type=Share(),
    metavar="LOSS",
    help="Mix with production so that NDCG falls by at most this, whatever users find relevant: "
    "0.02 or 2% for two points.",
)
@click.option(
    "--gain",
    type=click.Choice(["linear", "exponential"]),
    help="Gain of a grade g in NDCG and DCG: g (as in the paper), or 2^g - 1.  [the run's]",
)
@click.option(
    "--empty",
    type=click.Choice(["zero", "skip", "one"]),
    help="Queries without relevant documents: 0 (the paper's), left out, or 1.  [the run's]",
)
@click.option(
    "--ties",
    type=click.Choice(["order", "expected"]),
    help="Ties of a deterministic ranker: keep the listed order, or average over all orders.  "
    "[the run's]",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Also report this metric, such as err or rbp; may be repeated.  [the run's]",
)
@save_options
@candidate_options_with_log
@shared
def command(
    candidates: tuple[Path, ...],
    as_json: bool,
    verbose: bool,
    **choices: Any,
) -> None:
    """Judge a finished run, or any candidate ranker by a log.

    Without --log, CANDIDATES is one folder that 'cltr train' wrote: its metrics and its safety
    certificate are computed again. With --log, each of CANDIDATES is a run folder, a table with
    query, document and score or rank (Parquet, CSV, TSV, JSON lines), a TREC run, or the word
    'production'; the clicks of the log judge them.
    """
    del verbose
    warn_about_plugins()

    from cltr.api.evaluate import evaluate
    from cltr.cli.common.output import show

    found = evaluate(candidates, **choices)
    show(found.result, found.tables(), as_json=as_json)
