"""``cltr simulate``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import gather, run_options, shared, warn_about_plugins


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

    from cltr.cli.common.output import print_json
    from cltr.cli.common.progress import run_progress
    from cltr.experiment import simulate_log
    from cltr.experiment.config import resolve
    from cltr.report.log_tables import print_simulation

    source = str(config) if config else ""
    chosen = resolve(gather(flags, assignments, config), source=source)
    with run_progress() as progress:
        result = simulate_log.simulate(chosen, out=out, sessions=sessions, progress=progress)
    if as_json:
        print_json(result)
    else:
        print_simulation(result)
