"""What must be true of a stored log, beyond types and lengths of its arrays."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.types import ClickLog, ClickStatistics, Dataset, Floats

MAKE_AGAIN = "the file is damaged, so make it again"


def check_counts(path: Path, split: str, statistics: ClickStatistics) -> None:
    """Impressions and clicks of a part that can be."""
    offsets = statistics.offsets
    rising = len(offsets) > 0 and offsets[0] == 0 and (np.diff(offsets) >= 0).all()
    if not rising or offsets[-1] != len(statistics.impressions):
        raise DataError(f"{path}: '{split}/offsets' do not cover the documents")
    if (statistics.clicks < 0).any() or (statistics.clicks > statistics.impressions).any():
        raise DataError(f"{path}: '{split}' has more clicks than impressions, or fewer than none")
    totals = np.cumsum(statistics.impressions, axis=0)
    totals = np.concatenate([np.zeros((1, totals.shape[1]), np.int64), totals])
    shown = totals[offsets[1:]] - totals[offsets[:-1]]
    often = statistics.impressions.sum(-1) > statistics.displays_per_document
    if often.any() or (shown > statistics.displays[:, None]).any():
        raise DataError(f"{path}: '{split}' shows documents more often than their query came")


def check_scores(path: Path, scores: Floats, parts: Mapping[str, ClickStatistics]) -> None:
    """Finite scores, as many as the parts of the log have documents.

    Parts either share their lists or have lists of their own. Without a test part, the data set
    may have more documents than the log.
    """
    if not np.isfinite(scores).all():
        raise DataError(f"{path}: 'scores' has NaN or infinite values; ingest the log again")
    n, documents = len(scores), sum(len(part.impressions) for part in parts.values())
    first, *others = parts.values()
    shared = all(np.array_equal(first.offsets, part.offsets) for part in others)
    as_shared = shared and n == len(first.impressions)
    if not (n == documents or as_shared or (n > documents and "test" not in parts)):
        expected = len(first.impressions) if shared else documents
        raise DataError(
            f"{path}: has production's scores of {n:,} documents; the log has {expected:,} "
            f"documents; {MAKE_AGAIN}"
        )


def check_propensities(path: Path, given: Iterable[Floats | None]) -> None:
    """Propensities that are probabilities."""
    for chances in given:
        if chances is not None and not ((chances >= 0) & (chances <= 1)).all():
            raise DataError(f"{path}: 'propensities' has values outside [0, 1]")


def check_data_set(path: Path, dataset: Dataset, fingerprint: str, made_with: str) -> None:
    """That a log was made with this data set.

    Args:
        path: the log.
        dataset: that is given.
        fingerprint: of the data set that the log was made with; empty if it is not known.
        made_with: the name of that data set; empty if it is not known.
    """
    if fingerprint and dataset.fingerprint and fingerprint != dataset.fingerprint:
        raise DataError(f"{path}: {_other_data(made_with, dataset)}")


def check_lists(
    path: Path, dataset: Dataset, parts: Mapping[str, ClickStatistics], scores: Floats | None
) -> None:
    """That counts and scores lie on the documents of a data set."""
    for split, part in parts.items():
        if not np.array_equal(part.offsets, dataset.part(split).offsets):
            raise DataError(f"{path}: its {split} lists are not those of '{dataset.name}'")
    if scores is not None and len(scores) != dataset.n_documents:
        raise DataError(
            f"{path}: has production's scores of {len(scores):,} documents; "
            f"'{dataset.name}' has {dataset.n_documents:,} documents; {MAKE_AGAIN}"
        )


def _other_data(made_with: str, dataset: Dataset) -> str:
    """That a log belongs to another data set, and which one, where the log says it."""
    if not made_with:
        return (
            f"the log was made with another data set than '{dataset.name}'; give the data set "
            "that it was made with (--data)"
        )
    if Path(made_with).stem == dataset.name:
        return (
            f"the log was made with another version of {made_with}; give that version with --data, "
            "or ingest the log again"
        )
    return f"the log was made with the data set {made_with}; say --data {made_with}"


def check_sessions(path: Path, rows: ClickLog, offsets: NDArray[np.int64]) -> None:
    """Interactions that show documents of their query's list, and clicks on these."""
    known = (rows.queries >= 0) & (rows.queries < len(offsets) - 1)
    queries = np.where(known, rows.queries, 0)
    first, behind = offsets[queries][:, None], offsets[queries + 1][:, None]
    inside = (rows.documents >= first) & (rows.documents < behind)
    nothing = (rows.documents == -1) & ~rows.clicks
    if not (known.all() and (inside | nothing).all()):
        raise DataError(f"{path}: an interaction shows or clicks what is not in its query's list")
