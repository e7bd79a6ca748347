"""``cltr gate``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.candidates import candidate_options, save_options
from cltr.cli.common.options import ShareWord, log_options, shared, warn_about_plugins

NOT_DEPLOYED = 3
"""Exit code of every verdict but deploy."""


@click.command(
    "gate",
    epilog="""\b
Examples:
  cltr gate runs/001-prpo-dr --log log.h5
  cltr gate scores.parquet --log log.h5 --data data.h5
  cltr gate scores.parquet --log log.h5 --max-loss 2% --confidence 0.95
  cltr gate candidate.run --log log.h5 --clicks all --json
  cltr gate scores.parquet --log log.h5 --canary requests.csv --tolerance 0.01

The exit code is 0 for deploy and ship, and 3 for canary, hold, reject, stop and continue.""",
)
@click.argument("candidate", type=click.Path(path_type=Path))
@log_options(
    required=False,
    help="Log file that production served, from 'cltr ingest'; its clicks judge the candidate.",
)
@click.option(
    "--max-loss",
    type=ShareWord(),
    default=0.02,
    metavar="LOSS",
    help="Most NDCG that a canary may lose, whatever users find relevant: 0.02 or 2% for two NDCG "
    "points (1 point = 0.01). A candidate that cannot lose more is deployed without relying on "
    "clicks. One that is deployed by clicks can lose more, and the decision says so.  [0.02]",
)
@click.option(
    "--canary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table of a canary's requests so far, with columns arm (new or production), share and "
    "clicks; or of interleaved rankings, with request, team and clicks. The decision is then stop, "
    "ship or continue.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0.0),
    default=0.0,
    metavar="NUMBER",
    help="With --canary: largest acceptable loss of the outcome per request.  [0]",
)
@click.option(
    "--outcome-column",
    default="",
    metavar="NAME",
    help="With --canary: column of the outcome, such as orders.  [the clicks]",
)
@click.option(
    "--outcome-range",
    type=(float, float),
    default=(0.0, 1.0),
    metavar="LOW HIGH",
    help="With --canary: smallest and largest possible outcome of a request.  [0 1]",
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
    """Decide about a ranker: deploy, canary, hold or reject.

    cltr estimates from held-out clicks of production's log how much the candidate gains over
    production, and computes how much NDCG could fall in the worst case. Both decide. CANDIDATE is a
    run folder, a table with columns query, document and score or rank (Parquet, CSV, TSV, JSON
    lines), a TREC run, or the word 'production'.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.candidates import gate
    from cltr.cli.common.output import show

    found = gate(candidate, **choices)
    show(found.result, found.tables(), as_json=as_json)
    if not found:
        context.exit(NOT_DEPLOYED)
