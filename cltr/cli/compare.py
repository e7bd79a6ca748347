"""``cltr compare``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import cluster_option, plugin_files, shared, warn_about_plugins


@click.command(
    "compare",
    epilog="""\b
Examples:
  cltr compare -m prpo/dr -m dr -m safe-dr -n 1e3,1e4,1e5 --seeds 5
  cltr compare -m prpo -m 'careful: prpo estimator.clip=0.5' --users trust-bias --users adversarial
  cltr compare -m prpo/dr/exact -m prpo/dr/pl-rank -m 'cold: dr init=random' --data mslr.h5
  cltr compare comparisons/try/study.toml --out comparisons/try

A method is ESTIMATOR[/REWARD[/RANKER]], then KEY=VALUE words as with 'train -o'; 'NAME: ' before it
is what the table calls it.""",
)
@click.argument("study_file", type=click.Path(path_type=Path), required=False, metavar="[STUDY]")
@click.option("-m", "--method", "methods", multiple=True, metavar="METHOD", help="May be repeated.")
@click.option(
    "-n",
    "--interactions",
    metavar="LIST",
    help="Training interactions: 1e3,1e5 or 1e2..1e9:25.  [1e3,1e4,1e5,1e6]",
)
@click.option("--seeds", metavar="NUMBER", help="How many, or which: 1,2,7.  [3]")
@click.option("--users", multiple=True, metavar="NAME", help="How people click; may be repeated.")
@click.option("--data", metavar="FILE", help="Data set file, or demo.  [demo]")
@click.option("--click-model", metavar="NAME", help="How clicks are corrected.  [trust-bias]")
@click.option("--metric", metavar="NAME", help="Weights of ranks in training.  [dcg]")
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="ROLE.KEY=VALUE",
    help="Option that all methods share; may be repeated.",
)
@click.option("--skyline/--no-skyline", default=None, help="Also learn from judgements.  [yes]")
@click.option("--title", help="Of the picture.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("comparison"),
    show_default=True,
    help="Folder; cells that are there are not computed again.",
)
@click.option("--report/--no-report", default=True, help="Also write report.html.  [yes]")
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes.  [number of cores]")
@cluster_option
@shared
def command(
    study_file: Path | None,
    methods: tuple[str, ...],
    assignments: tuple[str, ...],
    out: Path,
    workers: int | None,
    as_json: bool,
    verbose: bool,
    **flags: Any,
) -> None:
    """Compare methods over numbers of interactions, seeds and users.

    Runs in parallel. Run the same command again to resume. Leaves one file with all results
    (results.csv), a table, and a picture with intervals, production and skyline. The same cell has
    the same numbers on all common processors, with any number of workers.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.compare import compare
    from cltr.cli.common.output import end_with, show
    from cltr.experiment.config import parse_options
    from cltr.report.study_tables import study_tables

    found = compare(
        methods,
        study=study_file,
        options=parse_options(assignments),
        out=out,
        workers=workers,
        plugins=plugin_files(),
        progress=True,
        **flags,
    )
    show(found.result, study_tables(found.result), as_json=as_json)
    end_with(found.result)
