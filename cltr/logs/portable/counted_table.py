"""What is brought home of a log that was counted elsewhere: one table, whoever wrote it.

A row says what it counts (``what``); the other columns are empty where they mean nothing:

=============  ====================================================================================
``what``       what the row says
=============  ====================================================================================
``cell``       ``n`` impressions and ``clicks`` of a document at a rank in one part of the log, with
               the lowest and the highest score (``low``, ``high``)
``display``    ``n`` interactions of a query in one part of the log
``length``     ``n`` interactions with ``rank`` documents
``clicks``     ``n`` interactions with ``rank`` clicks
``time``       first and last time of a part (``low``, ``high``)
``value``      a number with a name, such as the rows in all
``cut``        a time at which the log was split
``busy``       a user (``name``) with ``n`` interactions and ``clicks``
``users``      ``n`` users with ``rank`` interactions
``example``    a place where a problem (``name``) is
``made``       how the table was made, as JSON
=============  ====================================================================================
"""

import json
from typing import TYPE_CHECKING

from cltr.files.table_files import text
from cltr.logs.splitting import PART
from cltr.logs.sql_expressions import CLICKS, UNKNOWN
from cltr.types import LOG_PARTS

if TYPE_CHECKING:
    from cltr.logs.portable.statements import Plan

RESULT = "result"
COLUMNS = ("what", "name", "part", "query", "document", "rank", "n", "clicks", "low", "high")
VERSION = 1
MOST = 1000
"""Lists longer than this are counted as this long, as everywhere."""
BUSIEST = 10
_EMPTY = {
    "name": "CAST(NULL AS VARCHAR)",
    "part": "CAST(NULL AS BIGINT)",
    "query": "NULL",
    "document": "NULL",
    "rank": "CAST(NULL AS BIGINT)",
    "n": "CAST(NULL AS BIGINT)",
    "clicks": "CAST(NULL AS BIGINT)",
    "low": "CAST(NULL AS DOUBLE)",
    "high": "CAST(NULL AS DOUBLE)",
}


def _rows(what: str, rest: str, **given: str) -> str:
    """A query of rows of one kind; ``rest`` is what follows its columns."""
    listed = _EMPTY | given
    chosen = ", ".join(f'{sql} AS "{name}"' for name, sql in listed.items())
    return f"SELECT {text(what)} AS what, {chosen} {rest}"


def result_of(plan: "Plan") -> str:
    """The query for the whole table."""
    scored = {"low": "min(score)", "high": "max(score)"} if "score" in plan.columns else {}
    cells = _rows(
        "cell",
        "FROM counted GROUP BY part, query, document, rank",
        part="part",
        query="query",
        document="document",
        rank="rank",
        n="count(*)",
        clicks="sum(clicked)",
        **scored,
    )
    parts = [cells, _numbers("value", _values(plan), "placed CROSS JOIN depth"), _made(plan)]
    if plan.has_sessions:
        parts += _of_lists(plan)
    if plan.timed:
        times = {"low": 'min("time")', "high": 'max("time")'}
        parts.append(_rows("time", "FROM counted GROUP BY part", part="part", **times))
        read = {
            "readable": 'sum(CASE WHEN named AND "time" IS NOT NULL THEN 1 ELSE 0 END)',
            "dated": _count("named"),
            "before_window": _count('"time" IS NOT NULL' if plan.drops("unreadable-times") else ""),
        }
        parts.append(_numbers("value", read, "coded"))
    if plan.split.by == PART:
        parts.append(_numbers("value", _parts_named(), "raw"))
    if plan.split.by == "time":
        ends = "'valid_from' AS name, valid_from AS moment FROM cuts"
        ends += " UNION ALL SELECT 'test_from' AS name, test_from AS moment FROM cuts"
        if not plan.split.valid_from:
            parts.append(_numbers("value", {"steps": "max(steps)"}, "ends"))
        parts.append(_rows("cut", f"FROM (SELECT {ends}) AS ends", name="name", low="moment"))
    if "user" in plan.columns and plan.has_sessions:
        parts += _of_users(plan)
    parts += _examples(plan)
    return " UNION ALL ".join(parts)


def _count(condition: str) -> str:
    return f"sum(CASE WHEN {condition or 'true'} THEN 1 ELSE 0 END)"


