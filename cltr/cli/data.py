"""``cltr data import``, ``cltr data split``, ``cltr data info`` and ``cltr data export``."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from cltr.cli.common.options import Command, Count, out_file, shared

IN_WORDS = {"train": "training", "valid": "validation", "test": "test"}
NORMALIZATIONS = ("none", "z-score", "log1p-z-score", "query-min-max")


@click.group("data")
def command() -> None:
    """Import, show, split or export queries, documents and features."""


COLUMNS = {
    "query": "column of the query or its id.",
    "document": "column of the document's id; 'none' to use its place in the list.",
    "label": "column of the relevance grade; 'none' if there are no judgements.",
    "split": "column with train, valid or test; 'none' to split queries by a hash of their id.",
}


def _columns(command: Command) -> Command:
    for name, meaning in reversed(COLUMNS.items()):
        option = click.option(f"--{name}-column", metavar="NAME", help=f"Tables: {meaning}")
        command = option(command)
    return command


_WITH = dict.fromkeys(("valid", "test"), "; give --train too, and no PATHS")
_WITH["train"] = ", instead of PATHS"


def _files(split: str) -> Callable[[Command], Command]:
    return click.option(
        f"--{split}",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"File with {IN_WORDS[split]} queries{_WITH[split]}. May be repeated.",
    )


@command.command(
    "import",
    epilog="""\b
Examples:
  cltr data import MSLR-WEB10K --preset mslr10k --normalize log1p-z-score --out mslr.h5
  cltr data import features.parquet --out data.h5
  cltr data import features.parquet --shards 8 --out data
  cltr data import features.csv --query-column q --document-column url --missing zero --out data.h5
  cltr data import my-folder --out data.h5
  cltr data import --train S1.txt --train S2.txt --valid S3.txt --test S4.txt --out mq2008.h5""",
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@out_file(
    help="Data set file to write (.h5), or folder with --shards.", metavar="PATH", required=True
)
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    help="Write a folder of so many files instead of one, as 'cltr data split' does. While it "
    "works, cltr needs the disk space twice.",
)
@_files("train")
@_files("valid")
@_files("test")
@_columns
@click.option(
    "--feature-column",
    "feature_columns",
    multiple=True,
    metavar="PATTERN",
    help="Tables: columns of features, such as 'bm25*'; may be repeated.  [all other columns]",
)
@click.option(
    "--leave-out",
    multiple=True,
    metavar="PATTERN",
    help="Tables: columns to leave out; may be repeated.",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero", "mean"]),
    help="Tables: if a feature value is missing, refuse the table, or set the value to 0 or to the "
    "mean over the training queries.  [refuse]",
)
@click.option(
    "--qrels",
    metavar="FILE",
    help="Tables: file with judgements in TREC's format, instead of a label column.",
)
@click.option(
    "--no-judgements",
    "judgements",
    flag_value=False,
    default=True,
    help="Ignore the labels in the files.",
)
@click.option(
    "--preset",
    metavar="NAME",
    help="Name of a well-known data set whose folder you give as PATHS: mslr10k, mslr30k, yahoo, "
    "istella, istella-s, letor4, or one that a plugin adds. cltr does not download it; it finds "
    "the files in the folder and checks them.",
)
@click.option(
    "--fold",
    type=click.IntRange(min=1),
    help="Number of the fold to import, if the folder has several.  [1]",
)
@click.option(
    "--normalize",
    type=click.Choice(NORMALIZATIONS),
    default="none",
    show_default=True,
    help="How to normalise features, fitted on the training queries.",
)
@click.option(
    "--valid-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the training queries to use for validation, if the files name none.",
)
@click.option(
    "--test-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the queries to use for testing, if the files name none; only with judgements.",
)
@click.option(
    "--most-features",
    type=Count(),
    default=100_000,
    show_default=True,
    help="SVMlight: highest feature number to accept.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    default="",
    help="Tables: most memory to use, such as 4GB.  [half of the machine's]",
)
@shared
def import_(
    paths: tuple[Path, ...],
    out: Path,
    shards: int | None,
    as_json: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Import features, and judgements if there are any, into a data set file.

    PATHS are tables with a row for each query and document: Parquet, CSV, TSV or JSON lines,
    possibly compressed (.gz), with rows in any order. They may be larger than memory. cltr finds
    columns with common names; name the others. All other columns are features.

    Or PATHS is a folder with SVMlight or LETOR files (FoldN/train.txt, set1.train.txt, train.txt,
    rank.train and so on), or such files that are named by their split. LightGBM's .query files are
    read where lines have no qid.
    """
    del verbose
    from cltr.api.progress import byte_progress, share_progress
    from cltr.cli.common.output import print_json
    from cltr.data.importing import are_tables, import_dataset, import_shards
    from cltr.report.data_tables import print_info

    names = [
        *(f"{name}_column" for name in COLUMNS),
        "feature_columns",
        "leave_out",
        "qrels",
        "missing",
    ]
    chosen = {name: options.pop(name) for name in names}
    columns = {name: value for name, value in chosen.items() if value}
    write = import_dataset if shards is None else partial(import_shards, n_shards=shards)
    given = [*paths, *options["train"], *options["valid"], *options["test"]]
    if are_tables(given):
        with share_progress(True) as on_share:
            info = write(paths, out, columns=columns, on_share=on_share, **options)
    else:
        with byte_progress() as progress:
            info = write(paths, out, columns=columns, progress=progress, **options)
    if as_json:
        print_json(info)
    else:
        print_info(info)


