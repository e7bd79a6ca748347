"""``cltr simulate``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import out_file, run_options, shared, warn_about_plugins


@click.command(
    "simulate",
    epilog="""\b
Examples:
  cltr simulate -n 1e6 --out log.h5
  cltr simulate --data mslr.h5 --users adversarial -n 1e9 --out log.h5
  cltr simulate -n 1e5 --sessions --out sessions.h5
  cltr train --log log.h5""",
)
@run_options(
    click_model="How simulated users click, unless --users says otherwise.  [trust-bias]",
    example="production.fraction=0.1",
)
@click.option(
    "--sessions",
    is_flag=True,
    help="Also store each interaction (a ranking that was shown, and its clicks), not only counts: "
    "bounds get narrower, and more click models can be fitted. The same seed can give other clicks "
    "than without --sessions, because they are drawn in another way.",
)
@out_file(help="Log file to write (.h5).", required=True)
@shared
def command(
    assignments: tuple[str, ...],
    config: Path | None,
    sessions: bool,
    out: Path,
    as_json: bool,
    verbose: bool,
    **flags: Any,
) -> None:
    """Simulate the click log of a production ranker.

    cltr trains a production ranker on the labels of 3% of the training queries, shows its rankings
    to simulated users, and writes a log file with impressions and clicks per document and rank, and
    production's scores. Without --sessions, the size of the file does not depend on the number of
    interactions.
    """
    del verbose
    warn_about_plugins()

    from cltr.api.train import simulate
    from cltr.cli.common.output import show
    from cltr.experiment.config import parse_options
    from cltr.report.log_tables import simulated_tables

    options = parse_options(assignments)
    found = simulate(
        out=out, sessions=sessions, options=options, config=config, progress=True, **flags
    )
    show(found.report, simulated_tables(found.report), as_json=as_json)
