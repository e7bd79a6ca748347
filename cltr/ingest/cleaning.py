"""[2] A log gone through row by row, where counts alone show that it needs it."""

from typing import TYPE_CHECKING

from cltr.errors import DataError
from cltr.ingest.problems import DROP

if TYPE_CHECKING:
    from cltr.ingest.tallies import Tally


def clean(tally: "Tally") -> None:
    """Replace ``rows`` by a table with one row for each document and rank of an interaction.

    Rows that agree in interaction, document and position are one impression, clicked if any of
    them is. Of a document that comes at several positions the first counts; of several documents
    at one position the clicked one, then the first by id.
    """
    before = tally.row(f"SELECT count(*) FROM rows WHERE {tally.usable}")[0]
    keys = "query, session, document, rank"
    known = [name for name in ("score", "propensity") if name in tally.columns]
    others = [*known, *tally.context.values()]
    kept = "".join(f", any_value({name}) AS {name}" for name in others)
    merged = (
        f"SELECT {keys}{kept}, (max(value) > 0)::TINYINT AS value, bool_or(valid) AS valid "
        f"FROM rows WHERE {tally.usable} GROUP BY {keys}"
    )
    first = (
        f"SELECT * FROM ({merged}) "
        "QUALIFY rank = min(rank) OVER (PARTITION BY query, session, document)"
    )
    tally.run(
        "cleaning",
        f"CREATE OR REPLACE TEMP TABLE clean AS SELECT * FROM ({first}) QUALIFY row_number() "
        "OVER (PARTITION BY query, session, rank ORDER BY value DESC, document) = 1",
    )
    after = tally.row("SELECT count(*) FROM clean")[0]
    tally.problems.found("duplicates", before - after, example=lambda: example(tally, TWICE))
    _drop_gaps(tally)
    if tally.split.by == "time":
        _split_by_time(tally)
    tally.connection.execute("CREATE OR REPLACE TEMP VIEW rows AS SELECT * FROM clean")


TWICE = "count(*) > count(DISTINCT document) OR count(*) > count(DISTINCT rank)"
GAP = "count(*) <> max(rank)"


def example(tally: "Tally", condition: str, table: str = "rows") -> str:
    """An interaction for which a condition on its rows holds, in words."""
    found = tally.row(
        f"SELECT query::VARCHAR, session::VARCHAR FROM {table} WHERE {tally.usable} "
        f"GROUP BY query, session HAVING {condition} ORDER BY query, session LIMIT 1"
    )
    return f"query '{found[0][:60]}', session '{found[1][:60]}'" if found else ""


def _drop_gaps(tally: "Tally") -> None:
    gaps = tally.row(
        f"SELECT count(*) FROM (SELECT 1 FROM clean GROUP BY query, session HAVING {GAP})"
    )[0]
    action = tally.problems.found("gaps", gaps, example=lambda: example(tally, GAP, "clean"))
    if action == DROP and gaps:
        tally.run(
            "cleaning",
            "CREATE OR REPLACE TEMP TABLE clean AS SELECT * FROM clean QUALIFY count(*) OVER "
            "(PARTITION BY query, session) = max(rank) OVER (PARTITION BY query, session)",
        )


def _split_by_time(tally: "Tally") -> None:
    """The last interactions are for validation; an interaction is as old as its first row."""
    if not tally.row('SELECT count("time") FROM clean')[0]:
        raise DataError(f"{tally.problems.where}: no time can be read; expected dates or numbers")
    began = 'SELECT min("time") AS began FROM clean GROUP BY query, session'
    cut = f"SELECT quantile_disc(began, {1 - tally.split.share}) FROM ({began})"
    tally.run(
        "splitting",
        f"CREATE OR REPLACE TEMP TABLE clean AS SELECT * EXCLUDE (began) REPLACE "
        f"(coalesce(began > ({cut}), false) AS valid) FROM "
        '(SELECT *, min("time") OVER (PARTITION BY query, session) AS began FROM clean)',
    )
