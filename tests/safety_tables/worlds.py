"""The data sets of the tables, and the rotated splits of those with few queries."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from cltr.data.demo import demo_dataset
from cltr.data.importing import import_dataset
from cltr.data.loading import open_dataset
from cltr.types import Dataset
from tests.judged import REAL

SHARES = {"train": 0.6, "valid": 0.2, "test": 0.2}
"""Of the queries, in rotated splits."""


@dataclass(frozen=True)
class World:
    """A data set by name, and into how many splits it is rotated."""

    name: str
    folds: int = 1
    """Each query is a test query once; results of all folds are pooled."""

    def parts(self, folder: Path) -> Iterator[Dataset]:
        """The data set in each of its splits; imported files are kept in the folder."""
        whole = _load(self.name, folder)
        for fold in range(self.folds):
            yield whole if self.folds == 1 else rotated(whole, fold, self.folds)

    @property
    def available(self) -> bool:
        """Whether its files are there; the demo data always are."""
        return self.name == "demo" or REAL.is_dir()


WORLDS = {
    world.name: world
    for world in (World("demo"), World("mq2008"), World("mslr", 5), World("lightgbm", 5))
}


@cache
def _load(name: str, folder: Path) -> Dataset:
    if name == "demo":
        return demo_dataset()
    path = folder / f"{name}.h5"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        import_dataset([], path, **_files(name))
    return open_dataset(path)


def _files(name: str) -> dict[str, list[Path]]:
    if name == "mq2008":
        parts = [REAL / "mq2008" / f"S{k}.txt" for k in range(1, 5)]
        return {"train": parts[:2], "valid": parts[2:3], "test": parts[3:]}
    if name == "mslr":
        names = {"train": "train", "valid": "vali", "test": "test"}
        return {split: [REAL / "mslr-sample" / f"{file}.txt"] for split, file in names.items()}
    folder = REAL / "lightgbm-lambdarank"
    return {"train": [folder / "rank.train"], "test": [folder / "rank.test"]}


def rotated(dataset: Dataset, fold: int, folds: int, *, seed: int = 0) -> Dataset:
    """The same queries in another order, so that each of them is a test query in one fold.

    Example:
        >>> whole = demo_dataset()
        >>> tests = [set(rotated(whole, k, 5).part("test").query_ids) for k in range(5)]
        >>> len(set.union(*tests)) == sum(map(len, tests)) == whole.n_queries
        True
    """
    order = np.random.default_rng(seed).permutation(dataset.n_queries)
    groups = np.array_split(order, folds)
    test = groups[fold]
    others = np.concatenate([*groups[fold + 1 :], *groups[:fold]])
    n_train = round(len(others) * SHARES["train"] / (SHARES["train"] + SHARES["valid"]))
    ends = np.cumsum([0, n_train, len(others) - n_train, len(test)]).tolist()
    splits = {name: (ends[k], ends[k + 1]) for k, name in enumerate(SHARES)}
    return replace(reordered(dataset, np.concatenate([others, test])), splits=splits)


def reordered(dataset: Dataset, queries: np.ndarray) -> Dataset:
    """Some queries of a data set, in a given order."""
    lengths = dataset.lists.lengths[queries]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    starts = np.repeat(dataset.offsets[queries] - offsets[:-1], lengths)
    rows = starts + np.arange(offsets[-1])
    return replace(
        dataset,
        features=np.asarray(dataset.features)[rows],
        labels=dataset.labels[rows],
        offsets=offsets,
        query_ids=dataset.query_ids[queries],
        document_ids=dataset.document_ids[rows],
        fingerprint="",
    )
