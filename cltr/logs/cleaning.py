"""Rows of a log put in order, and cleaned, where counting shows that they need it."""

from collections.abc import Callable

from cltr.logs.id_coding import Tally
from cltr.logs.problems import DROP
from cltr.logs.sql_expressions import CLICKED

GAP = "count(*) <> max(rank)"
CONFLICT = "count(*) > count(DISTINCT rank)"
"""Of rows that do not repeat each other: a position has two."""


def sort_rows(tally: Tally) -> None:
    """The rows of an interaction together."""
    tally.run(
        "sorting",
        f"CREATE OR REPLACE TABLE sorted AS SELECT * FROM {tally.table} WHERE {tally.usable} "
        "ORDER BY key",
    )
    tally.table = "sorted"


def clean_rows(tally: Tally) -> None:
    """One row for each document and rank of an interaction, in order.

    No rule looks at clicks, so that click rates stay what they are:

    - Rows that agree in interaction, document, position and click count once.
    - An interaction with two documents at one position, or with a document both clicked and not
      clicked at one position, does not say what happened: it is left out as a whole.
    - Of a document at several positions the first position counts.
    """
    total = tally.row(f"SELECT count(*) FROM {tally.table} WHERE {tally.usable}")[0]
    _merge_repeated_rows(tally, total)
    _leave_out_conflicts(tally)
    tally.run(
        "cleaning",
        "CREATE OR REPLACE TABLE clean AS SELECT * FROM merged "
        "QUALIFY rank = min(rank) OVER (PARTITION BY key, pair) ORDER BY key, rank",
    )
    repeated = tally.row("SELECT (SELECT count(*) FROM merged) - (SELECT count(*) FROM clean)")[0]
    where = "count(*) > count(DISTINCT pair)"
    tally.problems.found(
        "repeated-documents",
        repeated,
        of=total,
        example=lambda: example(tally, where, "merged"),
        hint=tally.cause,
    )
    tally.connection.execute("DROP TABLE merged")
    tally.table = "clean"


def _merge_repeated_rows(tally: Tally, total: int) -> None:
    """Rows that agree are one; where times are known and agree too, they surely are."""
    kept = "".join(f", min({name}) AS {name}" for name in tally.coded_columns)
    rows = f"FROM {tally.table} WHERE {tally.usable}"
    same = f"pair, key, rank, {CLICKED}"
    tally.run(
        "cleaning",
        f"CREATE OR REPLACE TABLE merged AS SELECT pair, key, rank, ({CLICKED})::UTINYINT AS state,"
        f" max(part) AS part{kept} {rows} GROUP BY {same}",
    )
    repeated = total - tally.row("SELECT count(*) FROM merged")[0]
    sure = 0
    if repeated and '"time"' in tally.coded_columns:  # a time that is a day does not tell
        sure = tally.row(
            f"SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n {rows} "
            f'AND "time" % 86400 <> 0 GROUP BY {same}, "time")'
        )[0]
    where = f"count(*) > count(DISTINCT (pair, rank, {CLICKED}))"
    report_repeated_rows(
        tally, repeated, sure, of=total, example=lambda: example(tally, where, tally.table)
    )


def report_repeated_rows(
    tally: Tally, repeated: int, sure: int, *, of: int, example: Callable[[], str]
) -> None:
    """Count rows that repeat others; those that agree in time too surely do, and are no reason.

    Args:
        tally: whose problems.
        repeated: such rows.
        sure: those of them that agree in time too.
        of: rows in all.
        example: says where one of them is.
    """
    if tally.problems.action("repeated-rows") == DROP:
        tally.problems.found("repeated-rows", sure)
        repeated -= sure
    tally.problems.found("repeated-rows", repeated, of=of, example=example, hint=tally.cause)


def _leave_out_conflicts(tally: Tally) -> None:
    tally.connection.execute(
        "CREATE OR REPLACE TABLE conflicts AS SELECT key FROM merged GROUP BY key "
        f"HAVING {CONFLICT}"
    )
    found, total = tally.row(
        "SELECT (SELECT count(*) FROM conflicts), (SELECT count(DISTINCT key) FROM merged)"
    )
    tally.problems.found(
        "conflicts",
        found,
        of=total,
        example=lambda: example(tally, CONFLICT, "merged"),
        hint=tally.cause,
    )
    tally.connection.execute("DELETE FROM merged WHERE key IN (SELECT key FROM conflicts)")


def drop_gaps(tally: Tally, gaps: int) -> bool:
    """Count interactions with gaps; true if they were dropped."""
    action = tally.problems.found("gaps", gaps, example=lambda: example(tally, GAP, tally.table))
    if action != DROP or not gaps:
        return False
    tally.run(
        "cleaning",
        f"CREATE OR REPLACE TABLE whole AS SELECT * FROM {tally.table} WHERE {tally.usable} "
        "QUALIFY count(*) OVER (PARTITION BY key) = max(rank) OVER (PARTITION BY key) "
        "ORDER BY key, rank",
    )
    tally.table = "whole"
    return True


def shares_keys(tally: Tally) -> bool:
    """Whether two interactions share a hash, which looks like duplicates."""
    other = "hash(session, query)"
    found = tally.row(
        "SELECT count(*) FROM (SELECT 1 FROM rows WHERE key <> 0 GROUP BY key "
        f"HAVING min({other}) <> max({other}))"
    )
    return bool(found[0])


def example(tally: Tally, condition: str, table: str) -> str:
    """An interaction for which a condition on its rows holds, in words."""
    found = tally.row(
        f"SELECT query::VARCHAR, session::VARCHAR FROM rows WHERE key = (SELECT key FROM {table} "
        f"WHERE {tally.usable} GROUP BY key HAVING {condition} ORDER BY key LIMIT 1) LIMIT 1"
    )
    return f"query '{found[0][:60]}', session '{found[1][:60]}'" if found else ""
