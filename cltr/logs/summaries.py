"""What is worth knowing of interactions beyond their counts: lengths, clicks, users, times."""

from typing import Any

from cltr.logs.counting import RowCounts
from cltr.logs.id_coding import Tally
from cltr.logs.periods import periods, repeats
from cltr.logs.sql_expressions import CLICKED
from cltr.types import LOG_PARTS, Integers

MOST = 10
"""Users that are remembered by name."""


def summarise(tally: Tally, counted: RowCounts) -> dict[str, Any]:
    """Of a counted log, ready for JSON; what cannot be told is left out."""
    from cltr.kernels import counting as kernel

    summary: dict[str, Any] = {}
    if tally.has_sessions:
        summary["lengths"] = _histogram(counted.lengths)
        summary["clicks"] = _histogram(counted.click_counts)
        summary["ends"] = {
            "all_clicked": counted.of(kernel.ALL_CLICKED),
            "short": counted.of(kernel.SHORT),
            "short_that_end_with_a_click": counted.of(kernel.SHORT_CLICKED),
        }
    if "user" in tally.columns and tally.has_sessions:
        summary["users"] = _users(tally)
    if "time" in tally.columns:
        summary["time"] = _times(tally)
        summary["periods"] = periods(tally)
        summary["repeats"] = repeats(tally)
    return summary


def _histogram(counts: Integers) -> dict[str, int]:
    return {str(value): int(n) for value, n in enumerate(counts) if n}


def _users(tally: Tally) -> dict[str, Any]:
    """How many there are, and what share of interactions and clicks the busiest has."""
    tally.run(
        "users",
        'CREATE OR REPLACE TABLE users AS SELECT "user", '
        f"count(DISTINCT key) AS interactions, count_if({CLICKED}) AS clicks, "
        "bool_or(part = 0) AND bool_or(part = 1) AS in_both, "
        "bool_or(part = 2) AND bool_or(part < 2) AS in_test_too "
        "FROM rows WHERE key <> 0 AND pair <> 0 AND "
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
    if tally.split.by == "time":
        return found
    return found | {"in_both_splits": int(both), "in_test_too": int(tested)}


def _times(tally: Tally) -> dict[str, list[float]]:
    """First and last time of each part; numbers as in the log, or seconds since 1970."""
    found = tally.connection.execute(
        f'SELECT part, min("time"), max("time") FROM {tally.table} WHERE {tally.usable} '
        "GROUP BY part ORDER BY part"
    ).fetchall()
    return {
        LOG_PARTS[part]: [float(first), float(last)]
        for part, first, last in found
        if first is not None
    }
