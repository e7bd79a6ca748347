"""``cltr data import`` and ``cltr data info``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import Command, Count, shared

NORMALIZATIONS = ("none", "z-score", "log1p-z-score", "query-min-max")


@click.group("data")
def command() -> None:
    """Import judged data, or look at a data set."""


def _files(split: str) -> Callable[[Command], Command]:
    return click.option(
        f"--{split}",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"File with {split} queries, instead of PATHS; may be repeated.",
    )


@command.command(
    "import",
    epilog="""\b
Examples:
  cltr data import MSLR-WEB10K --preset mslr10k --normalize log1p-z-score --out mslr.h5
  cltr data import my-folder --out data.h5
  cltr data import --train S1.txt --train S2.txt --valid S3.txt --test S4.txt --out mq2008.h5""",
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@_files("train")
@_files("valid")
@_files("test")
@click.option(
    "--preset",
    metavar="NAME",
    help="Layout of a well-known data set, also from a plugin: finds its files and checks them; "
    "mslr10k, mslr30k, yahoo, istella, istella-s, letor4.",
)
@click.option("--fold", type=click.IntRange(min=1), help="Which fold of a folder of folds.  [1]")
@click.option(
    "--normalize",
    type=click.Choice(NORMALIZATIONS),
    default="none",
    show_default=True,
    help="Of features; fitted on the training queries.",
)
@click.option(
    "--valid-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of training queries to split off where there are no validation files.",
)
@click.option(
    "--test-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="The same where there are no test files.",
)
@click.option(
    "--most-features",
    type=Count(),
    default=100_000,
    show_default=True,
    help="Highest feature number to accept.",
)
@shared
def import_(
    paths: tuple[Path, ...],
    out: Path,
    as_json: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Import SVMlight or LETOR files into one data set file.

    PATHS is a folder that holds the splits (FoldN/train.txt, set1.train.txt, train.txt, rank.train
    and the like), or files named by their split. Reads gzip, and LightGBM's .query files where
    lines have no qid.
    """
    del verbose
    from cltr.cli.common.output import print_json
    from cltr.cli.common.progress import byte_progress
    from cltr.data.importing import import_dataset
    from cltr.report.data_tables import print_info

    with byte_progress() as progress:
        info = import_dataset(paths, out, progress=progress, **options)
    if as_json:
        print_json(info)
    else:
        print_info(info)


@command.command("info", epilog="\b\nExample:\n  cltr data info data.h5")
@click.argument("path", type=click.Path(path_type=Path))
@shared
def info(path: Path, as_json: bool, verbose: bool) -> None:
    """Show what a data set file holds.

    PATH is a file from 'cltr data import', or 'demo' for the embedded data.
    """
    del verbose
    from cltr.cli.common.output import print_json
    from cltr.data.importing import dataset_info, describe_dataset
    from cltr.report.data_tables import print_info

    if str(path) == "demo":
        from cltr.data.demo import demo_dataset

        found = describe_dataset(demo_dataset())
    else:
        found = dataset_info(path)
    if as_json:
        print_json(found)
    else:
        print_info(found)
