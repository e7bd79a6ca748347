"""``cltr reproduce``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import (
    assignments_option,
    cluster_option,
    grid_options,
    methods_option,
    plugin_files,
    shared,
    warn_about_plugins,
)

NAMES = ("figure-1", "figure-2", "figure-3", "figure-4", "ingredients", "panel")


@click.command(
    "reproduce",
    epilog="""\b
Examples:
  cltr reproduce figure-1 --ranks 2,4,6,8
  cltr reproduce figure-2 --quick
  cltr reproduce figure-4 --data mslr.h5 --preset cltr -n 1e2..1e9:9 --seeds 5
  cltr reproduce figure-2 --data mq2008.h5 -o production.fraction=0.1 -o production.epochs=100
  cltr reproduce ingredients --data mq2008.h5
  cltr reproduce panel --data mq2008.h5 -m 'mine: prpo/dr estimator.clip=0.2'

\b
figure-1     the clip of PRPO: a formula, drawn
figure-2     IPS, DR, safe DR and PRPO
figure-3     sensitivity to PRPO's clip and to safe DR's confidence
figure-4     adversarial users
ingredients  effect of start, exposure, gradients and choice of epoch
panel        gains and losses of many methods under eight kinds of users

On Yahoo, MSLR and Istella data, the picture also has the paper's own curves.""",
)
@click.argument("figure", type=click.Choice(NAMES))
@click.option(
    "--preset",
    type=click.Choice(["paper", "cltr"]),
    help="paper: as published, with a random start, exposure counted from the log, REINFORCE "
    "gradients and the last epoch. cltr: start at production, exact exposure and gradients, "
    "best epoch.  [paper; panel has none]",
)
@click.option(
    "--data", default="demo", show_default=True, metavar="FILE", help="Data set file, or demo."
)
@click.option(
    "--quick",
    is_flag=True,
    help="Use fewer numbers of interactions (two to five, up to 1e6) and fewer seeds (2, or 3 for "
    "figure-2), so that it takes minutes instead of hours; -n and --seeds, if given, replace "
    "these.",
)
@grid_options(
    interactions="Numbers of training interactions, such as 1e2..1e9:9 for 9 numbers.  "
    "[1e2..1e9:25; panel 1e4,1e5,1e6]",
    seeds=10,
)
@assignments_option(
    "Change an option of the preset, such as production.fraction=0.1; may be repeated."
)
@methods_option("Also put this method into the panel, as with 'cltr compare'; may be repeated.")
@click.option(
    "--ranks",
    metavar="LIST",
    help="figure-1: production ranks of the documents to draw.  [2,4,6,8]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the results.  [reproduction/FIGURE-PRESET, or reproduction/panel-DATA]",
)
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes.  [number of cores]")
@cluster_option
@shared
def command(
    figure: str,
    preset: str | None,
    data: str,
    quick: bool,
    assignments: tuple[str, ...],
    methods: tuple[str, ...],
    ranks: str | None,
    out: Path | None,
    workers: int | None,
    cluster: str | None,
    as_json: bool,
    verbose: bool,
    **changes: Any,
) -> None:
    """Reproduce a figure of the paper, or run the safety panel.

    cltr makes the runs behind the figure on a data set of your choice, several at a time, draws the
    figure, and checks the paper's statements about it against the results. To resume after an
    interruption, run the same command again. The numbers do not depend on the number of workers.
    """
    del verbose
    warn_about_plugins()
    given = {key: value for key, value in changes.items() if value is not None}
    if ranks is not None and figure != "figure-1":
        raise click.UsageError("--ranks can only be used with figure-1")
    if methods and figure != "panel":
        raise click.UsageError("-m adds a method to the panel; 'cltr compare' compares methods")
    if preset and figure == "panel":
        raise click.UsageError("the panel has no presets; change it with -o or -m")
    if figure == "figure-1" and (given or assignments or quick or data != "demo"):
        raise click.UsageError("figure-1 draws a formula, so it takes only --ranks and --out")

    from cltr.cli.common.output import end_with, show
    from cltr.experiment.config import parse_assignments
    from cltr.report import study_tables
    from cltr.studies import compare
    from cltr.studies.clipping_figure import RANKS, parse_ranks

    if figure == "figure-1":
        result = compare.clipping_figure(
            out or Path("reproduction/figure-1"), RANKS if ranks is None else parse_ranks(ranks)
        )
        show(result, study_tables.clipping_tables(result), as_json=as_json)
        return
    where = {"workers": workers, "cluster": cluster or "", "plugins": plugin_files()}
    chosen = {"data": data, "quick": quick, "changes": given}
    chosen["options"] = parse_assignments(assignments)
    if figure == "panel":
        folder = out or Path(f"reproduction/panel-{Path(data).stem}")
        result = _panel(methods, folder, where, chosen)
        tables = study_tables.panel_tables
    else:
        preset = preset or "paper"
        folder = out or Path(f"reproduction/{figure}-{preset}")
        result = _figure(figure, preset, folder, where, chosen)
        tables = study_tables.study_tables
    _write_page(result)
    show(result, tables(result), as_json=as_json)
    end_with(result)


def _write_page(result: dict[str, Any]) -> None:
    from cltr.api.comparison import Comparison
    from cltr.report.page.subject import PAGE

    found = Comparison(result)
    found.report().save(found.path / PAGE)


def _figure(
    figure: str, preset: str, out: Path, where: dict[str, Any], chosen: dict[str, Any]
) -> dict[str, Any]:
    from cltr.api.progress import cell_progress
    from cltr.studies.compare import compare
    from cltr.studies.figures import figure_study

    study = figure_study(figure, preset=preset, **chosen)
    with cell_progress(True) as update:
        return compare(study, out, name=figure, on_progress=update, **where)


def _panel(
    methods: tuple[str, ...], out: Path, where: dict[str, Any], chosen: dict[str, Any]
) -> dict[str, Any]:
    from cltr.api.progress import cell_progress
    from cltr.studies.figures import panel_study
    from cltr.studies.panel import run_panel

    study = panel_study(methods=methods, **chosen)
    with cell_progress(True) as update:
        return run_panel(study, out, on_progress=update, **where)
