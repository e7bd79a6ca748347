"""``cltr reproduce``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import plugin_files, shared, warn_about_plugins

NAMES = ("figure-1", "figure-2", "figure-3", "figure-4", "ingredients")


@click.command(
    "reproduce",
    epilog="""\b
Examples:
  cltr reproduce figure-1 --ranks 2,4,6,8
  cltr reproduce figure-2 --quick
  cltr reproduce figure-4 --data mslr.h5 --preset cltr -n 1e2..1e9:9 --seeds 5
  cltr reproduce figure-2 --data mq2008.h5 -o production.fraction=0.1 -o production.epochs=100
  cltr reproduce ingredients --data mq2008.h5

figure-1 clipped ratios; figure-2 IPS, DR, safe DR and PRPO; figure-3 sensitivity to clip and
confidence; figure-4 adversarial users; ingredients: what start, exposure, gradients and the kept
weights are worth. Where the data are Yahoo, MSLR or Istella, the paper's curves stand behind.""",
)
@click.argument("figure", type=click.Choice(NAMES))
@click.option(
    "--preset",
    type=click.Choice(["paper", "cltr"]),
    default="paper",
    show_default=True,
    help="paper: random start, counted exposure, REINFORCE, last epoch; cltr: start from "
    "production, exact exposure and gradients, best epoch.",
)
@click.option("--data", default="demo", show_default=True, metavar="FILE", help="Data set.")
@click.option("--quick", is_flag=True, help="A coarse grid and few seeds: minutes, not hours.")
@click.option("-n", "--interactions", metavar="LIST", help="Such as 1e2..1e9:9.  [1e2..1e9:25]")
@click.option("--seeds", metavar="NUMBER", help="How many, or which: 1,2,7.  [10]")
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="ROLE.KEY=VALUE",
    help="Change the preset, such as production.fraction=0.1; may be repeated.",
)
@click.option("--ranks", metavar="LIST", help="Original ranks of figure-1.  [2,4,6,8]")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder.  [reproduction/FIGURE-PRESET]"
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes.  [one a core]")
@shared
def command(
    figure: str,
    preset: str,
    data: str,
    quick: bool,
    assignments: tuple[str, ...],
    ranks: str | None,
    out: Path | None,
    workers: int | None,
    as_json: bool,
    verbose: bool,
    **changes: Any,
) -> None:
    """Make a figure of the paper on any data set.

    The paper's statements about it are judged by the numbers that come out. Runs in parallel and
    goes on after a kill where it was: start the same command again. The same cell has the same
    numbers on all common processors, with any number of workers.
    """
    del verbose
    warn_about_plugins()
    given = {key: value for key, value in changes.items() if value is not None}
    if ranks is not None and figure != "figure-1":
        raise click.UsageError("--ranks belongs to figure-1")
    if figure == "figure-1" and (given or assignments or quick or data != "demo"):
        raise click.UsageError("figure-1 is a formula: it takes --ranks and --out alone")

    from cltr.api.progress import cell_progress
    from cltr.cli.common.output import end_with, show
    from cltr.experiment.config import parse_assignments
    from cltr.report.study_tables import clipping_tables, study_tables
    from cltr.studies import compare
    from cltr.studies.clipping_figure import RANKS, parse_ranks
    from cltr.studies.figures import figure_study

    if figure == "figure-1":
        result = compare.clipping_figure(
            out or Path("reproduction/figure-1"), RANKS if ranks is None else parse_ranks(ranks)
        )
        tables = clipping_tables
    else:
        study = figure_study(
            figure,
            preset=preset,
            data=data,
            quick=quick,
            changes=given,
            options=parse_assignments(assignments),
        )
        with cell_progress(True) as update:
            result = compare.compare(
                study,
                out or Path(f"reproduction/{figure}-{preset}"),
                name=figure,
                workers=workers,
                plugins=plugin_files(),
                on_progress=update,
            )
        tables = study_tables
    show(result, tables(result), as_json=as_json)
    end_with(result)
