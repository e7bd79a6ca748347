"""``cltr compare``."""

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


@click.command(
    "compare",
    epilog="""\b
Examples:
  cltr compare -m prpo/dr -m dr -m safe-dr -n 1e3,1e4,1e5 --seeds 5
  cltr compare -m prpo -m 'careful: prpo estimator.clip=0.5' --users trust-bias --users adversarial
  cltr compare -m prpo/dr/exact -m prpo/dr/pl-rank -m 'cold: dr init=random' --data mslr.h5
  cltr compare comparisons/try/study.toml --out comparisons/try

A METHOD is ESTIMATOR[/REWARD[/RANKER]], followed by KEY=VALUE words as with 'cltr train -o'. Put
'NAME: ' before it to give it a name in tables.""",
)
@click.argument("study_file", type=click.Path(path_type=Path), required=False, metavar="[STUDY]")
@methods_option("Method to compare, as explained below; may be repeated.")
@grid_options(
    interactions="Numbers of training interactions: a list such as 1e3,1e5, or 1e2..1e9:25 for 25 "
    "numbers from 1e2 to 1e9.  [1e3,1e4,1e5,1e6]",
    seeds=3,
)
@click.option(
    "--users",
    multiple=True,
    metavar="NAME",
    help="Click model of the simulated users; may be repeated.  [that of --click-model]",
)
@click.option("--data", metavar="FILE", help="Data set file, or demo.  [demo]")
@click.option(
    "--click-model", metavar="NAME", help="Click model that the methods assume.  [trust-bias]"
)
@click.option(
    "--metric",
    metavar="NAME",
    help="Metric that training maximises: dcg, clicks, precision or reciprocal-rank.  [dcg]",
)
@assignments_option("Option of all methods, as with 'cltr train'; may be repeated.")
@click.option(
    "--skyline/--no-skyline",
    default=None,
    help="Also train a reference ranker on the true labels.  [yes]",
)
@click.option("--title", help="Title of the picture.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("comparison"),
    show_default=True,
    help="Folder for the results; runs that it holds already are not computed again.",
)
@click.option(
    "--report/--no-report", default=True, help="Also write report.html into the folder.  [yes]"
)
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

    cltr trains every method for every number of interactions, seed and kind of users, several runs
    at a time. To resume after an interruption, run the same command again. The folder then holds
    all results (results.csv), and a picture that compares the methods with production and with a
    ranker trained on true labels. The numbers do not depend on the number of workers.

    STUDY is a study file, such as study.toml of an earlier comparison, instead of options.
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
