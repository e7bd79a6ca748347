"""Rows of a log put in order, and cleaned, where counting shows that they need it."""

from cltr.logs.id_coding import CLICKED, Tally
from cltr.logs.problems import DROP

TWICE = "count(*) > count(DISTINCT pair) OR count(*) > count(DISTINCT rank)"
GAP = "count(*) <> max(rank)"


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

    Rows that agree in interaction, document and position are one impression, clicked if any of
    them is. Of a document that comes at several positions the first counts; of several documents
    at one position the clicked one, then the first by id.
    """
    before = tally.row(f"SELECT count(*) FROM {tally.table} WHERE {tally.usable}")[0]
    kept = "".join(f", any_value({name}) AS {name}" for name in tally.coded_columns)
    merged = (
        f"SELECT pair, key, rank, bool_or({CLICKED})::UTINYINT AS state, "
        f"max(part) AS part{kept} FROM {tally.table} WHERE {tally.usable} "
        "GROUP BY pair, key, rank"
    )
    first = f"SELECT * FROM ({merged}) QUALIFY rank = min(rank) OVER (PARTITION BY key, pair)"
    single = (
        f"SELECT first.* FROM ({first}) AS first JOIN names USING (pair) QUALIFY row_number() "
        "OVER (PARTITION BY key, rank ORDER BY state DESC, document) = 1"
    )
    tally.run("cleaning", f"CREATE OR REPLACE TABLE clean AS {single} ORDER BY key, rank")
    table, tally.table = tally.table, "clean"
    dropped = before - tally.row("SELECT count(*) FROM clean")[0]
    tally.problems.found("duplicates", dropped, example=lambda: example(tally, TWICE, table))


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