@command.command("split", epilog="\b\nExample:\n  cltr data split data.h5 --shards 8 --out data")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    required=True,
    help="Number of files, with about the same number of documents each.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write.")
@shared
def split(path: Path, shards: int, out: Path, as_json: bool, verbose: bool) -> None:
    """Write a data set as a folder of several files.

    PATH is a file from 'cltr data import', another folder of shards, or 'demo'. Every command that
    takes a data set takes the folder, with the same results: logs and runs of PATH fit it.
    """
    del verbose
    from cltr.cli.common.output import print_json
    from cltr.data.importing import dataset_info, split_dataset
    from cltr.report.data_tables import print_info

    split_dataset(str(path), out, n_shards=shards)
    if as_json:
        print_json(dataset_info(out))
    else:
        print_info(dataset_info(out))


@command.command("info", epilog="\b\nExample:\n  cltr data info data.h5")
@click.argument("path", type=click.Path(path_type=Path))
@shared
def info(path: Path, as_json: bool, verbose: bool) -> None:
    """Show what a data set holds.

    PATH is a file from 'cltr data import', a folder from 'cltr data split', or 'demo' for the demo
    data in the package.
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


@command.command(
    "export",
    epilog="""\b
Examples:
  cltr data export data.h5 --out data.parquet
  cltr data export data.h5 --to qrels --out judgements.txt
  cltr data export scores.parquet --to run --out production.trec
  cltr data export log.h5 --to clicks --out clicks.parquet
  cltr data export log.h5 --to scores --data data.h5 --out scores.parquet""",
)
@click.argument("path", type=click.Path(path_type=Path))
@out_file(help="File to write.", required=True)
@click.option(
    "--to",
    "kind",
    type=click.Choice(["parquet", "csv", "qrels", "run", "clicks", "scores"]),
    help="What to write, as explained above.  [parquet or csv, by the ending of --out]",
)
@click.option(
    "--data", metavar="FILE", help="Data set that a log was ingested with, for clicks and scores."
)
@shared
def export(
    path: Path, out: Path, kind: str | None, data: str | None, as_json: bool, verbose: bool
) -> None:
    """Export a data set, scores or a log as a table or in TREC's format.

    PATH is a data set file or 'demo': it becomes a table (parquet, csv) that 'cltr data import'
    reads back to the last bit, or TREC judgements (qrels). For --to run, PATH is a table with
    columns query, document and score, which becomes a TREC run. For --to clicks and --to scores,
    PATH is a log file: its interactions, or production's scores, become a table that 'cltr ingest'
    reads back, with the same training, validation and test parts.
    """
    del verbose
    from cltr.cli.common.output import print_json
    from cltr.files.storage import keep_inputs

    keep_inputs(out, [path])
    if kind == "run":
        from cltr.logs.score_files import export_run

        export_run(path, out)
    elif kind in ("clicks", "scores"):
        from cltr.data.loading import find_dataset
        from cltr.logs import log_export

        write = log_export.export_log if kind == "clicks" else log_export.export_scores
        write(path, out, dataset=find_dataset(data) if data else None)
    else:
        from cltr.data.exporting import export_dataset
        from cltr.data.loading import find_dataset

        export_dataset(find_dataset(str(path)), out, kind=kind or "")
    if as_json:
        print_json({"path": str(path), "out": str(out)})
    else:
        click.echo(f"wrote {out}")
