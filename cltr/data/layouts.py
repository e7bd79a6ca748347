"""Which files of a folder are which split, and what the well-known data sets look like.

Known layouts: ``Fold1/{train,vali,test}.txt`` (one fold, or the folder of folds),
``set1.{train,valid,test}.txt``, ``{train,vali,test}.txt``, ``rank.{train,test}``, and LETOR's
parts ``S1.txt`` to ``S5.txt``, from which the folds are made. Names may end in ``.gz``.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cltr.errors import DataError, UsageError
from cltr.extensions import DataLayout, SplitFiles
from cltr.types import SPLITS

Files = SplitFiles

SPLIT_WORDS = {
    "train": "train", "training": "train",
    "vali": "valid", "valid": "valid", "validation": "valid", "val": "valid", "dev": "valid",
    "test": "test",
}  # fmt: skip
_SIDECARS = (".query", ".weight", ".init", ".position", ".group")
_HOW = "name the files with --train, --valid and --test"


def find_files(
    paths: Sequence[Path], *, fold: int | None = None, layout: DataLayout | None = None
) -> tuple[Files, list[str]]:
    """Sort files, or the files of a folder, into splits.

    Args:
        paths: files, or one folder.
        fold: which fold of a folder of folds.
        layout: of a well-known data set; it says where its files are.

    Returns:
        The files by split, and what was decided on the way, in words.
    """
    if not paths:
        raise UsageError(f"nothing to import: name a folder or files, or {_HOW}")
    for path in paths:
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
    folders = [path for path in paths if path.is_dir()]
    if not folders:
        refuse_fold(fold, f"{paths[0]} is a file")
        return _by_name(list(paths), "the files"), []
    if len(paths) > 1:
        raise UsageError(f"{folders[0]}: is a folder among {len(paths)} paths; import it alone")
    folder = folders[0]
    found = layout.find(folder, fold=fold) if layout else find_in_folder(folder, fold=fold)
    if found:
        return found
    raise DataError(
        f"{folder}: no split in this folder; expected train.txt, set1.train.txt, Fold1 or "
        f"S1.txt to S5.txt; or {_HOW}"
    )


def refuse_fold(fold: int | None, why: str) -> None:
    """An error if a fold is asked for where there is none to choose."""
    if fold is not None:
        raise UsageError(f"--fold {fold}: {why}; leave out --fold")


def find_in_folder(
    folder: Path, *, fold: int | None, prefix: str = ""
) -> tuple[Files, list[str]] | None:
    """The files of a folder by split, whichever of the known layouts it has; None if none.

    Args:
        folder: that holds them.
        fold: which fold of a folder of folds; the first by default.
        prefix: of the file names, where a folder holds several sets.
    """
    if not folder.is_dir():
        return None
    files = _data_files(folder)
    named = [file for file in files if _split_of(file)]
    if named:
        refuse_fold(fold, f"{folder} has no folds (Fold1, Fold2, or S1.txt to S5.txt)")
        of_set = [file for file in named if _prefix_of(file) == prefix]
        return _by_name(of_set or named, str(folder)), []
    folds = {
        int(match[1]): path
        for path in sorted(folder.iterdir())
        if path.is_dir() and (match := re.fullmatch(r"fold[_-]?(\d+)", path.name, re.IGNORECASE))
    }
    if folds:
        return _of_fold(folder, folds, fold)
    parts = {match[1]: f for f in files if (match := re.match(r"S([1-5])(\.|$)", f.name))}
    return _of_parts(folder, parts, fold) if parts else None


def _of_fold(folder: Path, folds: Mapping[int, Path], fold: int | None) -> tuple[Files, list[str]]:
    chosen = fold if fold is not None else min(folds)
    if chosen not in folds:
        raise UsageError(f"{folder}: no fold {chosen}; there are {', '.join(map(str, folds))}")
    notes = [] if fold is not None else [f"fold {chosen} of {len(folds)} was taken"]
    return _by_name(_data_files(folds[chosen]), str(folds[chosen])), notes


def _of_parts(folder: Path, parts: Mapping[str, Path], fold: int | None) -> tuple[Files, list[str]]:
    """LETOR's folds: fold 1 trains on S1 to S3, validates on S4, tests on S5, and so on round."""
    missing = [f"S{part}" for part in "12345" if part not in parts]
    if missing:
        raise DataError(f"{folder}: {', '.join(missing)} of S1 to S5 is missing; {_HOW}")
    chosen = 1 if fold is None else fold
    if not 1 <= chosen <= 5:
        raise UsageError(f"{folder}: no fold {chosen}; S1 to S5 make folds 1 to 5")
    turn = [parts[str((chosen - 1 + step) % 5 + 1)] for step in range(5)]
    notes = [] if fold is not None else ["fold 1 of 5 was taken"]
    return {"train": turn[:3], "valid": turn[3:4], "test": turn[4:]}, notes


def _data_files(folder: Path) -> list[Path]:
    """Files by name; where a file stands beside its own gzip, the plain one."""
    files = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith(".") and path.suffix not in _SIDECARS
    ]
    names = {path.name for path in files}
    return [path for path in files if path.suffix != ".gz" or path.stem not in names]


def _split_of(path: Path) -> str | None:
    words = re.split(r"[._-]", path.name.lower())
    return next((SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS), None)


def named_by_split(files: Sequence[Path]) -> dict[str, list[Path]]:
    """Files by split, if all their names tell it and there are several splits; else nothing."""
    told = {file: _split_of(file) for file in files}
    if None in told.values() or len(set(told.values())) < 2:
        return {}
    return {split: group for split in SPLITS if (group := [f for f in files if told[f] == split])}


def _prefix_of(path: Path) -> str:
    """What stands before the split's name: ``set1`` of ``set1.train.txt``."""
    words = re.split(r"[._-]", path.name)
    place = next(i for i, word in enumerate(words) if word.lower() in SPLIT_WORDS)
    return "-".join(words[:place])


def _by_name(files: Sequence[Path], where: str) -> Files:
    unknown = [file.name for file in files if _split_of(file) is None]
    named = [file for file in files if _split_of(file) is not None]
    if len(files) == 1 and unknown:
        return {"train": list(files)}
    if not named or (unknown and where == "the files"):
        raise UsageError(f"{where}: cannot tell the split of {', '.join(unknown)}; {_HOW}")
    prefixes = sorted({_prefix_of(file) for file in named})
    if len(prefixes) > 1:
        raise UsageError(f"{where}: there are several sets, {', '.join(prefixes)}; {_HOW}")
    return {
        split: group for split in SPLITS if (group := [f for f in named if _split_of(f) == split])
    }
