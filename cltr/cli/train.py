"""``cltr train``."""

from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import run_options, shared, warn_about_plugins


@click.command(
    "train",
    epilog="""\b
Examples:
  cltr train --estimator prpo --reward dr
  cltr train --estimator safe-dr -n 1e6 --seed 3
  cltr train --data mslr.h5 -o estimator.clip=0.1 -o training.epochs=20 --out runs/try
  cltr train --users adversarial -o estimator.clip=1 -o estimator.rollback=1
  cltr train --config runs/try/run.toml""",
)
@click.option("--estimator", metavar="NAME", help="Objective to maximise.  [prpo]")
@click.option("--reward", metavar="NAME", help="How clicks become relevance estimates.  [dr]")
@click.option("--ranker", metavar="NAME", help="Gradient method.  [exact]")
@run_options
@click.option("--log", metavar="FILE", help="Train on this log instead of simulating clicks.")
@click.option(
    "--production",
    "production_scores",
    metavar="FILE",
    help="Production's scores (query, document, score), where the log does not hold them.",
)
@click.option("--metric", metavar="NAME", help="Weights of ranks in training.  [dcg]")
@click.option(
    "--init",
    type=click.Choice(["production", "random"]),
    help="Where training starts.  [production]",
)
@click.option(
    "--exposure",
    type=click.Choice(["auto", "exact", "logged", "counted"]),
    help="Logging exposure from production's scores, logged propensities or counts.  [auto]",
)
@click.option(
    "--on-doubt",
    type=click.Choice(["stay", "bound", "ignore"]),
    help="If a health check of the clicks fails: stay with production, bound the policy to a "
    "narrow band, or ignore it.  [stay]",
)
@click.option(
    "--standardize/--no-standardize",
    default=None,
    help="Models standardise their inputs.  [unless the data set is normalised]",
)
@click.option(
    "--skyline/--no-skyline",
    default=None,
    help="Also train a reference ranker on the true labels.  [yes]",
)
@click.option("--report/--no-report", default=True, help="Also write report.html.  [yes]")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder.  [runs/NNN-...]")
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="RUN", help="Resume an interrupted run."
)
@shared
def command(
    assignments: tuple[str, ...],
    config: Path | None,
    out: Path | None,
    resume: Path | None,
    as_json: bool,
    verbose: bool,
    **flags: Any,
) -> None:
    """Learn a ranker from clicks.

    Without --data it uses the embedded demo data. A production ranker is trained on 3 % of the
    training queries, users click on what it shows, the estimator learns from these clicks, and the
    result stands beside production and the skyline, with what could go wrong at worst.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.train import train
    from cltr.cli.common.output import show
    from cltr.experiment.config import parse_options
    from cltr.report.run_tables import result_tables

    options = parse_options(assignments)
    run = train(options=options, config=config, out=out, resume=resume, progress=True, **flags)
    show(run.result, result_tables(run.result), as_json=as_json)
