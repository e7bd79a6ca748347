"""Open a data set by the name that a user types: a file, or the embedded demo data."""

from pathlib import Path

from cltr.errors import DataError
from cltr.files.storage import is_hdf5
from cltr.types import LOGGED_SPLITS, SPLITS, Dataset

DEMO = "demo"
"""The name of the embedded data set."""


def find_dataset(name: str) -> Dataset:
    """A data set file, or the demo data, whatever its splits."""
    if name == DEMO:
        from cltr.data.demo import demo_dataset

        return demo_dataset()
    from cltr.data.dataset_file import open_dataset

    path = Path(name)
    if path.exists() and path.suffix != ".h5" and not is_hdf5(path):
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
