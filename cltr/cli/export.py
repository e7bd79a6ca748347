"""``cltr export``."""

from pathlib import Path

import click

from cltr.cli.common.options import (
    assignments_option,
    key_values,
    out_file,
    shared,
    warn_about_plugins,
)


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
    help="Format: onnx, solr, opensearch, json, or that of a plugin.",
)
@out_file(
    help="File to write; a card (.md) about the ranker is written beside it.  [policy.* in the "
    "run's folder]",
)
@assignments_option(
    "Option of the format; 'cltr plugins FORMAT' lists them. May be repeated.", metavar="KEY=VALUE"
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
    """Export the ranker of a run: ONNX, Solr, OpenSearch or JSON.

    RUN is a folder from 'cltr train'. cltr reads the file back and keeps it only if it gives the
    scores of the run.
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
        f"wrote {result['out']}: compared with the run on {result['documents_compared']:,} "
        f"documents, scores differ by at most {result['largest_difference']:.1g} of their spread"
    )
    for note in result["notes"]:
        click.echo(f"note: {note}")
