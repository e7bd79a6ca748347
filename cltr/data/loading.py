"""Open a data set by the name that a user types: a file, or the embedded demo data."""

from pathlib import Path

from cltr.errors import DataError
from cltr.types import SPLITS, Dataset

DEMO = "demo"
"""The name of the embedded data set."""


def load_dataset(name: str) -> Dataset:
    """A data set with queries to train on, to validate and to test."""
    if name == DEMO:
        from cltr.data.demo import demo_dataset

        return demo_dataset()
    from cltr.data.dataset_file import open_dataset

    dataset = open_dataset(Path(name))
    for split in SPLITS:
        first, last = dataset.splits.get(split, (0, 0))
        if first == last:
            raise DataError(
                f"{name}: split '{split}' is empty; training needs train, valid and test queries"
            )
    return dataset
