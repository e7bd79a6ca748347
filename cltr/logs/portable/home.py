"""A table of counts, made by whatever engine, as the tally of a log: checked as always."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cltr.errors import DataError, UsageError
from cltr.files.table_files import columns_of, text
from cltr.logs.exported_parts import NEEDED
from cltr.logs.id_coding import Tally
from cltr.logs.portable.counted_table import COLUMNS, VERSION
from cltr.logs.portable.home_counts import Counts
from cltr.logs.problems import DROP, PROBLEMS, Problems
from cltr.logs.splitting import PART, Split
from cltr.logs.time_windows import Window, check_window
from cltr.types import LOG_PARTS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

DECIDED = ("gaps", "unknown-clicks", "unreadable-times")
"""Problems whose rows are left out, or not, while counting."""
_AS_ROW = {
    "missing-values": ("NULL", 0),
    "clicks-without-impression": ("NULL", 1),
    "bad-positions": ("0", 0),
    "unknown-clicks": ("1", 3),
    "repeated-clicks": ("1", 2),
}
"""Position and click of an example of each problem."""


@dataclass(frozen=True)
class Asked:
    """What one asks for at home; it must agree with how the counts were made."""

    split: Split
    window: Window
    actions: Mapping[str, str]
    top_k: int = 0


def open_counts(
    connection: "Connection",
    table: str,
    asked: Asked,
    *,
    where: str,
    cause: Callable[[], str] = lambda: "",
) -> Tally:
    """The tally of a log that was counted elsewhere; its problems are reported or refused here.

    Args:
        connection: where the table is read.
        table: a query for the table of counts.
        asked: what one asks for.
        where: what to call the log in errors.
        cause: says why rows contradict each other.
    """
    missing = set(COLUMNS) - set(columns_of(connection, table))
    if missing:
        raise DataError(
            f"{where}: is not a table of counts: it has no column '{min(missing)}'; expected what "
            "the query of 'cltr ingest --emit-sql' gives"
        )
    connection.execute(f"CREATE OR REPLACE TABLE result AS {table}")
    made = _made(connection, where)
    asked = _agreed(made, asked, where)
    numbers = _numbers(connection)
    tally = Tally(
        connection,
        Problems(where, asked.actions),
        _types(connection, made["columns"]),
        asked.split,
        asked.window,
        top_k=numbers.get("top_k") or 1,
        cause=cause,
        notes=tuple(made.get("notes", ())),
    )
    _check_parts(asked.split, numbers)
    counts = tally.elsewhere = Counts(tally, numbers)
    if asked.window and numbers.get("before_window"):
        check_window(tally, numbers["total"] or 0)
    deepest, named = numbers.get("deepest"), (numbers["total"] or 0) > (numbers["nameless"] or 0)
    if deepest is None or (named is False and numbers["total"]):
        tally.choose_ranks(deepest, named=False)
    tally.top_k = asked.top_k
    tally.choose_ranks(deepest, named=True)
    _name_documents(tally)
    counts.report()
    return tally


def _made(connection: "Connection", where: str) -> dict[str, Any]:
    found = connection.execute("SELECT name FROM result WHERE what = 'made'").fetchall()
    made = json.loads(found[0][0]) if len(found) == 1 else {}
    if made.get("version") != VERSION:
        raise DataError(
            f"{where}: does not say how it was made, or another version of cltr made it; "
            "run the query that 'cltr ingest --emit-sql' prints again, and keep all of its rows"
        )
    return dict(made)


def _agreed(made: Mapping[str, Any], asked: Asked, where: str) -> Asked:
    """How counts were made, unless something else is asked for, which only counting can do."""
    split, window = Split(**made["split"]), Window(**made["window"])
    usual = asked.split == Split() and not asked.window
    if not usual and (asked.split, asked.window) != (split, window):
        raise UsageError(
            f"{where}: the log was split when it was counted; leave out the options of the split "
            "and of times, or count it again"
        )
    actions = made["actions"] | asked.actions
    for name in DECIDED:
        usual_action = PROBLEMS[name].actions[0]
        before, now = made["actions"].get(name, usual_action), actions.get(name, usual_action)
        if before != now and DROP in (before, now):
            raise UsageError(f"--on {name}={now}: was decided when the log was counted: {before}")
    return replace(asked, split=split, window=window, actions=actions)


def _check_parts(split: Split, numbers: Mapping[str, int | None]) -> None:
    """Refuse a column ``part`` that does not name parts, which could not be seen before."""
    found = {part: numbers.get(f"part {part}") for part in (*LOG_PARTS, "none")}
    if split.by == PART and (found["none"] or not found["train"] or not found["valid"]):
        raise UsageError(NEEDED)


def _numbers(connection: "Connection") -> dict[str, int | None]:
    return dict(connection.execute("SELECT name, n FROM result WHERE what = 'value'").fetchall())


def _types(connection: "Connection", names: list[str]) -> dict[str, str]:
    types = columns_of(connection, "SELECT * FROM result")
    return {name: types.get(name, "VARCHAR") for name in names}


def _name_documents(tally: Tally) -> None:
    """Tables that others look at: names, a row for each example, and the scores."""
    tally.connection.execute(
        f"CREATE OR REPLACE TABLE names AS SELECT *, {tally.hash_of('query', 'document')} AS pair "
        "FROM (SELECT DISTINCT query, document FROM result WHERE what = 'cell')"
    )
    if tally.row("SELECT count(*) > count(DISTINCT pair) FROM names")[0]:
        tally.salt += 1
        _name_documents(tally)
        return
    ends = " UNION ALL ".join(
        "SELECT query, document, rank, 1::UBIGINT AS key, 0 AS state, "
        f"{end} AS score FROM result WHERE what = 'cell'"
        for end in ("low", "high")
    )
    tally.connection.execute(
        f"CREATE OR REPLACE TEMP VIEW coded AS SELECT * FROM ({ends}) JOIN names "
        "USING (query, document)"
    )
    cases = " UNION ALL ".join(
        f"SELECT {rank} AS rank, {state} AS state, query, document FROM result "
        f"WHERE what = 'example' AND name = {text(name)}"
        for name, (rank, state) in _AS_ROW.items()
    )
    tally.connection.execute(f"CREATE OR REPLACE TABLE rows AS {cases}")
