"""``cltr evaluate``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import Share, shared, warn_about_plugins


@click.command(
    "evaluate",
    epilog="""\b
Examples:
  cltr evaluate runs/001-prpo-dr
  cltr evaluate runs/001-prpo-dr --blend-to-loss 0.02
  cltr evaluate runs/001-prpo-dr --gain exponential --empty skip
  cltr evaluate runs/001-prpo-dr --metric err --metric rbp
  cltr evaluate runs/001-prpo-dr --data other.h5 --json""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--data", metavar="FILE", help="Another data set with the same features.")
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
    help="Of a grade g in NDCG and DCG: g (the paper's), or 2^g - 1.  [the run's]",
)
@click.option(
    "--empty",
    type=click.Choice(["zero", "skip", "one"]),
    help="Queries without relevant documents: 0 (the paper's), left out, or 1.  [the run's]",
)
@click.option(
    "--ties",
    type=click.Choice(["order", "expected"]),
    help="Equal scores of a ranker without chance: as listed, or any order.  [the run's]",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Also report this metric, such as err or rbp; may be repeated.  [the run's]",
)
@shared
def command(
    run: Path,
    data: str | None,
    blend_to_loss: float | None,
    as_json: bool,
    verbose: bool,
    **measures: Any,
) -> None:
    """Judge a finished run: metrics and the safety certificate.

    RUN is the folder that 'cltr train' wrote.
    """
    del verbose
    warn_about_plugins()

    from cltr.api.run import evaluate
    from cltr.cli.common.output import show
    from cltr.report.run_tables import result_tables

    found = evaluate(run, data=data, blend_to_loss=blend_to_loss, **measures)
    show(found.result, result_tables(found.result), as_json=as_json)
