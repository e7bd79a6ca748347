"""Counts of whole logs, for tests."""

from collections.abc import Iterable

from cltr.errors import DataError
from cltr.types import ClickLog, ClickStatistics, Integers


def count_log(chunks: Iterable[ClickLog], offsets: Integers) -> ClickStatistics:
    """Statistics of a whole log, read chunk by chunk."""
    total: ClickStatistics | None = None
    for chunk in chunks:
        counts = ClickStatistics.count(chunk, offsets)
        total = counts if total is None else total + counts
    if total is None:
        raise DataError("the log is empty: it has no interactions to count")
    return total
