"""``cltr evaluate``."""

from pathlib import Path

import click

from cltr.cli.options import shared, warn_about_plugins


@click.command(
    "evaluate",
    epilog="""\b
Examples:
  cltr evaluate runs/001-prpo-dr
  cltr evaluate runs/001-prpo-dr --blend-to-loss 0.02
  cltr evaluate runs/001-prpo-dr --data other.h5 --json""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--data", metavar="FILE", help="Another data set with the same features.")
@click.option(
    "--blend-to-loss",
    type=click.FloatRange(min=0, max=1),
    metavar="LOSS",
    help="Mix with production so that the worst loss is at most this share of the metric.",
)
@shared
def command(
    run: Path, data: str | None, blend_to_loss: float | None, as_json: bool, verbose: bool
) -> None:
    """Judge a finished run: metrics and the safety certificate.

    RUN is the folder that 'cltr train' wrote.
    """
    del verbose
    warn_about_plugins()

    from cltr import jobs
    from cltr.cli.output import print_result

    result = jobs.evaluate(run, data=data, blend_to_loss=blend_to_loss)
    print_result(result, as_json=as_json)
