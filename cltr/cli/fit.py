"""``cltr fit``."""

from pathlib import Path

import click

from cltr.cli.common.options import (
    Count,
    assignments_option,
    cluster_option,
    log_options,
    out_file,
    say_replaced,
    shared,
    warn_about_plugins,
)


@click.command(
    "fit",
    epilog="""\b
Examples:
  cltr fit --log log.h5
  cltr fit --log log.h5 --click-model pbm --click-model dbn --out models
  cltr fit --log log.h5 --click-model trust-bias --intervals --plot bias.svg
  cltr fit --log log.h5 --click-model sdbn -o sdbn.method=em --out sdbn.h5
  cltr fit --log log.h5 --data data.h5 --click-model pbm -o pbm.relevance=regression
  cltr train --log log.h5 --click-model fitted:models/pbm.h5 --estimator prpo --reward dr
  cltr train --log log.h5 --click-model fitted:models/dbn.h5 --reward click-model""",
)
@log_options()
@click.option(
    "--click-model",
    "names",
    multiple=True,
    metavar="NAME",
    help="Click model to fit; may be repeated.  [all that can be fitted to the log]",
)
@assignments_option(
    "Option of one click model, or of all as click-model.KEY=VALUE; may be repeated.",
    metavar="NAME.KEY=VALUE",
)
@click.option("--top-k", type=Count(), help="Number of ranks that count.  [all]")
@click.option(
    "--intervals",
    is_flag=True,
    help="Also compute 95% confidence intervals for position bias and trust bias.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, help="Seed of all random choices.  [1]"
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=say_replaced,
    help="Folder to write the models, a picture and the report to, or FILE.h5 for one model.  "
    "[the log's name with -models]",
)
@out_file(
    "--plot",
    help="Picture of examination by rank to write (.png, .svg, .pdf).  [OUT/examination.png]",
)
@cluster_option
@shared
def command(
    log: Path,
    data: str | None,
    names: tuple[str, ...],
    assignments: tuple[str, ...],
    top_k: int | None,
    intervals: bool,
    cluster: str | None,
    seed: int,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Fit click models and position bias to a log, and compare them.

    cltr fits each click model to the same interactions and scores it on others that it has not
    seen. It also estimates position bias without a model of relevance, from documents that were
    shown at several ranks. The fitted models are saved: --click-model fitted:FILE of other commands
    uses one of them.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.fit import fit
    from cltr.cli.common.output import show, terminal_width
    from cltr.experiment.config import parse_options
    from cltr.report.fit_tables import fit_tables

    found = fit(
        log,
        data=data,
        click_model=names,
        options=parse_options(assignments, example="name.key=value, such as sdbn.method=em"),
        top_k=top_k,
        intervals=intervals,
        cluster=cluster,
        seed=seed,
        out=out,
        plot=plot,
        progress=True,
    )
    width = terminal_width()
    tables = fit_tables(found.report, data=data, width=width)
    show(found.report, tables, as_json=as_json, width=width)
