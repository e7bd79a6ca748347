"""A data set in several files: a folder of shards and an index, opened as one.

Every shard is a data set file with some of the queries, in order. The index says which files they
are and what each must hold. Its fingerprint is that of the same data in one file, so logs and runs
that were made on one are those of the other.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from cltr.data.dataset_file import FORMAT, DatasetWriter, about_dataset_file, open_dataset_file
from cltr.data.joined_rows import JoinedRows
from cltr.data.normalization import Normalization
from cltr.errors import DataError, UsageError
from cltr.files.claims import hidden_folder
from cltr.files.fingerprints import fingerprint
from cltr.files.json_files import Schema, read_json
from cltr.files.storage import create_h5
from cltr.types import DOCUMENTS_AT_ONCE, SPLITS, Dataset

INDEX = "shards.json"
KIND = "cltr-dataset-shards"
Bounds = dict[str, tuple[int, int]]


class Shard(Schema):
    """One file, and what it must hold."""

    file: str = Field(pattern=r"^[^/\\]+\.h5$")
    fingerprint: str
    queries: int = Field(ge=1)
    documents: int = Field(ge=1)


Range = Annotated[list[int], Field(min_length=2, max_length=2)]


class Splits(Schema):
    """First query of each split, and the one after its last."""

    train: Range
    valid: Range
    test: Range


class ShardIndex(Schema):
    """The index file."""

    format: str = Field(pattern=f"^{KIND}$")
    version: int = Field(ge=1, le=1)
    name: str
    fingerprint: str
    splits: Splits
    shards: list[Shard] = Field(min_length=1)
    seal: str
    """Of all fingerprints and numbers above: an index that was edited is refused."""


def is_sharded(path: Path) -> bool:
    """Whether a path is a folder of shards, or the index of one."""
    return path.name == INDEX or (path / INDEX).is_file()


def write_shards(dataset: Dataset, out: Path | str, *, n_shards: int, about: Any = None) -> None:
    """Write a data set as shards with about the same number of documents each.

    Args:
        dataset: to write; features that lie on disk are read some rows at a time.
        out: the folder; it appears when all shards are in it.
        n_shards: how many.
        about: what is noted in every shard; anything that JSON can hold.
    """
    out = Path(out)
    require_new_folder(out)
    if not 1 <= n_shards <= dataset.n_queries:
        raise UsageError(
            f"--shards {n_shards}: expected 1 to {dataset.n_queries:,}, the number of queries"
        )
    with hidden_folder(out.parent) as hidden:
        folder = hidden / "shards"
        folder.mkdir()
        parts = list(_cut(dataset, n_shards))
        shards = [
            _write_shard(part, splits, folder / f"{number:05d}.h5", about or {})
            for number, (part, splits) in enumerate(parts)
        ]
        index = {
            "format": KIND,
            "version": 1,
            "name": dataset.name,
            "fingerprint": dataset.fingerprint,
            "splits": {split: list(dataset.splits.get(split, (0, 0))) for split in SPLITS},
            "shards": shards,
        }
        text = json.dumps({**index, "seal": _seal(index)}, indent=1)
        (folder / INDEX).write_text(text + "\n", encoding="utf-8")
        folder.rename(out)


def require_new_folder(out: Path) -> None:
    """Refuse a folder that is there already."""
    if out.exists():
        raise UsageError(f"--out {out}: exists; name a new folder")


def _cut(dataset: Dataset, n_shards: int) -> Iterator[tuple[Dataset, Bounds]]:
    """The queries of each shard, and its own splits."""
    goals = np.arange(1, n_shards) * (dataset.n_documents / n_shards)
    ends = np.searchsorted(dataset.offsets, goals)
    # Every shard has a query at least, however long one list is.
    numbers = np.arange(1, n_shards)
    ends = np.maximum.accumulate(np.maximum(ends, 1) - numbers) + numbers
    ends = np.minimum(ends, dataset.n_queries - n_shards + numbers)
    bounds = [0, *ends.tolist(), dataset.n_queries]
    for first, last in pairwise(bounds):
        yield dataset.queries(first, last), _splits_within(dataset, first, last)


def _splits_within(dataset: Dataset, first: int, last: int) -> Bounds:
    """The splits of queries ``first`` to ``last - 1`` alone."""
    found = {}
    for split in SPLITS:
        begin, end = (min(max(at, first), last) for at in dataset.splits.get(split, (0, 0)))
        found[split] = (begin - first, end - first)
    return found


def _write_shard(part: Dataset, splits: Bounds, path: Path, about: Any) -> dict[str, Any]:
    with create_h5(path, format=FORMAT) as file:
        writer = DatasetWriter(
            file,
            n_documents=part.n_documents,
            n_features=part.n_features,
            id_width=part.document_ids.dtype.itemsize // 4,
        )
        for start in range(0, part.n_documents, DOCUMENTS_AT_ONCE):
            rows = slice(start, start + DOCUMENTS_AT_ONCE)
            ids = np.asarray(part.document_ids[rows])
            writer.append(np.asarray(part.features[rows]), part.labels[rows], ids)
        found = writer.finish(
            offsets=part.offsets,
            query_ids=part.query_ids.astype(str),
            splits=splits,
            normalization=part.normalization or Normalization(),
            name=part.name,
            highest_grade=part.highest_grade,
            about=about,
            feature_names=part.feature_names,
        )
    return {
        "file": path.name,
        "fingerprint": found,
        "queries": part.n_queries,
        "documents": part.n_documents,
    }


def open_shards(path: Path) -> Dataset:
    """Open a folder of shards as one data set: checked, and mapped rather than read.

    Labels, ids of queries and where lists begin are held in memory; features and ids of documents
    stay in their files.
    """
    index = _read_index(path)
    folder = path if path.name != INDEX else path.parent
    parts = [_open_shard(folder / shard["file"], shard) for shard in index["shards"]]
    first = parts[0]
    for shard, part in zip(index["shards"], parts, strict=True):
        _check_like(folder / shard["file"], part, first)
    starts = np.cumsum([0, *(part.n_documents for part in parts)])
    offsets = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=False)]
    dataset = Dataset(
        features=_joined([part.features for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
        offsets=np.concatenate([[0], *offsets]),
        query_ids=np.concatenate([part.query_ids for part in parts]),
        document_ids=_joined([part.document_ids for part in parts]),
        splits={split: tuple(index["splits"][split]) for split in SPLITS},
        highest_grade=first.highest_grade,
        name=index["name"],
        fingerprint=index["fingerprint"],
        normalization=first.normalization,
        feature_names=first.feature_names,
    )
    _check_splits(path, dataset, parts)
    vars(dataset)["unusable_feature"] = None  # every shard was looked at
    return dataset


def about_shards(path: Path) -> dict[str, Any]:
    """What was noted when the shards were written."""
    index = _read_index(path)
    folder = path if path.name != INDEX else path.parent
    about = about_dataset_file(folder / index["shards"][0]["file"])
    return {**about, "shards": len(index["shards"])}


def _read_index(path: Path) -> dict[str, Any]:
    file = path if path.name == INDEX else path / INDEX
    try:
        index: dict[str, Any] = ShardIndex.check(read_json(file), where=file)
    except FileNotFoundError as error:
        raise DataError(f"{file}: no such file; restore it, or write the shards again") from error
    if index["seal"] != _seal({key: value for key, value in index.items() if key != "seal"}):
        raise DataError(f"{file}: has been changed; write the shards again")
    return index


def _seal(index: dict[str, Any]) -> str:
    text = json.dumps(index, sort_keys=True).encode()
    return fingerprint(index=np.frombuffer(text, np.uint8))


def _open_shard(path: Path, expected: dict[str, Any]) -> Dataset:
    part = open_dataset_file(path)
    found = {
        "fingerprint": part.fingerprint,
        "queries": part.n_queries,
        "documents": part.n_documents,
    }
    for what, value in found.items():
        if value != expected[what]:
            raise DataError(
                f"{path}: is not the shard that {INDEX} names: {what} {value}, expected "
                f"{expected[what]}; restore it, or write the shards again"
            )
    return part


def _check_like(path: Path, part: Dataset, first: Dataset) -> None:
    """All shards must be of one shape."""
    one, other = (_shape(each) for each in (part, first))
    for what, value in one.items():
        if value != other[what]:
            raise DataError(f"{path}: {what} {value}; the first shard has {other[what]}")


def _shape(part: Dataset) -> dict[str, Any]:
    how = part.normalization or Normalization()
    return {
        "number of features": part.n_features,
        "names of features": part.feature_names,
        "highest grade": part.highest_grade,
        "normalisation": (how.name, how.center.tolist(), how.scale.tolist()),
        "width of document ids": part.document_ids.dtype.itemsize // 4,
    }


def _check_splits(path: Path, dataset: Dataset, parts: Sequence[Dataset]) -> None:
    """The splits of the whole must be those of the shards, one after the other."""
    first = 0
    for number, part in enumerate(parts):
        last = first + part.n_queries
        if part.splits != _splits_within(dataset, first, last):
            raise DataError(f"{path}: the splits of shard {number} are not those of the index")
        first = last


def _joined(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else JoinedRows(parts)
