"""The interactions of a counted log, chunk by chunk."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from cltr.files.table_files import arrays
from cltr.logs.count_arrays import Assembled
from cltr.logs.id_coding import Tally
from cltr.types import LOG_PARTS, ClickLog

ROWS_READ_AT_ONCE = 1_000_000
"""Rows in memory at a time."""


def interactions(tally: Tally, found: Assembled, split: str) -> Iterator[ClickLog]:
    """The interactions of a part of the log; documents are rows of that split.

    They come in the order of the log, unless rows had to be sorted or cleaned.

    Args:
        tally: counted, with its context.
        found: its counts.
        split: one of ``LOG_PARTS``.
    """
    part = found.lists.part(split)
    names = {name: f"coalesce({column}::VARCHAR, '')" for name, column in tally.context.items()}
    total = tally.row(f"SELECT count(*) FROM {tally.table}")[0]
    columns = ["key", "pair", "rank", "state", "part", *names.values()]
    wanted = tally.usable
    if (found.places.splits == -1).all():  # the rows say to which part they belong
        wanted += f" AND part = {LOG_PARTS.index(split)}"
    for rows in _chunks(tally, columns, total, wanted):
        tally.progress(f"writing {split}", rows["done"] / total)
        places = found.places.find(rows["pair"])
        new = np.concatenate([[True], rows["key"][1:] != rows["key"][:-1]])
        starts, numbers = np.flatnonzero(new), np.cumsum(new) - 1
        known = places >= 0
        queries = np.full(len(starts), -1, np.int64)
        queries[numbers[known]] = found.places.owners[places[known]]
        where = found.places.splits[queries]
        where = np.where(where == -1, rows["part"][starts], where)
        chosen = (queries >= 0) & (where == LOG_PARTS.index(split))
        if not chosen.any():
            continue
        order = np.cumsum(chosen) - 1
        inside = known & chosen[numbers]
        at = order[numbers[inside]], rows["rank"][inside] - 1
        documents = np.full((int(chosen.sum()), tally.top_k), -1, np.int64)
        clicks = np.zeros(documents.shape, np.bool_)
        documents[at] = places[inside] - part.first_document
        clicks[at] = np.isin(rows["state"][inside], (1, 2))
        context = {name: rows[column][starts][chosen].astype(str) for name, column in names.items()}
        first_query = found.lists.splits[split][0]
        yield ClickLog(queries[chosen] - first_query, documents, clicks, context)


def _chunks(tally: Tally, columns: list[str], total: int, wanted: str) -> Iterator[dict[str, Any]]:
    """Rows that are wanted, in chunks that end where an interaction ends."""
    left: dict[str, Any] = {}
    for first in range(0, total, ROWS_READ_AT_ONCE):
        last = min(first + ROWS_READ_AT_ONCE, total)
        rows = _read(tally, columns, first, last, wanted)
        if left:
            rows = {name: np.concatenate([left[name], rows[name]]) for name in columns}
        if last < total:
            ends = np.flatnonzero(rows["key"][1:] != rows["key"][:-1])
            cut = int(ends[-1]) + 1 if len(ends) else 0
            left = {name: values[cut:] for name, values in rows.items()}
            rows = {name: values[:cut] for name, values in rows.items()}
        if len(rows["key"]):
            yield rows | {"done": last}


def _read(tally: Tally, columns: list[str], start: int, stop: int, wanted: str) -> dict[str, Any]:
    listed = ", ".join(f"{name} AS c{i}" for i, name in enumerate(columns))
    found = arrays(
        tally.connection,
        f"SELECT {listed} FROM {tally.table} WHERE rowid >= {start} AND rowid < {stop} "
        f"AND {wanted}",
    )
    return {name: np.ma.getdata(found[f"c{i}"]) for i, name in enumerate(columns)}
