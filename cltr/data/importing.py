"""Judged data: import SVMlight and LETOR files, open the result, say what is in it."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from cltr.data.dataset_file import FORMAT, DatasetWriter, about_dataset, open_dataset, save_dataset
from cltr.data.disk_spool import Spool
from cltr.data.layouts import Files, find_files
from cltr.data.normalization import NORMALIZATIONS, check_normalization, fit_normalization
from cltr.data.split_files import OnBytes, Pile, assign_splits, gather_files
from cltr.data.svmlight import EXPECTED, MOST_FEATURES
from cltr.errors import DataError, UsageError
from cltr.extensions import DataLayout
from cltr.files.storage import create_h5, keep_inputs
from cltr.plugins import registry
from cltr.types import SPLITS, Dataset, Integers, Lists

__all__ = [
    "NORMALIZATIONS",
    "dataset_info",
    "describe_dataset",
    "import_dataset",
    "open_dataset",
    "save_dataset",
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
    progress: OnBytes = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Import SVMlight or LETOR files into one HDF5 file, in bounded memory.

    Args:
        paths: a folder (see ``cltr.data.layouts``) or files named by their split; empty if
            the files are given by split.
        out: the file to write; it appears when it is whole.
        train: training files.
        valid: validation files; without any, queries are split off from training.
        test: test files; without any, queries are split off from training.
        preset: name of a well-known data set, to find its files and to check them.
        fold: which fold of a folder of folds; the first by default.
        normalize: one of ``NORMALIZATIONS``, fitted on the training queries alone.
        valid_share: share of training queries to split off where there are no validation files.
        test_share: the same for test files.
        most_features: highest feature number to accept.
        progress: called now and then with the stage, bytes done and bytes in all.

    Returns:
        What :func:`dataset_info` says of the new file.
    """
    out = Path(out)
    check_normalization(normalize)
    known: DataLayout | None = registry().find("data-layout", preset)() if preset else None
    given = {"train": train, "valid": valid, "test": test}
    files, notes = _choose(paths, given, fold=fold, preset=known)
    keep_inputs(out, [path for part in files.values() for path in part])
    with create_h5(out, format=FORMAT) as file, Spool(out.parent) as spool:
        pile = gather_files(
            files,
            spool,
            most_features=most_features,
            huge_is_missing=known is not None and known.huge_is_missing,
            progress=progress,
        )
        shares = {"valid": valid_share, "test": test_share}
        splits, split_notes = assign_splits(pile, files, shares)
        _check(pile, files, known, out)
        _store(
            file,
            pile,
            splits,
            normalize=normalize,
            name=preset or out.stem,
            highest_grade=known.highest_grade if known else spool.highest_grade,
            files=files,
            notes=[*notes, *split_notes],
            progress=progress,
        )
    return dataset_info(out)


def _choose(
    paths: Sequence[Path | str],
    given: Mapping[str, Sequence[Path | str]],
    *,
    fold: int | None,
    preset: DataLayout | None,
) -> tuple[Files, list[str]]:
    """The files by split, as given or as found."""
    named = {split: [Path(path) for path in group] for split, group in given.items() if group}
    if not named:
        return find_files([Path(path) for path in paths], fold=fold, layout=preset)
    if paths:
        raise UsageError(f"{paths[0]}: give either paths or --train, --valid and --test, not both")
    if "train" not in named:
        raise UsageError("no training files; name them with --train")
    return named, []


def _check(pile: Pile, files: Files, preset: DataLayout | None, out: Path) -> None:
    spool = pile.spool
    if spool.n_features == 0:
        raise DataError(f"{files['train'][0]}: no document has a feature; {EXPECTED}")
    if preset is not None:
        preset.check(
            n_features=spool.n_features,
            highest_grade=spool.highest_grade,
            n_queries=spool.n_queries,
        )
    size = 4 * spool.n_rows * spool.n_features
    if size > shutil.disk_usage(out.parent).free:
        raise DataError(
            f"{out}: {spool.n_rows} documents with {spool.n_features} features need "
            f"{size / 1e9:.1f} GB, more than is free; free some space or write elsewhere"
        )


def _store(
    file: h5py.File,
    pile: Pile,
    splits: Mapping[str, Integers],
    *,
    normalize: str,
    name: str,
    highest_grade: float,
    files: Files,
    notes: list[str],
    progress: OnBytes,
) -> None:
    """Take the documents from the pile in the order of the splits, normalise and write them."""
    spool = pile.spool
    training = (spool.take(part).features for part in spool.parts(splits["train"]))
    fitted = fit_normalization(normalize, training)
    order = np.concatenate([splits[split] for split in SPLITS])
    lengths = spool.lengths()[order]
    why_positions = pile.ids_problem()
    positions = np.arange(lengths.max()).astype(str)
    writer = DatasetWriter(
        file,
        n_documents=spool.n_rows,
        n_features=spool.n_features,
        id_width=positions.dtype.itemsize // 4 if why_positions else spool.longest_id,
    )
    done = 0
    for part in spool.parts(order):
        block = spool.take(part)
        places = Lists.of_offsets(block.offsets).places
        ids = positions[places] if why_positions else spool.take_ids(part)
        writer.append(fitted.apply(block.features, block.offsets), block.labels, ids)
        done += len(places)
        progress("writing", 4 * done * spool.n_features, 4 * spool.n_rows * spool.n_features)
    ends = np.cumsum([0, *(len(splits[split]) for split in SPLITS)]).tolist()
    if spool.n_missing:
        notes.append(f"{spool.n_missing} features were too large for 32 bits and count as missing")
    if why_positions:
        notes.append(f"{why_positions}: a document's id is its place in the list, from 0")
    writer.finish(
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        query_ids=np.array(pile.query_ids)[order],
        splits={split: (ends[i], ends[i + 1]) for i, split in enumerate(SPLITS)},
        normalization=fitted,
        name=name,
        highest_grade=highest_grade,
        about={
            "files": {split: [path.name for path in group] for split, group in files.items()},
            "notes": notes,
        },
    )


def dataset_info(path: Path | str) -> dict[str, Any]:
    """What is in a data set file, ready for JSON; reads labels but no features."""
    dataset = open_dataset(path)
    about = about_dataset(path)
    return {
        "path": str(path),
        **describe_dataset(dataset),
        "files": about.get("files", {}),
        "notes": about.get("notes", []),
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
        "highest_grade": dataset.highest_grade,
        "normalization": dataset.normalization.name if dataset.normalization else "none",
        "splits": {split: _describe_split(dataset.part(split)) for split in dataset.splits},
    }


def _describe_split(part: Dataset) -> dict[str, Any]:
    lengths = np.diff(part.offsets)
    grades, counts = np.unique(part.labels + 0.0, return_counts=True)  # -0 is 0
    best = np.maximum.reduceat(part.labels, part.offsets[:-1]) if len(lengths) else np.empty(0)
    return {
        "queries": part.n_queries,
        "documents": part.n_documents,
        "list_length": dict(zip(("min", "median", "max"), _spread(lengths), strict=True)),
        "grades": {f"{grade:g}": int(n) for grade, n in zip(grades, counts, strict=True)},
        "queries_without_relevant": int(np.count_nonzero(best == 0)),
    }


def _spread(lengths: Integers) -> list[float]:
    if not len(lengths):
        return [0, 0, 0]
    return [int(lengths.min()), float(np.median(lengths)), int(lengths.max())]
