"""``cltr gate``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.candidates import candidate_options, save_options
from cltr.cli.common.options import Share, shared, warn_about_plugins

NOT_DEPLOYED = 3
"""Exit code of every verdict but deploy."""


@click.command(
    "gate",
    epilog="""\b
Examples:
  cltr gate runs/001-prpo-dr --log log.h5
  cltr gate scores.parquet --log log.h5 --max-loss 2% --confidence 0.95
  cltr gate candidate.run --log log.h5 --clicks all --json
  cltr gate scores.parquet --log log.h5 --canary requests.csv --tolerance 0.01

Exit code 0 says deploy or ship, 3 says canary, hold, reject, stop or continue.""",
)
@click.argument("candidate", type=click.Path(path_type=Path))
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Log from 'cltr ingest' or 'cltr simulate' that judges the candidate.",
)
@click.option(
    "--data", metavar="FILE", help="Data set that the log was ingested with.  [none, or demo]"
)
@click.option(
    "--max-loss",
    type=Share(),
    default=0.02,
    metavar="LOSS",
    help="Points of NDCG that may be lost at worst, whatever users find relevant: 0.02 or 2% for "
    "two points.  [0.02]",
)
@click.option(
    "--canary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Requests of a canary so far: a table with arm (new or production), share and clicks; or "
    "of interleaving, with request, team and clicks. Answers stop, ship or continue.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0.0),
    default=0.0,
    metavar="NUMBER",
    help="Largest acceptable loss of the outcome per request, in a canary.  [0]",
)
@click.option(
    "--outcome-column",
    default="",
    metavar="NAME",
    help="Outcome of the canary's requests, such as orders.  [its clicks]",
)
@click.option(
    "--outcome-range",
    type=(float, float),
    default=(0.0, 1.0),
    metavar="LOW HIGH",
    help="The smallest and the largest outcome that a request can have.  [0 1]",
)
@save_options
@candidate_options
@shared
@click.pass_context
def command(
    context: click.Context,
    /,
    candidate: Path,
    as_json: bool,
    verbose: bool,
    **choices: Any,
) -> None:
    """Decide about a candidate: deploy, canary, hold or reject.

    CANDIDATE is a run folder, a table with query, document and score or rank (Parquet, CSV, TSV,
    JSON lines), a TREC run, or the word 'production'.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.candidates import gate
    from cltr.cli.common.output import show

    found = gate(candidate, **choices)
    show(found.result, found.tables(), as_json=as_json)
    if not found:
        context.exit(NOT_DEPLOYED)
