"""Positions that restart: on each page of results, or in each row of a grid.

A page (or row) is a block. A block is as long as the longest of its interaction; where an
interaction has one block alone, as long as blocks of the log usually are. So the rank of a document
is ``(block - first block) * length + place``, and short last pages and skipped pages do no harm.
"""

import math
from typing import TYPE_CHECKING

from cltr.errors import DataError
from cltr.files.table_files import columns_of, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_BLOCK = "number of the block"
BLOCK = quoted(_BLOCK)


def stack(
    connection: "Connection",
    table: str,
    *,
    block: str,
    place: str | None = None,
    sessions: bool,
    where: str,
) -> str:
    """A query with ``position`` counted over all blocks of an interaction.

    Args:
        connection: to look at the numbers of blocks.
        table: a query with ``position`` in the block, ``query``, ``session``, and ``BLOCK``.
        block: name of the column with block numbers, for errors.
        place: name of the column with places in the block if that is not a position, for errors.
        sessions: whether rows belong to interactions.
        where: the file, for errors.
    """
    first = _first(connection, table, BLOCK, block, where)
    shift = "" if place is None else f" + {1 - _first(connection, table, 'position', place, where)}"
    others = [quoted(n) for n in columns_of(connection, table) if n not in ("position", _BLOCK)]
    listed = ", ".join(others)
    given = f'SELECT {listed}, {BLOCK}, "position"{shift} AS "position" FROM ({table})'
    whole = '"session", "query"' if sessions else '"query"'
    usual = _usual(connection, given, f"{whole}, {BLOCK}")
    same = f"OVER (PARTITION BY {whole})"
    length = f"{usual}"
    if sessions:
        longest = f'max("position") {same}'
        length = f"CASE WHEN min({BLOCK}) {same} < max({BLOCK}) {same} THEN {longest} "
        length += f"ELSE {usual} END"
    stacked = (
        f'CASE WHEN {BLOCK} IS NULL OR "position" < 1 THEN least("position", {BLOCK}) '
        f'ELSE ({BLOCK} - {first}) * ({length}) + "position" END'
    )
    return f'SELECT {listed}, ({stacked})::BIGINT AS "position" FROM ({given})'


def _first(connection: "Connection", table: str, column: str, name: str, where: str) -> int:
    """Number of the first block; numbers must be those of blocks, counted from 0 or 1."""
    numbers = [
        int(row[0])
        for row in connection.execute(
            f"SELECT DISTINCT {column} FROM ({table}) WHERE {column} IS NOT NULL ORDER BY 1 "
            "LIMIT 10000"
        ).fetchall()
    ]
    shown = ", ".join(map(str, numbers[:4])) + (", ..." if len(numbers) > 4 else "")
    expected = "expected whole numbers that count from 0 or 1"
    if not numbers:
        raise DataError(f"{where}: column '{name}' is empty; {expected}")
    if numbers[0] < 0:
        raise DataError(f"{where}: column '{name}' has values that are no whole number; {expected}")
    step = math.gcd(*(one - numbers[0] for one in numbers))
    if numbers[0] > 1 or step > 1:
        what = "these seem to be offsets, not numbers" if step > 1 else "the first is missing"
        raise DataError(f"{where}: column '{name}' has the values {shown}: {what}; {expected}")
    return numbers[0]


def _usual(connection: "Connection", table: str, whole: str) -> int:
    """How long blocks usually are."""
    found = connection.execute(
        f'SELECT longest FROM (SELECT max("position") AS longest FROM ({table}) '
        f"GROUP BY {whole}) WHERE longest >= 1 GROUP BY longest ORDER BY count(*) DESC, "
        "longest DESC LIMIT 1"
    ).fetchall()
    return int(found[0][0]) if found else 1
