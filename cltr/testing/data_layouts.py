"""Conformance of data layouts."""

from pathlib import Path
from tempfile import TemporaryDirectory

from cltr.extensions import DataLayout
from cltr.testing.demands import check_component, demand
from cltr.types import SPLITS


def check_data_layout(layout: DataLayout, folder: Path, *, n_files: int) -> None:
    """A folder of its kind is found, and an empty one is not.

    Args:
        layout: the layout.
        folder: with files as the data set's own archive leaves them.
        n_files: how many files there are in all splits together.
    """
    check_component(layout)
    demand(bool(getattr(layout, "title", "")), "it has no title; messages name the data set by it")
    demand(getattr(layout, "highest_grade", 0) > 0, "it does not say the highest grade")
    found = layout.find(folder, fold=None)
    demand(found is not None, f"{folder} is not found, although it has this layout")
    files, _notes = found if found is not None else ({}, [])
    demand("train" in files, "no training files are found")
    unknown = sorted(set(files) - set(SPLITS))
    demand(not unknown, f"there is no split {', '.join(unknown)}; splits are {', '.join(SPLITS)}")
    paths = [path for group in files.values() for path in group]
    demand(len(paths) == n_files, f"{len(paths)} files are found, not {n_files}")
    demand(len(set(paths)) == len(paths), "a file is in two splits")
    missing = [str(path) for path in paths if not path.is_file()]
    demand(not missing, f"{', '.join(missing)} is found but does not exist")
    with TemporaryDirectory() as empty:
        demand(layout.find(Path(empty), fold=None) is None, "an empty folder is taken for it")
