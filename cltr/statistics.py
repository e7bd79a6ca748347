"""[2] A log to impressions and clicks per document and rank."""

from collections.abc import Iterable

import numpy as np

from cltr.errors import DataError
from cltr.types import ClickLog, ClickStatistics, Integers


def count_clicks(chunk: ClickLog, offsets: Integers) -> ClickStatistics:
    """Statistics of one chunk of a log; those of several chunks add up."""
    n_documents, n_queries, top_k = int(offsets[-1]), len(offsets) - 1, chunk.top_k
    shown = chunk.documents >= 0
    cells = chunk.documents * top_k + np.arange(top_k)

    def count(which: np.ndarray) -> Integers:
        flat = np.bincount(cells[which], minlength=n_documents * top_k)
        return flat.reshape(n_documents, top_k).astype(np.int64)

    return ClickStatistics(
        impressions=count(shown),
        clicks=count(shown & chunk.clicks),
        displays=np.bincount(chunk.queries, minlength=n_queries).astype(np.int64),
        offsets=offsets,
    )


def count_log(chunks: Iterable[ClickLog], offsets: Integers) -> ClickStatistics:
    """Statistics of a whole log, read chunk by chunk."""
    total: ClickStatistics | None = None
    for chunk in chunks:
        counts = count_clicks(chunk, offsets)
        total = counts if total is None else total + counts
    if total is None:
        raise DataError("the log is empty: it has no interactions to count")
    return total
