"""Canary and interleaving logs from tables: Parquet, CSV, TSV or JSON lines; requests in order."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from cltr.errors import DataError
from cltr.evaluation.canary import CanaryLog, team_effects
from cltr.files.table_columns import TableColumns
from cltr.files.table_files import arrays, columns_of, plain_errors, quoted, select_files, workspace
from cltr.options import Options
from cltr.types import Booleans, Floats

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

ARMS = ("new", "production")


class CanaryColumns(Options):
    """Found by their common names."""

    arm_column: str = Field("", description="the arm: new or production.")
    team_column: str = Field("", description="the team that picked a document.")
    share_column: str = Field("", description="share of the new ranker in force.")
    request_column: str = Field("", description="id of the request.")
    click_column: str = Field("", description="clicks.")
    outcome_column: str = Field("", description="another outcome.")


@dataclass(frozen=True)
class ReadCanary:
    """A canary's log, or the credits of interleaved requests."""

    log: CanaryLog | None = None
    credits: Floats | None = None
    outcome: str = "clicks"
    """What was measured."""


def read_canary(path: Path, *, outcome: str = "") -> ReadCanary:
    """Read a table with a row for each request, or for each document of an interleaved one.

    Args:
        path: with the columns arm, share and the outcome, in order of arrival; or with the columns
            request, team and click.
        outcome: column of the outcome; the clicks by default.
    """
    with workspace() as connection, plain_errors([path]):
        table = select_files(connection, [path])
        options = CanaryColumns(outcome_column=outcome)
        columns = TableColumns(columns_of(connection, table), options, where=str(path), flags=False)
        measured = columns.find("outcome" if outcome else "click") or ""
        if columns.known("team") and not columns.known("arm"):
            credits = _credits(connection, table, columns, path, measured)
            return ReadCanary(credits=credits, outcome=outcome or "clicks")
        sides = _sides(connection, table, columns.find("arm") or "", path)
        share = _numbers(connection, table, columns.find("share") or "", path)
        found = _numbers(connection, table, measured, path)
    try:
        return ReadCanary(CanaryLog(sides, share, found), outcome=outcome or "clicks")
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _numbers(connection: "Connection", table: str, column: str, path: Path) -> Floats:
    """A column as finite numbers; truth values count as 0 and 1."""
    word = f"lower(trim({quoted(column)}::VARCHAR))"
    number = f"try_cast(CASE {word} WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE {word} END"
    found = arrays(connection, f"SELECT {number} AS DOUBLE) AS number FROM ({table})")["number"]
    numbers = np.ma.filled(np.ma.asarray(found, np.float64), np.nan)
    if not len(numbers):
        raise DataError(f"{path}: has no rows")
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers))) + 1
        raise DataError(f"{path}: row {row}: '{column}' is no finite number")
    return np.asarray(numbers, np.float64)


def _sides(connection: "Connection", table: str, column: str, path: Path) -> Booleans:
    """Whether a row belongs to the new ranker; every row must name one of the two."""
    word = f"lower(trim({quoted(column)}::VARCHAR))"
    found = arrays(connection, f"SELECT coalesce({word}, '') AS side FROM ({table})")["side"]
    sides = np.asarray(found).astype(str)
    wrong = np.flatnonzero(~np.isin(sides, ARMS))
    if len(wrong):
        raise DataError(
            f"{path}: row {wrong[0] + 1}: '{column}' is '{sides[wrong[0]][:40]}'; expected "
            f"{' or '.join(ARMS)}"
        )
    return np.asarray(sides == ARMS[0])


def _credits(
    connection: "Connection", table: str, columns: TableColumns, path: Path, measured: str
) -> Floats:
    """Credit of each interleaved request for the new ranker, in order of arrival."""
    new = _sides(connection, table, columns.find("team") or "", path)
    clicks = _numbers(connection, table, measured, path)
    request = quoted(columns.find("request") or "")
    ids: Any = arrays(connection, f"SELECT {request}::VARCHAR AS id FROM ({table})")["id"]
    _, first, owners = np.unique(
        np.asarray(ids).astype(str), return_index=True, return_inverse=True
    )
    totals = (np.bincount(owners, clicks * side).astype(np.float64) for side in (new, ~new))
    credits: Floats = team_effects(*totals)[np.argsort(first)]
    return credits
