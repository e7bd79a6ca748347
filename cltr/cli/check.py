"""``cltr check``."""

from pathlib import Path

import click

from cltr.cli.common.options import shared, warn_about_plugins

MEANINGLESS = 3
"""Exit code of an honest no."""


@click.command(
    "check",
    epilog="""\b
Examples:
  cltr check log.h5
  cltr check log.h5 --click-model pbm --plot ranks.png
  cltr check log.h5 --json

Exit code 3 says that an estimate from this log would be meaningless.""",
)
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--click-model", metavar="NAME", default="trust-bias", help="Assumed one.  [trust-bias]"
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
    help="Also draw impressions and click rate by rank (.png, .svg, .pdf).",
)
@shared
@click.pass_context
def command(
    context: click.Context,
    log: Path,
    click_model: str,
    assignments: tuple[str, ...],
    plot: Path | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """The log doctor: what in a log would make an estimate wrong.

    LOG is a file from 'cltr ingest' or 'cltr simulate'. Each finding comes with its number, why it
    matters and what to do.
    """
    del verbose
    warn_about_plugins()
    from cltr.checks.log_check import check_log, plot_ranks
    from cltr.cli.common.output import print_json
    from cltr.experiment.components import build
    from cltr.experiment.config import Choice, parse_assignments
    from cltr.report.log_tables import print_checked

    tables = parse_assignments(assignments)
    other = [table for table in tables if table != "click_model"]
    if other:
        raise click.UsageError(f"-o {other[0]}: only options of the click-model are asked for")
    choice = Choice(name=click_model, **tables.get("click_model", {}))
    report = check_log(log, build("click-model", choice))
    if plot is not None:
        plot_ranks(report, plot)
    if as_json:
        print_json(report)
    else:
        print_checked(report)
    if report["verdict"] == "meaningless":
        context.exit(MEANINGLESS)
