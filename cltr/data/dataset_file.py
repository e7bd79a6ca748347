"""A data set at rest: one HDF5 file, opened in milliseconds whatever its size.

It holds the fields of :class:`cltr.types.Dataset` as plain contiguous arrays, which are mapped into
memory and read only where they are used. Queries stand in the order train, valid, test; where they
are not split, each split is all of them. Ids and the names of features are text, one row of Unicode
code points each, so that they too can be mapped.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cltr.data.finite_features import check_finite_features
from cltr.data.normalization import NORMALIZATIONS, Normalization
from cltr.errors import DataError
from cltr.files.attributes import write_attributes
from cltr.files.fingerprints import Fingerprint
from cltr.files.json_files import Schema, parse_json
from cltr.files.schema import Member
from cltr.files.storage import attribute, create_h5, map_array, open_h5
from cltr.files.text import code_points, text_of
from cltr.types import SPLITS, Dataset, Floats, Integers

FORMAT = "cltr-dataset"
_FITTED = ("normalization/center", "normalization/scale")
_OPTIONAL = (*_FITTED, "feature_names")
MEMBERS = {
    "features": Member("<f4", ("documents", "features")),
    "labels": Member("<f8", ("documents",)),
    "offsets": Member("<i8", ("queries+1",)),
    "query_ids": Member("<u4", ("queries", "width of query ids")),
    "document_ids": Member("<u4", ("documents", "width of document ids")),
    "splits": Member("<i8", (len(SPLITS), 2)),
    "feature_names": Member("<u4", ("features", "width of feature names")),
    **{name: Member("<f8", ("features",)) for name in _FITTED},
}


class About(Schema):
    """What was noted when a data set was written."""

    notes: list[str] = Field([])


class DatasetWriter:
    """Fills a new file: what belongs to documents block by block, the rest at once."""

    def __init__(
        self, file: h5py.File, *, n_documents: int, n_features: int, id_width: int
    ) -> None:
        self._file = file
        self._fingerprint = Fingerprint()
        self._done = 0
        for name, *width in (("features", n_features), ("labels",), ("document_ids", id_width)):
            file.create_dataset(name, (n_documents, *width), MEMBERS[str(name)].dtype)

    def append(
        self, features: NDArray[np.float32], labels: Floats, document_ids: NDArray[np.str_]
    ) -> None:
        """Add the next documents."""
        rows = slice(self._done, self._done + len(labels))
        self._done = rows.stop
        width = self._file["document_ids"].shape[1]
        for name, values in (
            ("features", features),
            ("labels", labels),
            ("document_ids", code_points(document_ids, width)),
        ):
            self._file[name][rows] = values
            self._fingerprint.update(name, values)

    def finish(
        self,
        *,
        offsets: Integers,
        query_ids: NDArray[np.str_],
        splits: Mapping[str, tuple[int, int]],
        normalization: Normalization,
        name: str,
        highest_grade: float,
        about: Mapping[str, Any],
        feature_names: Sequence[str] = (),
        fingerprint: str = "",
    ) -> str:
        """Add what is known of the whole; ``about`` is anything that JSON can hold.

        Returns:
            The fingerprint.
        """
        arrays: dict[str, NDArray[Any]] = {
            "offsets": offsets.astype(np.int64),
            "query_ids": code_points(query_ids),
            "splits": np.array([splits[split] for split in SPLITS], np.int64),
        }
        if len(normalization.center):
            arrays |= dict(zip(_FITTED, (normalization.center, normalization.scale), strict=True))
        for member, values in arrays.items():
            self._file.create_dataset(member, data=values)
            self._fingerprint.update(member, values)
        if feature_names:  # names are no part of the fingerprint: the numbers are the same
            self._file.create_dataset("feature_names", data=code_points(np.array(feature_names)))
        fingerprint = fingerprint or self._fingerprint.text()
        write_attributes(
            self._file,
            name=name,
            highest_grade=float(highest_grade),
            normalization=normalization.name,
            fingerprint=fingerprint,
            about=json.dumps(about),
        )
        return fingerprint


def save_dataset(dataset: Dataset, path: Path | str, *, fingerprint: str = "") -> None:
    """Write a data set that is in memory, such as the demo data or one of your own making.

    Args:
        dataset: to write.
        path: the file.
        fingerprint: what results quote, where logs were already made on it; that of the content
            by default.

    Example:
        >>> import tempfile
        >>> from cltr.data.demo import demo_dataset
        >>> path = Path(tempfile.mkdtemp()) / "demo.h5"
        >>> save_dataset(demo_dataset(), path)
        >>> open_dataset_file(path).n_queries
        700
    """
    ids = dataset.document_ids.astype(str)
    with create_h5(path, format=FORMAT) as file:
        writer = DatasetWriter(
            file,
            n_documents=dataset.n_documents,
            n_features=dataset.n_features,
            id_width=ids.dtype.itemsize // 4,
        )
        writer.append(dataset.features, dataset.labels, ids)
        writer.finish(
            offsets=dataset.offsets,
            query_ids=dataset.query_ids.astype(str),
            splits={split: dataset.splits.get(split, (0, 0)) for split in SPLITS},
            normalization=dataset.normalization or Normalization(),
            name=dataset.name,
            highest_grade=dataset.highest_grade,
            about={},
            feature_names=dataset.feature_names,
            fingerprint=fingerprint,
        )


def open_dataset_file(path: Path | str) -> Dataset:
    """Open a data set file: checked, and mapped rather than read."""
    path = Path(path)
    with open_h5(path, format=FORMAT, members=MEMBERS, optional=_OPTIONAL) as file:
        arrays = {name: map_array(file[name]) for name in MEMBERS if name in file}
        dataset = Dataset(
            features=arrays["features"],
            labels=arrays["labels"],
            offsets=arrays["offsets"],
            query_ids=text_of(path, "query_ids", arrays["query_ids"]),
            document_ids=text_of(path, "document_ids", arrays["document_ids"]),
            splits=dict(zip(SPLITS, map(tuple, arrays["splits"].tolist()), strict=True)),
            highest_grade=attribute(file, "highest_grade", float, path=path),
            name=attribute(file, "name", str, path=path),
            fingerprint=attribute(file, "fingerprint", str, path=path),
            normalization=_normalization(path, file, arrays),
            feature_names=_feature_names(path, arrays),
        )
    _check(path, dataset)
    check_finite_features(path, dataset)
    return dataset


def about_dataset_file(path: Path | str) -> dict[str, Any]:
    """What was noted when the file was written: its sources, and what was decided."""
    with open_h5(path, format=FORMAT, members=MEMBERS, optional=_OPTIONAL) as file:
        text = attribute(file, "about", str, path=path)
    About.check(about := parse_json(text, where=f"{path}: attribute 'about'"), where=path)
    return dict(about)


def _normalization(path: Path, file: h5py.File, arrays: dict[str, Any]) -> Normalization:
    name = attribute(file, "normalization", str, path=path)
    fitted = [arrays[member] for member in _FITTED if member in arrays]
    if name not in NORMALIZATIONS or len(fitted) != (2 if "z-score" in name else 0):
        raise DataError(f"{path}: normalisation '{name}' with {len(fitted)} of 2 fitted arrays")
    return Normalization(name, *fitted)


def _feature_names(path: Path, arrays: dict[str, Any]) -> tuple[str, ...]:
    if "feature_names" not in arrays:
        return ()
    return tuple(text_of(path, "feature_names", arrays["feature_names"]).tolist())


def _check(path: Path, dataset: Dataset) -> None:
    """What types and lengths alone do not say."""
    offsets, labels = dataset.offsets, dataset.labels
    if not (offsets[0] == 0 and offsets[-1] == len(labels) and (np.diff(offsets) > 0).all()):
        raise DataError(
            f"{path}: 'offsets' must rise from 0 to {len(labels)}, the number of documents; the "
            "file is damaged, so make it again"
        )
    _check_splits(path, dataset)
    if np.isnan(labels).any():
        some = dataset.lists.sum((~np.isnan(labels)).astype(np.float64))
        if ((some > 0) & ~dataset.judged_queries).any():
            raise DataError(
                f"{path}: 'labels' of a query are missing in part; expected all or none"
            )
        labels = labels[~np.isnan(labels)]
    if len(labels) and not (labels.min() >= 0 and labels.max() <= dataset.highest_grade < np.inf):
        raise DataError(f"{path}: 'labels' are not all between 0 and {dataset.highest_grade:g}")


def _check_splits(path: Path, dataset: Dataset) -> None:
    every = (0, dataset.n_queries)
    if all(bounds == every for bounds in dataset.splits.values()):
        return
    last = 0
    for split, (begin, end) in dataset.splits.items():
        if begin != last or end < begin:
            raise DataError(f"{path}: split '{split}' is {begin} to {end}; expected from {last} on")
        last = end
    if last != dataset.n_queries:
        raise DataError(f"{path}: the splits end at query {last} of {dataset.n_queries}")
