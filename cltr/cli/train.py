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
@click.option(
    "--estimator",
    metavar="NAME",
    help="Objective to maximise; 'cltr plugins' lists the names of all components.  [prpo]",
)
@click.option("--reward", metavar="NAME", help="How clicks become relevance estimates.  [dr]")
@click.option("--ranker", metavar="NAME", help="Gradient method.  [exact]")
@run_options(
    click_model="Model of how users click, which the estimates assume; 'auto' fits one to the "
    "clicks.  [auto with --log, else trust-bias]",
    example="estimator.clip=100/N",
    users=" Not with --log.",
    top_k="those of the log, at most 10; 5 without a log",
)
@click.option(
    "--log",
    metavar="FILE",
    help="Train on this log file from 'cltr ingest' instead of simulating clicks.",
)
@click.option(
    "--production",
    "production_scores",
    metavar="FILE",
    help="Table with production's scores (columns query, document, score), if the log does not "
    "have them.",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="Metric that training maximises: dcg, clicks, precision or reciprocal-rank.  [dcg]",
)
@click.option(
    "--init",
    type=click.Choice(["production", "random"]),
    help="Start training at the production ranker, or from random weights.  [production]",
)
@click.option(
    "--exposure",
    type=click.Choice(["auto", "exact", "logged", "counted"]),
    help="How to know how often production shows a document: exact (from its scores), logged (from "
    "propensities in the log) or counted (from impressions); auto takes the first that the log "
    "supports.  [auto]",
)
@click.option(
    "--on-doubt",
    type=click.Choice(["stay", "bound", "ignore"]),
    help="If a health check of the clicks fails: stay with production, bound the new ranker to a "
    "narrow band around production, or ignore the check.  [stay]",
)
@click.option(
    "--standardize/--no-standardize",
    default=None,
    help="Let the model standardise its input features.  [yes, unless the data set is normalised]",
)
@click.option(
    "--skyline/--no-skyline",
    default=None,
    help="Also train a reference ranker on the true labels, if there are any.  [yes]",
)
@click.option(
    "--report/--no-report", default=True, help="Also write report.html into the run folder.  [yes]"
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for the run; it must not hold a run already.  [runs/NNN-...]",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Resume the interrupted run in this folder.",
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

    With --log, cltr trains on a click log. Without it, cltr simulates everything: it trains a
    production ranker on 3% of the training queries, shows its rankings to simulated users, and
    learns from their clicks. The result compares the new ranker with production, says how much
    worse it could be at worst, and ends with a verdict: deploy, canary, hold or reject. All files
    of the run are kept in a folder.
    """
    del verbose
    warn_about_plugins()
    from cltr.api.train import train
    from cltr.cli.common.interrupts import end_with
    from cltr.cli.common.output import show
    from cltr.experiment.config import parse_options
    from cltr.report.run_tables import result_tables
    from cltr.training.together import joined

    options = parse_options(assignments)
    with joined(end_with) as processes, processes.places(out, resume) as (folder, begun):
        flags |= {"progress": processes.first, "report": flags["report"] and processes.first}
        run = train(options=options, config=config, out=folder, resume=begun, **flags)
        if processes.first:
            show(run.result, result_tables(run.result), as_json=as_json)
