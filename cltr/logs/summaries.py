"""What is worth knowing of interactions beyond their counts: lengths, clicks, users, times."""

from typing import Any

import numpy as np

from cltr.logs.count_arrays import Assembled
from cltr.logs.id_coding import Tally
from cltr.logs.periods import periods, repeats
from cltr.logs.sql_expressions import CLICKED
from cltr.types import LOG_PARTS, Integers

MOST = 10
"""Users that are remembered by name."""


def summarise(tally: Tally, found: Assembled) -> dict[str, Any]:
    """Of a counted log, ready for JSON; what cannot be told is left out."""
    from cltr.kernels import counting as kernel

    counted = found.counted
    summary: dict[str, Any] = {}
    if tally.has_sessions:
        summary["lengths"] = _histogram(counted.lengths)
        summary["clicks"] = _histogram(counted.click_counts)
        summary["ends"] = {
            "all_clicked": counted.of(kernel.ALL_CLICKED),
            "short": counted.of(kernel.SHORT),
            "short_that_end_with_a_click": counted.of(kernel.SHORT_CLICKED),
        }
    if tally.elsewhere is not None:
        return summary | tally.elsewhere.summarise(not found.places.shared)
    _create_parts(tally, found)
    if "user" in tally.columns and tally.has_sessions:
        summary["users"] = _users(tally, by_query=not found.places.shared)
    if "time" in tally.columns:
        summary["time"] = _times(tally, by_query=not found.places.shared)
        summary["periods"] = periods(tally)
        summary["repeats"] = repeats(tally)
    return summary


def _create_parts(tally: Tally, found: Assembled) -> None:
    """A table ``parts`` with the part of each document, where its query decides; else empty."""
    splits = found.places.splits[found.places.owners[found.rows]]
    kept = (splits >= 0) & (splits < len(LOG_PARTS))
    given = {"pair": found.pairs[kept], "of_query": splits[kept].astype(np.uint8)}
    tally.connection.register("given", given)
    tally.connection.execute("CREATE OR REPLACE TABLE parts AS SELECT * FROM given")
    tally.connection.unregister("given")


PART = "coalesce(of_query, part)"


def _joined(by_query: bool) -> str:
    """Rows with the part of their query; where queries decide, rows of other queries are none."""
    return f"{'' if by_query else 'LEFT'} JOIN parts USING (pair)"


def _histogram(counts: Integers) -> dict[str, int]:
    return {str(value): int(n) for value, n in enumerate(counts) if n}


def _users(tally: Tally, *, by_query: bool) -> dict[str, Any]:
    """How many there are, and what share of interactions and clicks the busiest has."""
    tally.run(
        "users",
        'CREATE OR REPLACE TABLE users AS SELECT "user", '
        f"count(DISTINCT key) AS interactions, count_if({CLICKED}) AS clicks, "
        f"bool_or({PART} = 0) AND bool_or({PART} = 1) AS in_both, "
        f"bool_or({PART} = 2) AND bool_or({PART} < 2) AS in_test_too "
        f"FROM rows {_joined(by_query)} WHERE key <> 0 AND pair <> 0 AND "
        f'rank BETWEEN 1 AND {tally.top_k} AND "user" IS NOT NULL GROUP BY "user"',
    )
    users, total, clicks, median, both, tested = tally.row(
        "SELECT count(*), sum(interactions), sum(clicks), median(interactions), "
        "count_if(in_both), count_if(in_test_too) FROM users"
    )
    busiest = tally.connection.execute(
        'SELECT "user"::VARCHAR, interactions, clicks FROM users '
        f'ORDER BY interactions DESC, "user" LIMIT {MOST}'
    ).fetchall()
    found = {
        "users": int(users),
        "interactions": int(total or 0),
        "clicks": int(clicks or 0),
        "median": float(median or 0),
        "busiest": [
            {"user": user, "interactions": int(n), "clicks": int(c)} for user, n, c in busiest
        ],
    }
    if tally.split.by == "time" and not by_query:
        return found
    return found | {"in_both_splits": int(both), "in_test_too": int(tested)}


def _times(tally: Tally, *, by_query: bool) -> dict[str, list[float]]:
    """First and last time of each part; numbers as in the log, or seconds since 1970."""
    found = tally.connection.execute(
        f'SELECT {PART} AS where_it_is, min("time"), max("time") FROM {tally.table} '
        f"{_joined(by_query)} WHERE {tally.usable} GROUP BY 1 ORDER BY 1"
    ).fetchall()
    return {
        LOG_PARTS[part]: [float(first), float(last)]
        for part, first, last in found
        if first is not None
    }
