"""Logs from elsewhere as a table with one row per impression, and how columns are found.

A reader names columns; ``cltr.logs`` counts and checks them.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cltr.errors import UsageError
from cltr.files.table_columns import NONE, TableColumns
from cltr.files.table_files import columns_of, plain_errors, quoted, select_files
from cltr.interfaces import LogReader
from cltr.logs.causes import SourceNames, likely_cause
from cltr.logs.sql_expressions import whole_number
from cltr.logs.stacked_positions import BLOCK, stack
from cltr.options import Options

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

OPTIONAL = ("score", "propensity", "user", "time", "logger")


class ColumnOptions(Options):
    """Names of columns; those that are not given are found by the names that are common."""

    query_column: str = Field("", description="column of the query or its id.")
    session_column: str | tuple[str, ...] = Field(
        "",
        description="column of the id of the interaction, or several columns that identify it "
        "together; 'none' if each row is an impression of its own.",
    )
    score_column: str = Field("", description="column of production's score of the document.")
    propensity_column: str = Field(
        "",
        description=("column of production's probability to show the document at this position."),
    )
    user_column: str = Field("", description="column of the user's id.")
    time_column: str = Field("", description="column of the time of the interaction.")
    logger_column: str = Field(
        "", description="column of the policy that served the row, if several served the log."
    )
    context_columns: tuple[str, ...] = Field(
        (), description=("other columns to store with the interactions.")
    )


class PositionOptions(ColumnOptions):
    """Columns of formats that have a row for each document that was shown."""

    document_column: str = Field("", description="column of the document's id.")
    position_column: str = Field(
        "", description=("column of the position where the document was shown.")
    )


class Columns(TableColumns):
    """The columns of a log."""

    def sessions(self) -> tuple[str, ...]:
        """Names of the columns that tell interactions apart; none for single impressions."""
        role = "session"
        given = getattr(self._options, f"{role}_column")
        if isinstance(given, tuple) and len(given) > 1:
            return tuple(self.named(name, "--session-column") for name in given)
        found = self.find("session", required=False)
        return () if found is None else (found,)

    def extras(self) -> dict[str, str]:
        """Score, propensity, user, time and context where they are named, as SQL by name."""
        chosen = {}
        for role in OPTIONAL:
            given = getattr(self._options, f"{role}_column")
            if given and given != NONE:
                chosen[role] = quoted(self.named(given, f"--{role}-column"))
        for name in getattr(self._options, "context_columns", ()):
            key = f"context_{name}" if name in _CANONICAL else name
            chosen[key] = quoted(self.named(name, "--context-column"))
        return chosen


_CANONICAL = ("query", "document", "position", "click", "session", *OPTIONAL)


def place_of(paths: Sequence[Path]) -> str:
    """What to call a log in errors."""
    return str(paths[0]) if paths else "log"


def projection(columns: Mapping[str, str]) -> str:
    """SQL of some columns, by name."""
    return ", ".join(f"{expression} AS {quoted(name)}" for name, expression in columns.items())


class TableReader(LogReader):
    """Reads a log that is one table, in files or in memory."""

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            return self.select_from(connection, select_files(connection, paths), place_of(paths))

    @abstractmethod
    def select_from(self, connection: "Connection", table: str, where: str = "log") -> str:
        """The same from any query; ``where`` is what errors call the log."""


class LongReader(TableReader):
    """One row per impression: query, document, position, click, and which interaction it was."""

    name = "long"

    class Options(PositionOptions):
        """Columns, and how positions count."""

        click_column: str = Field(
            "",
            description=(
                "column that says whether the document was clicked: 0 or 1, false or true."
            ),
        )
        positions_from: Literal[0, 1] = Field(1, description="number of the first position.")
        page_column: str = Field(
            "", description="column of the page, if positions restart on each page."
        )
        grid_columns: str = Field(
            "",
            description=(
                "two columns with the row and the column of a result in a grid, "
                "instead of a position, as 'row,col'."
            ),
        )

    options: "LongReader.Options"

    def select_from(self, connection: "Connection", table: str, where: str = "log") -> str:
        columns = Columns(columns_of(connection, table), self.options, where=where)
        named = {role: quoted(columns.find(role) or "") for role in ("query", "document", "click")}
        sessions = columns.sessions()
        if sessions:
            named["session"] = joined(sessions)
        place, block = self._places(columns)
        named["position"] = place
        if not block:
            return f"SELECT {projection(named | columns.extras())} FROM ({table})"
        number = whole_number(quoted(block), columns.types[block])
        listed = f"{projection(named | columns.extras())}, {number} AS {BLOCK}"
        return stack(
            connection,
            f"SELECT {listed} FROM ({table})",
            block=block,
            place=self._grid()[1] if self.options.grid_columns else None,
            sessions=bool(sessions),
            where=where,
        )

    def _places(self, columns: Columns) -> tuple[str, str]:
        """SQL of the position, and the name of the column with pages or rows, if there is one."""
        if self.options.grid_columns:
            row, column = (columns.named(name, "--grid-columns") for name in self._grid())
            return whole_number(quoted(column), columns.types[column]), row
        name = columns.find("position") or ""
        first = self.options.positions_from
        position = whole_number(quoted(name), columns.types[name], first=first)
        page = self.options.page_column
        return position, columns.named(page, "--page-column") if page else ""

    def _grid(self) -> tuple[str, str]:
        row, comma, column = self.options.grid_columns.partition(",")
        if not comma or self.options.page_column:
            raise UsageError(
                f"--grid-columns {self.options.grid_columns}: expected two columns, as row,col"
                + (", and no --page-column" if comma else "")
            )
        return row.strip(), column.strip()

    def cause(self, connection: "Connection", table: str, where: str = "log") -> str:
        """Why rows contradict each other, as far as the columns of the source tell."""
        columns = Columns(columns_of(connection, table), self.options, where=where)
        used = {role: columns.find(role) for role in ("query", "document", "click")}
        place, _ = self._places(columns)
        chosen = {role: quoted(name or "") for role, name in used.items()}
        chosen |= {"session": joined(columns.sessions()), "position": place}
        others = {
            name: quoted(name)
            for name in columns.types
            if name.lower() not in chosen and name not in (*used.values(), *columns.sessions())
        }
        position = "" if self.options.grid_columns else columns.find("position") or ""
        return likely_cause(
            connection,
            f"SELECT {projection(others | chosen)} FROM ({table})",
            SourceNames(columns.sessions(), position),
        )


def joined(names: Sequence[str]) -> str:
    """SQL of one id from several columns; missing if one of them is."""
    if len(names) == 1:
        return quoted(names[0])
    return " || chr(31) || ".join(f"{quoted(name)}::VARCHAR" for name in names)
