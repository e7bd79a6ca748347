"""``cltr check``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cltr.cli.common.options import (
    assignments_option,
    out_file,
    shared,
    warn_about_plugins,
)

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

The exit code is 3 if the log supports no use at all, or not a use that --for names.""",
)
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "uses",
    multiple=True,
    type=click.Choice(["position-bias", "evaluation", "training"]),
    help="Exit with code 3 unless the log supports this use; may be repeated.",
)
@click.option(
    "--click-model",
    metavar="NAME",
    help="Also check the log against this click model, such as fitted:FILE from 'cltr fit'.",
)
@assignments_option("Option of the click model, such as click-model.eta=2; may be repeated.")
@out_file("--plot", help="Also draw a picture of the log (.png, .svg, .pdf).")
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
    """Say what a click log can be used for, and why.

    LOG is a file from 'cltr ingest' or 'cltr simulate'. cltr says for each of three uses whether
    the log supports it: estimating position bias, evaluating other rankings, and training a ranker.
    It lists what it found, why it matters, and what to do.
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
