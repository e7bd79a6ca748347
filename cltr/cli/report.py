"""``cltr report``."""

from pathlib import Path

import click

from cltr.cli.common.options import out_file, shared, warn_about_plugins


@click.command(
    "report",
    epilog="""\b
Examples:
  cltr report runs/001-prpo-dr
  cltr report runs/001-prpo-dr --out report.html
  cltr report gate.json
  cltr report comparison""",
)
@click.argument("result", type=click.Path(path_type=Path), metavar="RUN|FILE|FOLDER")
@out_file(help="HTML file to write.  [report.html in the folder; for a file, its name with .html]")
@shared
def command(result: Path, out: Path | None, as_json: bool, verbose: bool) -> None:
    """Write an HTML page about a run, a gate or a comparison.

    Give the folder of a run, the file that 'cltr evaluate' or 'cltr gate' wrote with --out, or the
    folder of 'cltr compare' or 'cltr reproduce'. The page shows the verdict, quality and risk, what
    changes for users, and how the result was made. It is one file that can be mailed: it loads
    nothing and runs no script.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.report import make_report
    from cltr.cli.common.output import print_json

    path = make_report(result, out=out)
    size = path.stat().st_size
    if as_json:
        print_json({"out": str(path), "bytes": size})
        return
    click.echo(f"wrote {path} ({size / 1000:,.0f} kB)")