def _values(plan: "Plan") -> dict[str, str]:
    """What single rows tell, by the names of :class:`cltr.logs.value_checks.Values`."""
    usable = "named AND kept AND rank BETWEEN 1 AND top_k"
    if plan.drops("unknown-clicks"):
        usable += f" AND state <> {UNKNOWN}"
    return {
        "total": "count(*)",
        "nameless": _count("NOT named"),
        "orphans": _count("named AND rank = 0 AND clicked = 1"),
        "nowhere": _count("named AND rank = 0 AND clicked = 0"),
        "lost": _count("named AND rank <> 0 AND NOT kept"),
        "before": _count("rank < 0"),
        "zero": _count("rank = -2"),
        "unclear": _count(f"state = {UNKNOWN}"),
        "repeated": _count(f"state = {CLICKS}"),
        "beyond": _count("named AND rank > top_k"),
        "low": "min(CASE WHEN rank > 0 THEN rank END)",
        "high": "max(CASE WHEN rank > 0 THEN rank END)",
        "clicks": "sum(clicked)",
        "taken": _count(usable),
        "taken_clicks": f"sum(CASE WHEN {usable} THEN clicked ELSE 0 END)",
        "empty_clicks": "sum(empty)",
        "top_k": "max(top_k)",
        "deepest": "max(last_rank)",
    }


def _parts_named() -> dict[str, str]:
    """Rows for each part of the log, by its name; and those that name none."""
    names = {f"part {part}": _count(f'"part" = {text(part)}') for part in LOG_PARTS}
    listed = ", ".join(map(text, LOG_PARTS))
    known = f'"part" IS NOT NULL AND "part" IN ({listed})'
    return names | {"part none": _count(f"NOT ({known})")}


def _numbers(what: str, values: dict[str, str], source: str) -> str:
    """One number per row, from one pass over a table."""
    listed = ", ".join(f'{sql} AS "{name}"' for name, sql in values.items())
    names = " UNION ALL ".join(f"SELECT {text(name)} AS name" for name in values)
    picked = " ".join(f'WHEN {text(name)} THEN "{name}"' for name in values)
    return _rows(
        what,
        f"FROM (SELECT {listed} FROM {source}) AS found CROSS JOIN ({names}) AS names",
        name="name",
        n=f"CAST(CASE name {picked} END AS BIGINT)",
    )


def _of_lists(plan: "Plan") -> list[str]:
    """What interactions tell, and what was wrong with them."""
    short = "deepest < top_k"
    ends = {
        "all_clicked": _count("clicks = length AND length >= 3"),
        "short": _count(short),
        "short_clicked": _count(f"{short} AND last_click = deepest"),
    }
    same = "query, session, document, rank, clicked"
    cleaning = {
        "merged": "count(*)",
        "agreeing": _count("most = 1"),
        "clean": _count("most = 1 AND rank = first_rank"),
    }
    whole = (
        "(SELECT max(most) AS most, max(CASE WHEN rank = first_rank THEN rank ELSE 0 END) AS "
        "deepest, sum(CASE WHEN rank = first_rank THEN 1 ELSE 0 END) AS length FROM judged "
        "GROUP BY query, session) AS whole"
    )
    of_whole = {
        "interactions": "count(*)",
        "conflicts": _count("most > 1"),
        "gaps": _count("most = 1 AND length <> deepest"),
    }
    found = [
        _rows(
            "display", "FROM lists GROUP BY part, query", part="part", query="query", n="count(*)"
        ),
        _histogram("length", f"least(length, {MOST})"),
        _histogram("clicks", f"least(clicks, {MOST})"),
        _numbers("value", ends, "lists CROSS JOIN depth"),
        _numbers("value", cleaning, "judged"),
        _numbers("value", of_whole, whole),
    ]
    if plan.timed:  # a time that is a day does not tell
        surely = (
            f'(SELECT count(*) AS n FROM taken WHERE "time" / 86400 <> floor("time" / 86400) '
            f'GROUP BY {same}, "time") AS surely'
        )
        found.append(_numbers("value", {"surely_repeated": "sum(n - 1)"}, surely))
    return found


def _histogram(what: str, number: str) -> str:
    source = f"(SELECT {number} AS number FROM lists) AS sized"
    return _rows(what, f"FROM {source} GROUP BY number", rank="number", n="count(*)")


