"""What changed while a log was written: click rates by period, and whether lists stay the same."""

from typing import Any

import numpy as np

from cltr.logs.id_coding import Tally
from cltr.logs.sql_expressions import CLICKED

PERIODS = 10
"""Periods of about equal size into which the time of a log is cut."""
ROWS_LOOKED_AT = 200_000
"""About so many rows tell whether lists repeat; chosen by hash, first by query."""
QUERIES_LOOKED_AT = 1_000
"""At least so many queries are looked at, if there are so many."""


def periods(tally: Tally) -> list[dict[str, Any]]:
    """Impressions and clicks by rank in each period, the earliest first; empty if no time is known.

    Rows of the same time stay together, so coarse times give fewer periods.
    """
    cuts = _cuts(tally)
    if not cuts:
        return []
    number = " + ".join(f'("time" > {cut!r})::INT' for cut in cuts)
    found = tally.connection.execute(
        f'SELECT {number} AS period, rank, count(*), count_if({CLICKED}), min("time"), '
        f'max("time") FROM {tally.table} WHERE {tally.usable} AND "time" IS NOT NULL '
        "GROUP BY period, rank"
    ).fetchall()
    counts = np.zeros((2, len(cuts) + 1, tally.top_k), np.int64)
    times = np.full((len(cuts) + 1, 2), np.nan)
    for period, rank, shown, clicks, first, last in found:
        counts[:, period, rank - 1] = shown, clicks
        times[period] = np.fmin(times[period, 0], first), np.fmax(times[period, 1], last)
    return [
        {
            "from": float(times[period, 0]),
            "until": float(times[period, 1]),
            "impressions": counts[0, period].tolist(),
            "clicks": counts[1, period].tolist(),
        }
        for period in range(len(cuts) + 1)
        if counts[0, period].any()
    ]


def _cuts(tally: Tally) -> list[float]:
    """Times that cut the log into periods."""
    wanted = [step / PERIODS for step in range(1, PERIODS)]
    found = tally.row(
        f'SELECT quantile_disc("time", {wanted}), max("time") FROM {tally.table} '
        f'WHERE {tally.usable} AND "time" IS NOT NULL'
    )
    if not found or found[0] is None:
        return []
    return sorted({float(time) for time in found[0] if time < found[1]})


def repeats(tally: Tally) -> dict[str, float]:
    """How often a query has the same document at a rank as the last time it came: ``next``.

    It tells lists that change by time, which repeat from one display to the next, from lists drawn
    at random, which do not. Of a large log some queries are looked at, and if these are still too
    large, some of their displays. Empty if no query came twice.
    """
    rows, queries = tally.row(
        f"SELECT (SELECT count(*) FROM {tally.table}), (SELECT count(DISTINCT query) FROM names)"
    )
    few = max(queries * ROWS_LOOKED_AT // max(rows, 1), QUERIES_LOOKED_AT)
    every = max(int(rows * min(few / max(queries, 1), 1.0)) // ROWS_LOOKED_AT, 1)
    chosen = (
        "SELECT pair, query FROM names WHERE query IN (SELECT query FROM (SELECT DISTINCT query "
        f"FROM names) ORDER BY hash(query) LIMIT {few})"
    )
    same, pairs = tally.row(
        "SELECT count_if(pair = before), count(before) FROM (SELECT pair, lag(pair) OVER "
        f'(PARTITION BY query, rank ORDER BY "time", key) AS before FROM {tally.table} JOIN '
        f'({chosen}) USING (pair) WHERE {tally.usable} AND "time" IS NOT NULL AND '
        f'hash(key, "time") % {every} = 0)'
    )
    return {"next": same / pairs, "pairs": int(pairs)} if pairs else {}
