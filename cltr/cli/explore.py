"""``cltr explore``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import Share, shared, warn_about_plugins


@click.command(
    "explore",
    epilog="""\b
Examples:
  cltr explore --log log.h5 --max-loss 0.01 --out exploring
  cltr explore --log log.h5 --data shop.h5 --production scores.parquet --max-loss 2%
  cltr explore --log log.h5 --json

A log on a data set has all candidates of a query; one that stands alone has those that were ever
shown, and exploring then changes their ranks.""",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Log from 'cltr ingest' or 'cltr simulate'.",
)
@click.option(
    "--max-loss",
    type=Share(),
    default=0.01,
    metavar="LOSS",
    help="Points of NDCG that any query may lose at worst, whatever users find relevant: 0.01 or "
    "1% for one point.  [0.01]",
)
@click.option(
    "--data", metavar="FILE", help="Data set that the log was ingested with.  [none, or demo]"
)
@click.option(
    "--production",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Production's scores (query, document, score), where the log does not hold them.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write the serving rule, a README and all numbers here.  [nothing is written]",
)
@shared
def command(as_json: bool, verbose: bool, **choices: Any) -> None:
    """Find a policy that explores at a certified loss.

    Where production always shows the same ranking, its log says nothing of other rankings. This
    finds the policy that shows the least shown candidate of each query most often, while NDCG
    falls by at most --max-loss in every query, whatever users find relevant. It prints which policy
    production is taken to be, the certificate, and what a log of the same size would then support.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.explore import explore
    from cltr.cli.common.output import show

    found = explore(choices.pop("log"), **choices)
    show(found.result, found.tables(), as_json=as_json)
