"""What single rows of a log tell: values that are missing, make no sense, or say too little."""

from typing import TYPE_CHECKING, NamedTuple

from cltr.errors import DataError
from cltr.logs.problems import FEW, REFUSE
from cltr.logs.sql_expressions import CLICKED, CLICKS, UNKNOWN, click_state

if TYPE_CHECKING:
    from cltr.logs.id_coding import Tally

_SOME = 10
"""Rows of which a share can be told."""
_FROM_ZERO = "if the first position is 0, say --positions-from 0"
_FROM_ONE = "if the first position is 1, say --positions-from 1"
_MISSING = f"query IS NULL OR document IS NULL OR (rank IS NULL AND NOT {CLICKED})"
_ORPHAN = f"query IS NOT NULL AND document IS NOT NULL AND rank IS NULL AND {CLICKED}"
_BAD_CHANCE = "(propensity > 0 AND propensity <= 1) IS NOT true"


class Values(NamedTuple):
    """What single rows tell: how many there are of each kind, and the ranks that they have."""

    total: int
    nameless: int
    """Without query or document."""
    orphans: int
    """Clicks without a position."""
    nowhere: int
    """Other rows without a position."""
    lost: int
    """Without a session."""
    before: int
    """With a position that makes no sense."""
    zero: int
    """Of these, too low by 1."""
    unclear: int
    """Whose click is neither yes nor no."""
    repeated: int
    """With several clicks."""
    beyond: int
    """Below the ranks that are kept."""
    low: int
    """The first rank; more than ``high`` if there is none."""
    high: int
    clicks: int
    """Rows with a click, counted or not."""
    taken: int
    """Rows that are counted."""
    taken_clicks: int


def check_values(tally: "Tally", values: Values) -> None:
    """Report values that are missing or make no sense, once."""
    if tally.checked:
        return
    tally.checked = True
    with tally.problems.together():
        _check_places(tally, values)
        _check_clicks(tally, values)
        tally.problems.found("beyond-top-k", values.beyond)
        if "propensity" in tally.columns:
            _check_propensities(tally)


def _check_places(tally: "Tally", values: Values) -> None:
    found = tally.problems.found
    missing = values.nameless + values.nowhere + values.lost
    found("missing-values", missing, of=values.total, example=lambda: _example(tally, _MISSING))
    found(
        "bad-positions",
        values.before,
        example=lambda: _example(tally, "rank < 1"),
        hint=lambda: _FROM_ZERO if values.zero else "",
    )
    found(
        "clicks-without-impression",
        values.orphans,
        of=values.clicks,
        example=lambda: _example(tally, _ORPHAN),
    )
    if values.low > values.high:
        raise DataError(f"{tally.problems.where}: no row has a position")
    found("no-first-position", values.low - 1, hint=lambda: _FROM_ONE if values.low == 2 else "")


def _check_clicks(tally: "Tally", values: Values) -> None:
    found = tally.problems.found
    unclear = found(
        "unknown-clicks",
        values.unclear,
        of=values.total,
        example=lambda: _example(tally, f"state = {UNKNOWN}"),
        hint=lambda: _unclear_clicks(tally),
    )
    many = f"state = {CLICKS}"
    found("repeated-clicks", values.repeated, example=lambda: _example(tally, many))
    if unclear == REFUSE:  # what the others are cannot be told
        return
    if values.taken >= _SOME and values.taken_clicks > (1 - FEW) * values.taken:
        found("only-clicks", values.taken_clicks, of=values.taken)


def _unclear_clicks(tally: "Tally") -> str:
    """What clicks that are neither yes nor no seem to mean."""
    state = click_state("click", tally.columns["click"])
    empty, no = tally.row(
        f"SELECT count_if(click IS NULL OR trim(click::VARCHAR) = ''), count_if(NOT {CLICKED} "
        f"AND state <> {UNKNOWN}) FROM (SELECT click, {state} AS state FROM raw)"
    )
    if not empty and not no:
        return "no row has a click that can be read, so name another column with --click-column"
    if not empty:
        return ""
    if no:
        return "empty clicks count as no click with --on unknown-clicks=keep"
    return "empty clicks seem to mean no click: say --on unknown-clicks=keep"


def _check_propensities(tally: "Tally") -> None:
    wrong = tally.row(f"SELECT count(*) FROM coded WHERE {tally.usable} AND {_BAD_CHANCE}")[0]
    example = f"query IS NOT NULL AND document IS NOT NULL AND rank >= 1 AND {_BAD_CHANCE}"
    tally.problems.found("bad-propensities", wrong, example=lambda: _example(tally, example))


def _example(tally: "Tally", condition: str) -> str:
    """A row for which a condition holds, in words."""
    columns = f"{'line' if tally.numbered else 'NULL'}, query::VARCHAR, document::VARCHAR"
    found = tally.row(f"SELECT {columns} FROM rows WHERE {condition} LIMIT 1")
    if not found:
        return ""
    row, query, document = found
    place = f"data row {row}: " if row else ""
    return f"{place}query {_short(query)}, document {_short(document)}"


def _short(value: str | None) -> str:
    return "missing" if value is None else repr(value[:60])
