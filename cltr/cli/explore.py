"""``cltr explore``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import ShareWord, log_options, shared, warn_about_plugins


@click.command(
    "explore",
    epilog="""\b
Examples:
  cltr explore --log log.h5 --max-loss 0.01 --out exploring
  cltr explore --log log.h5 --data shop.h5 --production scores.parquet --max-loss 2%
  cltr explore --log log.h5 --json

A log that was ingested with --data knows all candidates of a query. A log without knows only
documents that were shown, so exploring then changes their ranks and shows nothing new.""",
)
@log_options()
@click.option(
    "--max-loss",
    type=ShareWord(),
    default=0.01,
    metavar="LOSS",
    help="Largest acceptable loss of NDCG of any query in the worst case, whatever users find "
    "relevant: 0.01 or 1% for one NDCG point (1 point = 0.01).  [0.01]",
)
@click.option(
    "--production",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table with production's scores (columns query, document, score), if the log does not "
    "have them.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="New folder for the serving rule, a README and all numbers.  [nothing is written]",
)
@shared
def command(as_json: bool, verbose: bool, **choices: Any) -> None:
    """Vary production's rankings, with a limit on the worst-case loss.

    If production always shows the same ranking, its log says nothing about other rankings. This
    command finds randomised rankings that show the least shown candidate of each query as often as
    possible, while NDCG falls by at most --max-loss in every query, whatever users find relevant.
    It says what it takes production to be, computes the worst case, and says what a log of the same
    size would then support.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.explore import explore
    from cltr.cli.common.output import show

    found = explore(choices.pop("log"), **choices)
    show(found.result, found.tables(), as_json=as_json)
