"""Features for a model from any source: columns matched by name, or by their number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.data.feature_columns import numbered, shown
from cltr.data.frames import read_dataset
from cltr.data.loading import DEMO, find_dataset
from cltr.data.shards import is_sharded
from cltr.errors import DataError, UsageError
from cltr.files.frames import arrow_table
from cltr.files.storage import is_hdf5
from cltr.files.table_columns import FURTHER, KNOWN
from cltr.files.table_files import columns_of, plain_errors, select_files, workspace
from cltr.options import did_you_mean
from cltr.types import Dataset, Integers

_PATTERN = str.maketrans({character: f"[{character}]" for character in "*?["})
_NO_FEATURES = ("query", "document", "label", "split")


@dataclass(frozen=True)
class MatchedFeatures:
    """A data set whose features are taken in the order of a model."""

    dataset: Dataset
    order: Integers | None
    """Columns of the data set in the model's order; None if they are in it."""

    def of(self, part: Dataset) -> NDArray[np.float32]:
        """Features of a part of the data set in the model's order, in memory."""
        features = np.asarray(part.features)
        return features if self.order is None else np.ascontiguousarray(features[:, self.order])


def match_features(
    source: Any,
    names: Sequence[str],
    n_features: int,
    *,
    query_column: str = "",
    document_column: str = "",
    missing: str = "refuse",
) -> MatchedFeatures:
    """Documents with the features that a model wants.

    Args:
        source: a data set, its file, a Parquet, CSV, TSV or JSON lines file, or a data frame.
        names: of the features, in the model's order; empty if they have numbers only.
        n_features: how many there are.
        query_column: the query, where its name is not a common one.
        document_column: the document, where its name is not a common one.
        missing: ``refuse`` missing values, or set them to ``zero``.
    """
    dataset = _opened(source)
    if dataset is not None:
        return MatchedFeatures(dataset, _order(dataset, names, n_features))
    given, where = _columns(source)
    taken = {query_column, document_column}
    rest = [name for name in given if name not in taken and not _has_a_role(name)]
    wanted = _wanted(rest, given, names, n_features, where)
    dataset = read_dataset(
        source,
        valid_share=0.0,
        test_share=0.0,
        query_column=query_column,
        document_column=document_column,
        label_column="none",
        split_column="none",
        feature_columns=[name.translate(_PATTERN) for name in wanted],
        missing=missing,
    )
    return MatchedFeatures(dataset, _order(dataset, wanted, n_features))


def _opened(source: Any) -> Dataset | None:
    if isinstance(source, Dataset):
        return source
    if not isinstance(source, str | PathLike):
        return None
    path = Path(source)
    named = str(source) == DEMO or path.suffix == ".h5" or is_hdf5(path) or is_sharded(path)
    return find_dataset(str(source)) if named else None


def _columns(source: Any) -> tuple[list[str], str]:
    """Names of a table's columns, and what messages call the table."""
    if not isinstance(source, str | PathLike):
        return arrow_table(source).column_names, "data frame"
    path = Path(source)
    with workspace() as connection, plain_errors([path]):
        return list(columns_of(connection, select_files(connection, [path]))), str(path)


def _has_a_role(name: str) -> bool:
    """Whether a column is a query, document, label or split by its name."""
    word = name.lower()
    return any(word in (*KNOWN[role], *FURTHER.get(role, ())) for role in _NO_FEATURES)


def _wanted(
    rest: list[str], given: list[str], names: Sequence[str], n_features: int, where: str
) -> list[str]:
    """The columns of a table to read, in the model's order."""
    called = list(names) or numbered(n_features)
    missing = [name for name in called if name not in given]
    if not missing:
        return called
    if names:
        unknown = [name for name in rest if name not in names]
        beside = f"; unknown to the model: {shown(unknown)}" if unknown else ""
        raise DataError(
            f"{where}: {len(missing)} of the model's {n_features} features are missing: "
            f"{shown(missing)}{beside}{did_you_mean(missing[0], unknown)}"
        )
    if len(rest) != n_features:
        raise DataError(
            f"{where}: has {len(rest)} columns that could be features, but the model has "
            f"{n_features} features without names; give exactly these in their order, or name them "
            f"'{called[0]}' to '{called[-1]}'"
        )
    return rest


def _order(dataset: Dataset, names: Sequence[str], n_features: int) -> Integers | None:
    """Where the model's features are among those of a data set."""
    where = dataset.name or "data set"
    if names and dataset.feature_names:
        places = {name: place for place, name in enumerate(dataset.feature_names)}
        missing = [name for name in names if name not in places]
        if missing:
            unknown = [name for name in places if name not in names]
            raise DataError(
                f"{where}: {len(missing)} of the model's {n_features} features are missing: "
                f"{shown(missing)}{did_you_mean(missing[0], unknown)}"
            )
        order = np.array([places[name] for name in names])
        same = len(order) == dataset.n_features and (np.diff(order) == 1).all()
        return None if same else order
    if dataset.n_features != n_features:
        raise UsageError(
            f"{where}: has {dataset.n_features} features; the run was trained on {n_features}"
        )
    return None


def match_matrix(source: Any, names: Sequence[str], n_features: int) -> NDArray[np.float32]:
    """Features of documents as a matrix in the model's order, ``[docs, features]``.

    Args:
        source: an array with the features in order, or a data frame, matched by name.
        names: of the features; empty if they have numbers only.
        n_features: how many there are.
    """
    columns = getattr(source, "columns", None)
    if columns is not None or isinstance(source, Mapping):
        table = arrow_table(source)
        given = table.column_names
        wanted = _wanted(given, given, names, n_features, "X")
        source = np.column_stack([np.asarray(table[name], np.float64) for name in wanted])
    with np.errstate(over="ignore"):
        features = np.asarray(source, np.float32)
    if features.ndim != 2 or features.shape[1] != n_features:
        raise DataError(
            f"X has the shape {features.shape}; the model has {n_features} features, so expected "
            f"(documents, {n_features})"
        )
    if not np.isfinite(features).all():
        raise DataError("X has values that are missing or infinite; fill or remove them first")
    return np.ascontiguousarray(features)
