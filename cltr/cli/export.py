"""``cltr export``."""

from pathlib import Path

import click

from cltr.cli.common.options import key_values, shared, warn_about_plugins


@click.command(
    "export",
    epilog="""\b
Examples:
  cltr export runs/001-prpo-dr --to onnx
  cltr export runs/001-prpo-dr --to json --out ranker.json
  cltr export runs/001-prpo-dr --to solr -o model=ranker-7 --out ranker.json""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--to",
    metavar="NAME",
    required=True,
    help="Format: onnx, solr, opensearch, json, or one of a plugin.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write; a card appears beside it.  [policy.* in the run's folder]",
)
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Option of the format; 'cltr plugins NAME' shows them.",
)
@shared
def command(
    run: Path,
    to: str,
    out: Path | None,
    assignments: tuple[str, ...],
    as_json: bool,
    verbose: bool,
) -> None:
    """Write the learned ranker of a run for another system.

    RUN is the folder that 'cltr train' wrote. The file is kept only if it gives the same scores as
    the run.
    """
    del verbose
    warn_about_plugins()
    from cltr.cli.common.output import print_json
    from cltr.experiment.export_run import export

    result = export(run, to=to, out=out, options=key_values(assignments, example="model=ranker-7"))
    if as_json:
        print_json(result)
        return
    click.echo(
        f"wrote {result['out']}: its scores of {result['documents_compared']:,} documents differ "
        f"by at most {result['largest_difference']:.1g} of their spread"
    )
    for note in result["notes"]:
        click.echo(f"note: {note}")
