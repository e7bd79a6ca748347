"""Features and clicks as arrays, in two forms: a row for each impression, or counts by rank."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.api.ingest import ingest
from cltr.clicks.scores import hold_out_statistics
from cltr.data.frames import read_dataset
from cltr.errors import DataError, UsageError
from cltr.logs.log_file import LogFile, write_log
from cltr.types import ClickStatistics, Dataset, Integers

VALID_SHARE, TEST_SHARE = 0.2, 0.1
"""Of the impressions, as ``cltr ingest`` splits interactions."""


def as_features(X: Any) -> NDArray[np.float32]:
    """Return features as a matrix, ``[rows, features]``; a column of text is an error."""
    try:
        features = np.asarray(X, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"X is no matrix of numbers: {error}") from error
    if features.ndim != 2 or not features.size:
        raise DataError(f"X has the shape {features.shape}; expected [rows, features]")
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        raise DataError(
            f"X has {features[row, column]} in row {row}, column {column}; features "
            "must be finite numbers"
        )
    return features + np.float32(0.0)  # -0 becomes 0, so that equal rows have equal bytes


def as_column(name: str, values: Any, n: int) -> NDArray[Any]:
    """Return a column with one value for each row, ``[rows]``."""
    column = np.asarray(values)
    if column.shape != (n,):
        raise DataError(f"{name} has the shape {column.shape}; expected ({n},), as X has {n} rows")
    return column


def optional_column(name: str, values: Any, n: int) -> NDArray[Any] | None:
    """Return a column, or None if it is not given."""
    return None if values is None else as_column(name, values, n)


@dataclass(frozen=True)
class ClickRows:
    """Clicks as rows: one row for each document that was shown."""

    features: NDArray[np.float32]
    query: NDArray[Any]
    clicks: Any
    position: Any
    session: Any
    names: NDArray[Any] | None
    scores: NDArray[Any] | None

    @cached_property
    def documents(self) -> NDArray[Any]:
        """Document ids; without ids, equal features of one query mean the same document."""
        if self.names is not None:
            return self.names
        width = self.features.dtype.itemsize * self.features.shape[1]
        rows = np.ascontiguousarray(self.features).view(np.dtype((np.void, width))).ravel()
        return np.unique(rows, return_inverse=True)[1].ravel()

    @cached_property
    def sessions(self) -> NDArray[Any]:
        """Sessions: which rows were shown together; by default all rows of a query."""
        n = len(self.features)
        if self.session is not None:
            return as_column("session", self.session, n)
        position = as_column("position", self.position, n)
        pairs = np.stack([_codes(self.query), _codes(position)])
        if np.unique(pairs, axis=1).shape[1] < n:
            raise UsageError(
                "a query has several rows at one position; give session, to say which rows were "
                "shown together"
            )
        return self.query

    @cached_property
    def dataset(self) -> Dataset:
        """Make a data set; all rows of a document must have the same features."""
        pairs = np.stack([_codes(self.query), _codes(self.documents)])
        _, first, member = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        differs = (self.features != self.features[first][member.ravel()]).any(-1)
        if differs.any():
            row = int(np.flatnonzero(differs)[0])
            raise DataError(
                f"row {row}: document '{self.documents[row]}' of query '{self.query[row]}' has "
                "other features than in an earlier row; give it another id where its features "
                "change"
            )
        return _dataset(self.features[first], self.query[first], self.documents[first])

    def log(self, path: Path) -> Path:
        """Write a log file in the same way as ``cltr ingest``."""
        n = len(self.features)
        columns = {
            "session": self.sessions,
            "query": _texts(self.query),
            "document": _texts(self.documents),
            "position": as_column("position", self.position, n),
            "click": as_column("clicks", self.clicks, n),
        }
        named: dict[str, Any] = {}
        if self.scores is not None:
            columns["score"], named["score_column"] = self.scores, "score"
        ingest(columns, out=path, data=self.dataset, progress=False, **named)
        return path


@dataclass(frozen=True)
class ClickCounts:
    """Clicks as counts: one row for each document of a query, one column for each rank."""

    features: NDArray[np.float32]
    query: NDArray[Any]
    clicks: Any
    impressions: Any
    names: NDArray[Any] | None
    scores: NDArray[Any] | None
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what no log can be."""
        clicks, shown = self._counts("clicks"), self._counts("impressions")
        if clicks.shape != shown.shape:
            raise DataError(f"clicks have the shape {clicks.shape}, impressions {shown.shape}")
        if (clicks > shown).any():
            row, rank = np.argwhere(clicks > shown)[0]
            raise DataError(
                f"row {row}, rank {rank + 1}: {clicks[row, rank]} clicks on {shown[row, rank]} "
                "impressions"
            )

    def _counts(self, name: str) -> Integers:
        given = np.asarray(getattr(self, name))
        if given.ndim != 2 or len(given) != len(self.features):
            raise DataError(
                f"{name} has the shape {given.shape}; expected [rows, ranks], as X has "
                f"{len(self.features)} rows"
            )
        counts = given.astype(np.int64)
        if (counts != given).any() or (counts < 0).any():
            raise DataError(f"{name} must be whole numbers of at least 0")
        return counts

    @cached_property
    def dataset(self) -> Dataset:
        """Make a data set; the id of a document is the number of its row."""
        if self.names is not None:
            pairs = np.stack([_codes(self.query), _codes(self.names)])
            if np.unique(pairs, axis=1).shape[1] < len(self.names):
                raise DataError("a document of a query has two rows; add their counts up")
        return _dataset(self.features, self.query, np.arange(len(self.features)))

    def log(self, path: Path) -> Path:
        """Write a log file; each impression is split alone, into as few lists as possible."""
        dataset = self.dataset
        order = dataset.document_ids.astype(np.int64)
        shown, clicks = self._counts("impressions")[order], self._counts("clicks")[order]
        whole = ClickStatistics(
            shown, clicks, np.zeros(dataset.n_queries, np.int64), dataset.offsets
        )
        rest, test = hold_out_statistics(whole, share=TEST_SHARE, seed=self.seed)
        fitted, valid = hold_out_statistics(
            rest, share=VALID_SHARE / (1 - TEST_SHARE), seed=self.seed + 1
        )
        parts = {"train": fitted, "valid": valid, "test": test}
        scores = None if self.scores is None else self.scores[order].astype(np.float64)
        description = {"format": "counts", "single_impressions": True, "shared_lists": True}
        statistics = {part: _fewest_lists(one) for part, one in parts.items()}
        write_log(path, LogFile(statistics, scores, description, dataset.fingerprint))
        return path


