"""[2] What is worth knowing of interactions beyond their counts: lengths, clicks, users, times."""

from typing import Any

from cltr.ingest.tallies import Tally

MOST = 10
"""Users that are remembered by name."""


def summarise(tally: Tally) -> dict[str, Any]:
    """Of a counted log, ready for JSON; what cannot be told is left out."""
    summary: dict[str, Any] = {}
    if tally.has_sessions:
        summary["lengths"] = _histogram(tally, "shown")
        summary["clicks"] = _histogram(tally, "bit_count(clicked)")
        summary["ends"] = _ends(tally)
    if "user" in tally.columns and tally.has_sessions:
        summary["users"] = _users(tally)
    if "time" in tally.columns:
        summary["time"] = _times(tally)
    return summary


def _histogram(tally: Tally, column: str) -> dict[str, int]:
    found = tally.connection.execute(
        f"SELECT {column} AS n, count(*) FROM interactions GROUP BY ALL ORDER BY n"
    ).fetchall()
    return {str(value): int(n) for value, n in found}


def _ends(tally: Tally) -> dict[str, int]:
    """Interactions with clicks on all of at least three documents; short ones that end with one."""
    everything, short, ended = tally.row(
        "SELECT count_if(clicked = ranks AND shown >= 3), "
        f"count_if(ranks < 1::UBIGINT << {tally.top_k - 1}), "
        f"count_if(ranks < 1::UBIGINT << {tally.top_k - 1} AND clicked > ranks - clicked) "
        "FROM interactions"
    )
    return {
        "all_clicked": int(everything),
        "short": int(short),
        "short_that_end_with_a_click": int(ended),
    }


def _users(tally: Tally) -> dict[str, Any]:
    """How many there are, and what share of interactions and clicks the busiest has."""
    tally.run(
        "users",
        'CREATE OR REPLACE TEMP TABLE users AS SELECT "user", '
        "count(DISTINCT hash(query, session)) AS interactions, count_if(value > 0) AS clicks, "
        f'count(DISTINCT valid) AS splits FROM rows WHERE {tally.usable} AND "user" IS NOT NULL '
        'GROUP BY "user"',
    )
    users, total, clicks, median, shared = tally.row(
        "SELECT count(*), sum(interactions), sum(clicks), median(interactions), "
        "count_if(splits > 1) FROM users"
    )
    busiest = tally.connection.execute(
        'SELECT "user"::VARCHAR, interactions, clicks FROM users '
        f'ORDER BY interactions DESC, "user" LIMIT {MOST}'
    ).fetchall()
    return {
        "users": int(users),
        "interactions": int(total or 0),
        "clicks": int(clicks or 0),
        "median": float(median or 0),
        "in_both_splits": int(shared),
        "busiest": [
            {"user": user, "interactions": int(n), "clicks": int(c)} for user, n, c in busiest
        ],
    }


def _times(tally: Tally) -> dict[str, list[float]]:
    """First and last time of each split; numbers as in the log, or seconds since 1970."""
    found = tally.connection.execute(
        f'SELECT valid, min("time"), max("time") FROM rows WHERE {tally.usable} GROUP BY valid'
    ).fetchall()
    return {
        "valid" if valid else "train": [float(first), float(last)]
        for valid, first, last in found
        if first is not None
    }
