"""Refuse features that are NaN or infinite before a model sees them: it may hide what they do.

A data set file is looked at when it is opened, some rows at a time. That a large one is good is
remembered by its fingerprint in the user's folder for caches, as long as the file does not change.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from cltr.errors import NotFiniteError
from cltr.types import Dataset

LARGE = 64 << 20
"""Bytes of features from which on it is remembered; fewer take a fraction of a second."""


def require_finite_features(dataset: Dataset, *, where: Path | str = "") -> None:
    """Raise where a feature is not finite, and say which; each data set is looked at once.

    Args:
        dataset: to look at.
        where: what to call it in the message; its own name by default.
    """
    found = dataset.unusable_feature
    if found is None:
        return
    row, column = found
    query = int(np.searchsorted(dataset.offsets, row, side="right")) - 1
    raise NotFiniteError(
        f"{where or dataset.name or 'data set'}: feature {column + 1} of document "
        f"'{dataset.document_ids[row]}' of query '{dataset.query_ids[query]}' is "
        f"{dataset.features[row][column]}; replace what is not finite and import the data again"
    )


def check_finite_features(path: Path, dataset: Dataset) -> None:
    """The same for a file that has just been opened; a large one is remembered.

    Args:
        path: of the file.
        dataset: what it holds.
    """
    if dataset.features.nbytes < LARGE:
        require_finite_features(dataset, where=path)
        return
    note = _note(path, dataset)
    if note.exists():
        vars(dataset)["unusable_feature"] = None
        return
    require_finite_features(dataset, where=path)
    with suppress(OSError):  # no place to remember it: the file is looked at again next time
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()


def _note(path: Path, dataset: Dataset) -> Path:
    """The empty file whose being there says that this data set file is good, as it is now."""
    seen = path.stat()
    parts = (dataset.fingerprint, path.resolve(), seen.st_ino, seen.st_size, seen.st_mtime_ns)
    name = hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "cltr" / "finite-features" / name
