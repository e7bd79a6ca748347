"""Import a data set from files of any kind, and say what a data set holds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cltr.data.dataset_file import save_dataset
from cltr.data.layouts import named_by_split
from cltr.data.loading import DEMO, about_dataset, find_dataset, open_dataset
from cltr.data.normalization import NORMALIZATIONS
from cltr.data.shards import require_new_folder, write_shards
from cltr.data.split_files import OnBytes
from cltr.data.svmlight import MOST_FEATURES
from cltr.errors import UsageError
from cltr.files.claims import hidden_folder
from cltr.files.table_files import OnShare, expand, is_table, silent
from cltr.types import Dataset, Integers

__all__ = [
    "NORMALIZATIONS",
    "dataset_info",
    "describe_dataset",
    "import_dataset",
    "import_shards",
    "open_dataset",
    "save_dataset",
    "split_dataset",
]


def import_dataset(
    paths: Sequence[Path | str],
    out: Path | str,
    *,
    train: Sequence[Path | str] = (),
    valid: Sequence[Path | str] = (),
    test: Sequence[Path | str] = (),
    preset: str | None = None,
    fold: int | None = None,
    normalize: str = "none",
    valid_share: float = 0.2,
    test_share: float = 0.2,
    most_features: int = MOST_FEATURES,
    judgements: bool = True,
    memory: str = "",
    columns: Mapping[str, Any] | None = None,
    progress: OnBytes = lambda stage, done, total: None,
    on_share: OnShare = silent,
) -> dict[str, Any]:
    """Import files into one HDF5 file, in bounded memory.

    Files whose names end in .parquet, .csv, .tsv, .jsonl and the like (also .gz) are tables with a
    row for each query and document; all others are SVMlight or LETOR text.

    Args:
        paths: a folder (see ``cltr.data.layouts``) or files; empty if given by split.
        out: the file to write; it appears when it is whole.
        train: training files.
        valid: validation files.
        test: test files.
        preset: name of a well-known data set, to find its files and to check them.
        fold: which fold of a folder of folds; the first by default.
        normalize: one of ``NORMALIZATIONS``, fitted on the training queries alone.
        valid_share: share of training queries to split off where nothing says which they are.
        test_share: the same for test queries; without judgements none are split off.
        most_features: highest feature number to accept, of SVMlight files.
        judgements: False if the labels in the files mean nothing.
        memory: most memory for tables, such as ``4GB``; half of the machine's by default.
        columns: which columns of a table are what: options of ``TableOptions``.
        progress: called now and then with the stage, bytes done and bytes in all, of SVMlight.
        on_share: called now and then with the stage and how much of it is done, of tables.

    Returns:
        What :func:`dataset_info` says of the new file.
    """
    out = Path(out)
    given = {"train": train, "valid": valid, "test": test}
    shares = {"valid": valid_share, "test": test_share}
    if are_tables([*paths, *train, *valid, *test]):
        if preset or fold is not None:
            raise UsageError(
                f"--{'preset' if preset else 'fold'}: can only be used with SVMlight files"
            )
        _import_tables(paths, out, given, shares, normalize, judgements, memory, columns, on_share)
        return dataset_info(out)
    if columns:
        flag = f"--{next(iter(columns)).replace('_', '-')}"
        raise UsageError(f"{flag}: SVMlight files have no columns; leave it out")
    from cltr.data.svmlight_import import import_svmlight

    import_svmlight(
        paths,
        out,
        given=given,
        preset=preset,
        fold=fold,
        normalize=normalize,
        shares=shares,
        most_features=most_features,
        judgements=judgements,
        progress=progress,
    )
    return dataset_info(out)


def import_shards(
    paths: Sequence[Path | str], out: Path | str, *, n_shards: int, **choices: Any
) -> dict[str, Any]:
    """Import files into a folder of shards; see :mod:`cltr.data.shards`.

    One file is written first, beside the folder, and removed at the end.

    Args:
        paths: as of :func:`import_dataset`.
        out: folder to write; it appears when all shards are in it.
        n_shards: number of files.
        choices: all else, as of :func:`import_dataset`.

    Returns:
        What :func:`dataset_info` says of the folder.
    """
    out = Path(out)
    require_new_folder(out)
    with hidden_folder(out.parent) as folder:
        whole = folder / f"{out.name}.h5"
        import_dataset(paths, whole, **choices)
        split_dataset(str(whole), out, n_shards=n_shards)
    return dataset_info(out)


def are_tables(paths: Sequence[Path | str]) -> bool:
    """Whether files are tables, by how their names end; a folder is what most of its files are."""
    for path in map(Path, paths):
        if path.is_dir():
            inside = [
                p for p in path.rglob("*") if p.is_file() and not p.name.startswith((".", "_"))
            ]
            return bool(inside) and sum(map(is_table, inside)) * 2 > len(inside)
        return is_table(path)
    return False


def _import_tables(
    paths: Sequence[Path | str],
    out: Path,
    given: Mapping[str, Sequence[Path | str]],
    shares: Mapping[str, float],
    normalize: str,
    judgements: bool,
    memory: str,
    columns: Mapping[str, Any] | None,
    progress: OnShare,
) -> None:
    from cltr.data.feature_columns import TableOptions
    from cltr.data.table_import import TableImport, import_table
    from cltr.data.table_source import TableSource

    chosen = dict(columns or {})
    if not judgements:
        if chosen.get("label_column", "none") != "none":
            raise UsageError("--label-column and --no-judgements contradict each other")
        chosen["label_column"] = "none"
    options = TableOptions.parse(chosen, owner="")
    how = TableImport(options, shares, normalize, memory)
    files = _by_split(paths, given)
    import_table(TableSource(files), out, how, name=out.stem, progress=progress)


def _by_split(
    paths: Sequence[Path | str], given: Mapping[str, Sequence[Path | str]]
) -> dict[str, list[Path]]:
    """Files by split, where they are given so or where all names tell; else all together."""
    named = {split: expand(group) for split, group in given.items() if group}
    if named and paths:
        raise UsageError(f"{paths[0]}: give either paths or --train, --valid and --test, not both")
    if named:
        if "train" not in named:
            raise UsageError("no training files; name them with --train")
        return named
    files = expand(paths)
    return named_by_split(files) or {"": files}


def split_dataset(name: str, out: Path, *, n_shards: int) -> None:
    """Write a data set as a folder of shards; see :mod:`cltr.data.shards`.

    Args:
        name: a file, a folder of shards, or the demo data.
        out: folder to write.
        n_shards: number of files.
    """
    about = {} if name == DEMO else about_dataset(name)
    write_shards(find_dataset(name), out, n_shards=n_shards, about=about)


def dataset_info(path: Path | str) -> dict[str, Any]:
    """What is in a data set file, ready for JSON; reads labels but no features."""
    dataset = open_dataset(path)
    about = about_dataset(path)
    return {
        "path": str(path),
        **describe_dataset(dataset),
        "files": about.get("files", {}),
        "notes": about.get("notes", []),
        **({"shards": about["shards"]} if "shards" in about else {}),
    }


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """A summary of a data set by split.

    Example:
        >>> from cltr.data.demo import demo_dataset
        >>> describe_dataset(demo_dataset())["splits"]["test"]["queries"]
        200
    """
    return {
        "name": dataset.name,
        "fingerprint": dataset.fingerprint,
        "queries": dataset.n_queries,
        "documents": dataset.n_documents,
        "features": dataset.n_features,
        "feature_names": list(dataset.feature_names),
        "highest_grade": dataset.highest_grade,
        "judged_queries": int(np.count_nonzero(dataset.judged_queries)),
        "shared": dataset.shared,
        "normalization": dataset.normalization.name if dataset.normalization else "none",
        "splits": {split: _describe_split(dataset.part(split)) for split in dataset.splits},
    }


def _describe_split(part: Dataset) -> dict[str, Any]:
    lengths, judged = part.lists.lengths, part.judged_queries
    labels = part.labels[np.repeat(judged, lengths)]
    grades, counts = np.unique(labels + 0.0, return_counts=True)  # -0 is 0
    relevant = part.lists.sum((part.labels > 0).astype(np.float64)) > 0
    return {
        "queries": part.n_queries,
        "documents": part.n_documents,
        "list_length": dict(zip(("min", "median", "max"), _spread(lengths), strict=True)),
        "judged_queries": int(np.count_nonzero(judged)),
        "grades": {f"{grade:g}": int(n) for grade, n in zip(grades, counts, strict=True)},
        "queries_without_relevant": int(np.count_nonzero(judged & ~relevant)),
    }


def _spread(lengths: Integers) -> list[float]:
    if not len(lengths):
        return [0, 0, 0]
    return [int(lengths.min()), float(np.median(lengths)), int(lengths.max())]
