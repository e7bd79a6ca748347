"""``cltr simulate``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import run_options, shared, warn_about_plugins


@click.command(
    "simulate",
    epilog="""\b
Examples:
  cltr simulate -n 1e6 --out log.h5
  cltr simulate --data mslr.h5 --users adversarial -n 1e9 --out log.h5
  cltr simulate -n 1e5 --sessions --out sessions.h5
  cltr train --log log.h5""",
)
@run_options
@click.option("--sessions", is_flag=True, help="Keep the interactions, not only their counts.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Log file to write.")
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
    """Draw a click log of a production ranker and its users.

    A production ranker is trained on 3 % of the training queries and shows its top documents to
    simulated users. The file holds impressions and clicks per document and rank, whose size does
    not depend on the number of interactions, and the production scores.
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
