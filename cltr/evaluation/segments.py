"""What changes for segments of the requests: by device, country, or another column of the log."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cltr.evaluation.changes import ServedChange, weighted
from cltr.types import ClickLog, Integers

MOST_VALUES = 20
"""Different values of a column above which it names no segments."""
MOST_COLUMNS = 4
MOST_INTERACTIONS = 500_000
"""Interactions that are looked at."""


@dataclass
class _Segment:
    displays: Integers
    clicks: int = 0


@dataclass
class _Column:
    """Interactions of each query by the value of a column."""

    n_queries: int
    segments: dict[str, _Segment] = field(default_factory=dict)

    @property
    def too_many(self) -> bool:
        return len(self.segments) > MOST_VALUES

    def count(self, values: Any, chunk: ClickLog) -> None:
        """Add the interactions of one chunk."""
        names, which = np.unique(values, return_inverse=True)
        if len(names) + len(self.segments) > 2 * MOST_VALUES:
            names = names[: MOST_VALUES + 1]  # too many in any case
        for number, name in enumerate(names.tolist()):
            mine = which == number
            empty = _Segment(np.zeros(self.n_queries, np.int64))
            one = self.segments.setdefault(str(name), empty)
            one.displays = one.displays + np.bincount(chunk.queries[mine], minlength=self.n_queries)
            one.clicks += int(chunk.clicks[mine].sum())


def segments(change: ServedChange, chunks: Iterable[ClickLog]) -> dict[str, Any]:
    """Rows by column and value, from the interactions of the same split.

    Gain and worst case are those of the queries that a segment asks. Columns with many values, such
    as user ids, are left out.

    Args:
        change: of one split.
        chunks: its interactions, with their context.
    """
    n_queries, seen = len(change.traffic), 0
    columns: dict[str, _Column] = defaultdict(lambda: _Column(n_queries))
    for chunk in chunks:
        for name, values in list(chunk.context.items()):
            if not columns[name].too_many:
                columns[name].count(values, chunk)
        seen += len(chunk)
        if seen >= MOST_INTERACTIONS or not chunk.context:
            break
    few = {name: one for name, one in columns.items() if not one.too_many}
    shown = list(few)[:MOST_COLUMNS]
    return {
        "interactions": seen if columns else 0,
        "columns": {name: _rows(change, few[name], seen) for name in shown},
        "left_out": sorted(set(columns) - set(shown)),
    }


def _rows(change: ServedChange, column: _Column, seen: int) -> list[dict[str, Any]]:
    """The most frequent value first."""
    ordered = sorted(column.segments.items(), key=lambda item: -int(item[1].displays.sum()))
    rows = []
    for name, one in ordered:
        displays = one.displays.astype(np.float64) * change.served.known
        n = int(one.displays.sum())
        rows.append(
            {"name": name, "interactions": n, "clicks_per_interaction": one.clicks / max(n, 1)}
            | weighted(change, displays / max(seen, 1))
        )
    return rows
