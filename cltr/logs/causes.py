"""Why the rows of an interaction contradict each other: found by looking, said before a refusal.

Three mistakes make ordinary logs contradict themselves: positions that restart on each page or in
each row of a grid, session ids that come again, and events read as impressions. A column of the
source that tells such rows apart gives the cause away.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cltr.files.table_files import columns_of, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

SUSPECTS = 1000
"""Interactions that are looked at."""
MOST_COLUMNS = 50
_ENOUGH, _SOME = 0.9, 0.5
_SAME = '"session", "query"'
_GRID_NAMES = ("row", "line", "shelf", "y", "grid_row")
_COLUMN_NAMES = ("col", "column", "x", "grid_col", "grid_column")
_PAGE_NAMES = ("page", "batch", "offset")
_ID_NAMES = ("day", "date", "time", "hour", "week", "session", "user", "request", "host")


@dataclass(frozen=True)
class SourceNames:
    """What columns are called in the source, for advice that can be typed."""

    session: tuple[str, ...] = ()
    position: str = ""


def likely_cause(connection: "Connection", table: str, names: SourceNames) -> str:
    """The likely cause of contradicting rows and the option that removes it, in words.

    Args:
        connection: to look with.
        table: a query with ``session``, ``query``, ``document``, ``position``, ``click``, and every
            other column of the source under its own name.
        names: what the source calls them.
    """
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE suspects AS WITH given AS ({table}), "
        f"few AS (SELECT {_SAME} FROM given GROUP BY ALL HAVING count(*) > count(DISTINCT "
        f'"position") ORDER BY ALL LIMIT {SUSPECTS}) '
        f"SELECT given.* FROM given JOIN few USING ({_SAME})"
    )
    types = columns_of(connection, "SELECT * FROM suspects")
    telling = [name for name in _others(types) if _tells_apart(connection, name)]
    named = sorted(telling, key=_how_plain)
    if named:
        return _advice(connection, named[0], names)
    return _without_column(connection)


def _others(types: Mapping[str, str]) -> Iterable[str]:
    used = ("session", "query", "document", "position", "click", "score", "propensity")
    plain = [n for n, kind in types.items() if n not in used and not kind.endswith(("]", ")"))]
    return plain[:MOST_COLUMNS]


def _tells_apart(connection: "Connection", name: str) -> bool:
    """Whether rows with one value of a column are whole lists that do not contradict each other."""
    column = quoted(name)
    rows = (
        f'SELECT count(*) = count(DISTINCT "position") AND count(*) = count(DISTINCT "document") '
        f'AS clean, min("position") = 1 AS whole, count(*) AS n FROM suspects '
        f"WHERE {column} IS NOT NULL GROUP BY {_SAME}, {column}"
    )
    clean, whole, n, rows_in_all = connection.execute(
        f"SELECT avg(clean::INT), avg(whole::INT), sum(n), (SELECT count(*) FROM suspects) "
        f"FROM ({rows})"
    ).fetchall()[0]
    if clean is None:
        return False
    return min(float(clean), float(whole), float(n) / float(rows_in_all)) >= _ENOUGH


def _how_plain(name: str) -> int:
    """Columns whose name says what they are come first."""
    known = (*_PAGE_NAMES, *_GRID_NAMES, *_ID_NAMES)
    word = name.lower()
    return next((i for i, one in enumerate(known) if one == word or one in word.split("_")), 99)


def _advice(connection: "Connection", name: str, names: SourceNames) -> str:
    word = name.lower()
    apart = f"column '{name}' tells such rows apart"
    if word in _GRID_NAMES or names.position.lower() in _COLUMN_NAMES:
        return (
            f"the results seem to form a grid: {apart}; say --grid-columns {name},{names.position}"
        )
    if any(one in word for one in _PAGE_NAMES) or not _come_again(connection):
        return f"positions seem to restart on each page: {apart}; say --page-column {name}"
    columns = " ".join(f"--session-column {one}" for one in (*names.session, name))
    return f"session ids seem to come again: {apart}; say {columns}"


def _come_again(connection: "Connection") -> bool:
    """Whether the same document comes several times in an interaction, as it does not on pages."""
    share = connection.execute(
        f"SELECT avg((n > 1)::INT) FROM (SELECT count(*) AS n FROM suspects "
        f'GROUP BY {_SAME}, "document")'
    ).fetchall()[0][0]
    return share is not None and float(share) > 0.05


def _without_column(connection: "Connection") -> str:
    if not _come_again(connection):
        return (
            "positions may restart on each page (--page-column), or the results may form a grid "
            "(--grid-columns row,col); no column of the log tells such rows apart"
        )
    doubled, moved = connection.execute(
        f"SELECT avg((n > places)::INT), avg((places > 1)::INT) FROM (SELECT count(*) AS n, "
        f'count(DISTINCT "position") AS places FROM suspects GROUP BY {_SAME}, "document")'
    ).fetchall()[0]
    if float(doubled) < _SOME and float(moved) == 0:
        return "the rows may be events, some of impressions and some of clicks: see --format events"
    return (
        "session ids may come again, for example each day, or rows may have been delivered twice; "
        "no column of the log tells such rows apart; add one that does, as another --session-column"
    )
