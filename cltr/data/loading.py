"""Open a data set by the name that a user types: a file, a folder of shards, or the demo data."""

from pathlib import Path
from typing import Any

from cltr.errors import DataError
from cltr.files.storage import is_hdf5
from cltr.types import LOGGED_SPLITS, SPLITS, Dataset

DEMO = "demo"
"""The name of the embedded data set."""


def open_dataset(path: Path | str) -> Dataset:
    """Open a data set file or a folder of shards: checked, and mapped rather than read."""
    from cltr.data.dataset_file import open_dataset_file
    from cltr.data.shards import is_sharded, open_shards

    path = Path(path)
    return open_shards(path) if is_sharded(path) else open_dataset_file(path)


def about_dataset(path: Path | str) -> dict[str, Any]:
    """What was noted when a data set was written: its sources, and what was decided."""
    from cltr.data.dataset_file import about_dataset_file
    from cltr.data.shards import about_shards, is_sharded

    path = Path(path)
    return about_shards(path) if is_sharded(path) else about_dataset_file(path)


def find_dataset(name: str) -> Dataset:
    """A data set by its name, whatever its splits."""
    if name == DEMO:
        from cltr.data.demo import demo_dataset

        return demo_dataset()
    from cltr.data.shards import is_sharded

    path = Path(name)
    if path.exists() and path.suffix != ".h5" and not is_hdf5(path) and not is_sharded(path):
        raise DataError(
            f"{name}: is not a data set file; import it first: "
            f"cltr data import {name} --out data.h5"
        )
    return open_dataset(path)


def load_dataset(source: str | Dataset) -> Dataset:
    """A data set with queries to train on, to validate and, with judgements, to test.

    Args:
        source: its name, or the data set itself, opened before.
    """
    dataset = source if isinstance(source, Dataset) else find_dataset(source)
    name = source if isinstance(source, str) else dataset.name or "data set"
    # Without judgements, queries for testing are of use only where a log has clicks on them.
    for split in SPLITS if dataset.judged else LOGGED_SPLITS:
        first, last = dataset.splits.get(split, (0, 0))
        if first == last:
            raise DataError(
                f"{name}: split '{split}' is empty; training needs train, valid and test queries"
            )
    return dataset
