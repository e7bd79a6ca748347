"""``cltr fit``."""

from pathlib import Path

import click

from cltr.cli.common.options import Count, cluster_option, shared, warn_about_plugins


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
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Log from 'cltr ingest' or 'cltr simulate'.",
)
@click.option("--data", metavar="FILE", help="Data set that the log was ingested with.  [demo]")
@click.option(
    "--click-model",
    "names",
    multiple=True,
    metavar="NAME",
    help="What to fit; may be repeated.  [all that the log allows]",
)
@click.option(
    "-o",
    "assignments",
    multiple=True,
    metavar="NAME.KEY=VALUE",
    help="Option of a model, or of all as click-model.key=value; may be repeated.",
)
@click.option("--top-k", type=Count(), help="Ranks to look at.  [all]")
@click.option(
    "--intervals",
    is_flag=True,
    help="95 % intervals for position and trust bias.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Decides all draws.  [1]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for models, picture and report, or FILE.h5 for one model.  [LOG-models]",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to draw examination by rank (.png, .svg, .pdf).  [OUT/examination.png]",
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
    """Fit click models and position bias, compare on held-out clicks.

    Each model is fitted to the same interactions and judged on others that it has not seen. Beside
    them stands position bias as documents that were shown at several ranks tell it, with no model
    of relevance. The models are kept in files: --click-model fitted:FILE uses one of them.
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
