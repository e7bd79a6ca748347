"""From SVMlight and LETOR files to a data set file, in bounded memory."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np

from cltr.data.dataset_file import FORMAT, DatasetWriter
from cltr.data.disk_spool import Spool
from cltr.data.layouts import Files, find_files, refuse_fold
from cltr.data.normalization import check_normalization, fit_normalization
from cltr.data.split_files import OnBytes, Pile, assign_splits, gather_files
from cltr.data.svmlight import EXPECTED
from cltr.errors import DataError, UsageError
from cltr.extensions import DataLayout
from cltr.files.storage import create_h5, keep_inputs
from cltr.plugins import registry
from cltr.types import SPLITS, Integers, Lists


def import_svmlight(
    paths: Sequence[Path | str],
    out: Path,
    *,
    given: Mapping[str, Sequence[Path | str]],
    preset: str | None,
    fold: int | None,
    normalize: str,
    shares: Mapping[str, float],
    most_features: int,
    judgements: bool,
    progress: OnBytes,
) -> None:
    """Import SVMlight or LETOR files; arguments as of ``import_dataset``."""
    check_normalization(normalize)
    known: DataLayout | None = registry().create("data-layout", preset) if preset else None
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
        if judgements:
            splits, split_notes = assign_splits(pile, files, shares)
        else:
            splits = {split: pile.queries_of(split) for split in SPLITS}
            split_notes = ["no judgements: labels of the files are not used"]
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
            judgements=judgements,
        )


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
    refuse_fold(fold, "files are given by split")
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
    judgements: bool,
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
        labels = block.labels if judgements else np.full(len(places), np.nan)
        writer.append(fitted.apply(block.features, block.offsets), labels, ids)
        done += len(places)
        progress("writing", 4 * done * spool.n_features, 4 * spool.n_rows * spool.n_features)
    ends = np.cumsum([0, *(len(splits[split]) for split in SPLITS)]).tolist()
    bounds = {split: (ends[i], ends[i + 1]) for i, split in enumerate(SPLITS)}
    if not judgements and bounds["train"] == (0, len(order)):
        bounds = dict.fromkeys(SPLITS, (0, len(order)))
        notes.append("no judgements: queries are not split; interactions of a log will be")
    if spool.n_missing:
        notes.append(f"{spool.n_missing} features were too large for 32 bits and count as missing")
    if why_positions:
        notes.append(f"{why_positions}: a document's id is its place in the list, from 0")
    writer.finish(
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        query_ids=np.array(pile.query_ids)[order],
        splits=bounds,
        normalization=fitted,
        name=name,
        highest_grade=highest_grade,
        about={
            "files": {split: [path.name for path in group] for split, group in files.items()},
            "notes": notes,
        },
    )