def _of_users(plan: "Plan") -> list[str]:
    """How many there are, and the busiest; of all rows with a place, as everywhere."""
    del plan
    of_lists = (
        'SELECT "user", query, session, sum(clicked) AS clicks, '
        "max(CASE WHEN part = 0 THEN 1 ELSE 0 END) AS trains, "
        "max(CASE WHEN part = 1 THEN 1 ELSE 0 END) AS validates, "
        "max(CASE WHEN part = 2 THEN 1 ELSE 0 END) AS tests FROM coded CROSS JOIN depth WHERE "
        'named AND kept AND rank BETWEEN 1 AND top_k AND "user" IS NOT NULL '
        'GROUP BY "user", query, session'
    )
    users = (
        '(SELECT "user", count(*) AS interactions, sum(clicks) AS clicks, max(trains) AS trains, '
        f"max(validates) AS validates, max(tests) AS tests FROM ({of_lists}) AS of_lists "
        'GROUP BY "user") AS users'
    )
    numbers = {
        "users": "count(*)",
        "user_interactions": "sum(interactions)",
        "user_clicks": "sum(clicks)",
        "in_both_splits": _count("trains = 1 AND validates = 1"),
        "in_test_too": _count("tests = 1 AND trains + validates >= 1"),
    }
    ordered = (
        'row_number() OVER (ORDER BY interactions DESC NULLS LAST, "user" NULLS FIRST) AS place'
    )
    return [
        _numbers("value", numbers, users),
        _rows("users", f"FROM {users} GROUP BY interactions", rank="interactions", n="count(*)"),
        _rows(
            "busy",
            f"FROM (SELECT *, {ordered} FROM {users}) AS ordered WHERE place <= {BUSIEST}",
            name='CAST("user" AS VARCHAR)',
            rank="place",
            n="interactions",
            clicks="clicks",
        ),
    ]


def _examples(plan: "Plan") -> list[str]:
    """One place of each problem: the first query that has it, and its first document."""
    kind = (
        "CASE WHEN NOT named OR (rank = 0 AND clicked = 0) THEN 'missing-values' "
        "WHEN rank = 0 THEN 'clicks-without-impression' WHEN rank < 0 THEN 'bad-positions' "
        f"WHEN state = {UNKNOWN} THEN 'unknown-clicks' "
        f"WHEN state = {CLICKS} THEN 'repeated-clicks' END"
    )
    odd = f"SELECT {kind} AS name, query, document FROM placed"
    made = [_first(odd, "document", document="document")]
    if plan.has_sessions:
        rule = (
            "CASE WHEN most > 1 THEN 'conflicts' WHEN copies > 1 THEN 'repeated-rows' "
            "WHEN times_shown > 1 THEN 'repeated-documents' END"
        )
        session = "CAST(session AS VARCHAR)"
        wrong = f"SELECT {rule} AS kind, query, {session} AS session FROM judged"
        gaps = f"SELECT 'gaps' AS kind, query, {session} AS session FROM lists"
        each = f"{wrong} UNION ALL {gaps} WHERE length <> deepest"
        named = f"SELECT kind AS name, query, session FROM ({each}) AS kinds"
        made.append(_first(named, "session", with_session=True))
    return made


def _first(rows: str, least: str, *, with_session: bool = False, **given: str) -> str:
    by_query = (
        f"SELECT name, query, min({least}) AS {least} FROM ({rows}) AS odd "
        "WHERE name IS NOT NULL GROUP BY name, query"
    )
    ordered = (
        "(SELECT *, row_number() OVER (PARTITION BY name ORDER BY query NULLS FIRST) AS place "
        f"FROM ({by_query}) AS by_query) AS ordered"
    )
    name = "name || ':' || session" if with_session else "name"
    return _rows("example", f"FROM {ordered} WHERE place = 1", name=name, query="query", **given)


def _made(plan: "Plan") -> str:
    """How the table was made, so that whoever reads it need not say it again."""
    split = plan.split
    how = {
        "version": VERSION,
        "columns": sorted(plan.columns),
        "split": {
            "by": split.by,
            "share": split.share,
            "seed": split.seed,
            "test_share": split.test_share,
            "valid_from": split.valid_from,
            "test_from": split.test_from,
        },
        "window": {"start": plan.window.start, "stop": plan.window.stop},
        "actions": dict(plan.actions),
        "notes": list(plan.notes),
    }
    return _rows("made", "", name=text(json.dumps(how)))
