"""``cltr check``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cltr.cli.common.options import shared, warn_about_plugins

if TYPE_CHECKING:
    from cltr.checks.findings import Use

UNSUPPORTED = 3
"""Exit code of an honest no."""


@click.command(
    "check",
    epilog="""\b
Examples:
  cltr check log.h5
  cltr check log.h5 --plot check.png
  cltr check log.h5 --for training
  cltr check log.h5 --click-model fitted:pbm.h5 --json

Exit code 3 says that the log supports no use at all, or not one that --for names.""",
)
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "uses",
    multiple=True,
    type=click.Choice(["position-bias", "evaluation", "training"]),
    help="Use that must be possible, or the exit code is 3; may be repeated.",
)
@click.option(
    "--click-model",
    metavar="NAME",
    help="Click model that is known from elsewhere, such as fitted:FILE.  [none]",
)
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="ROLE.KEY=VALUE",
    help="Option of the click model, such as click-model.eta=2; may be repeated.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also draw the log at a glance (.png, .svg, .pdf).",
)
@shared
@click.pass_context
def command(
    context: click.Context,
    log: Path,
    uses: tuple["Use", ...],
    click_model: str | None,
    assignments: tuple[str, ...],
    plot: Path | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Say what a log can be used for, and why.

    LOG is a file from 'cltr ingest' or 'cltr simulate'. There is a verdict on each use: estimating
    position bias, evaluating other rankings, training a ranker. Each finding comes with its number,
    why it matters and what to do.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.check import check
    from cltr.cli.common.output import show
    from cltr.experiment.config import parse_options
    from cltr.report.log_tables import checked_tables

    found = check(log, click_model=click_model, options=parse_options(assignments), plot=plot)
    show(found.plain(), checked_tables(found), as_json=as_json)
    wanted = [found.supports(use) for use in uses] or [found.usable]
    if not all(wanted):
        context.exit(UNSUPPORTED)
