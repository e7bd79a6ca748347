"""``cltr evaluate``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.candidates import candidate_options_with_log, save_options
from cltr.cli.common.options import ShareWord, shared, warn_about_plugins


@click.command(
    "evaluate",
    epilog="""\b
Examples:
  cltr evaluate runs/001-prpo-dr
  cltr evaluate runs/001-prpo-dr --blend-to-loss 0.02
  cltr evaluate runs/001-prpo-dr --gain exponential --empty skip
  cltr evaluate runs/001-prpo-dr --metric err --metric rbp
  cltr evaluate runs/001-prpo-dr --data other.h5 --json
  cltr evaluate scores.parquet runs/001-prpo-dr --log log.h5
  cltr evaluate scores.parquet --log log.h5 --data data.h5""",
)
@click.argument("candidates", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--data",
    metavar="FILE",
    help="Without --log: another data set with the same features. With --log: the data set that "
    "the log was ingested with.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Log file that production served; several estimators judge the candidates by its clicks.",
)
@click.option(
    "--blend-to-loss",
    type=ShareWord(),
    metavar="LOSS",
    help="Mix the run with production until NDCG can fall by at most this, whatever users find "
    "relevant: 0.02 or 2% for two NDCG points (1 point = 0.01).",
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
    help="Equal scores of a ranker that sorts: keep the order of the data, or average over all "
    "orders.  [the run's]",
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
    """Evaluate a trained run, or any ranker on a click log.

    Without --log, CANDIDATES is one run folder from 'cltr train': cltr computes its metrics and its
    worst-case loss again. With --log, cltr estimates from clicks how good each candidate is. A
    candidate is then a run folder, a table with columns query, document and score or rank (Parquet,
    CSV, TSV, JSON lines), a TREC run, or the word 'production'.
    """
    del verbose
    warn_about_plugins()

    from cltr.api.evaluate import evaluate
    from cltr.cli.common.output import show

    found = evaluate(candidates, **choices)
    show(found.result, found.tables(), as_json=as_json)