def _fewest_lists(counts: ClickStatistics) -> ClickStatistics:
    """The same counts in the fewest lists: each has one document at a rank, and each only once."""
    lists = counts.offsets[:-1]
    at_a_rank = np.add.reduceat(counts.impressions, lists, axis=0).max(-1)
    of_a_document = np.maximum.reduceat(counts.impressions.sum(-1), lists)
    displays = np.maximum(at_a_rank, of_a_document)
    return ClickStatistics(counts.impressions, counts.clicks, displays, counts.offsets)


def _dataset(
    features: NDArray[np.float32], query: NDArray[Any], documents: NDArray[Any]
) -> Dataset:
    width = len(str(features.shape[1] - 1))
    columns = {f"feature_{i:0{width}}": features[:, i] for i in range(features.shape[1])}
    return read_dataset(
        {"query": _texts(query), "document": _texts(documents), **columns}, name="arrays"
    )


def _texts(ids: NDArray[Any]) -> list[str]:
    """Ids as text; a number that is whole has no decimal point."""
    whole = ids.dtype.kind == "f" and (ids == np.floor(ids)).all()
    return [str(value) for value in (ids.astype(np.int64) if whole else ids).tolist()]


def _codes(values: NDArray[Any]) -> Integers:
    codes: Integers = np.unique(values, return_inverse=True)[1].ravel()
    return codes
