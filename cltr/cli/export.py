"""``cltr export``."""

from pathlib import Path

import click

from cltr.cli.common.options import shared, warn_about_plugins


@click.command(
    "export",
    epilog="""\b
Examples:
  cltr export runs/001-prpo-dr --to json
  cltr export runs/001-prpo-dr --to json --out ranker.json""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--to", metavar="NAME", required=True, help="Format: json, or one of a plugin.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write.  [policy.json in the run's folder]",
)
@shared
def command(run: Path, to: str, out: Path | None, as_json: bool, verbose: bool) -> None:
    """Write the learned ranker of a run for another system.

    RUN is the folder that 'cltr train' wrote. The file is kept only if it gives the same scores as
    the run.
    """
    del verbose
    warn_about_plugins()
    from cltr.cli.common.output import print_json
    from cltr.experiment.export_run import export

    result = export(run, to=to, out=out)
    if as_json:
        print_json(result)
        return
    click.echo(
        f"wrote {result['out']}: its scores of {result['documents_compared']:,} documents differ "
        f"by at most {result['largest_difference']:.1g} of their spread"
    )
    for note in result["notes"]:
        click.echo(f"note: {note}")
