"""Logs from elsewhere as a table: one row per impression, one row per list, and known layouts.

A reader names columns; ``cltr.logs`` counts and checks them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cltr.errors import DataError
from cltr.files.table_columns import KNOWN, NONE, TableColumns
from cltr.files.table_files import columns_of, plain_errors, quoted, select_files, text
from cltr.interfaces import LogReader
from cltr.logs.sql_expressions import whole_number
from cltr.options import Options

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

OPTIONAL = ("score", "propensity", "user", "time")


class ColumnOptions(Options):
    """Names of columns; those that are not given are found by the names that are common."""

    query_column: str = Field("", description="the query, or its id.")
    session_column: str = Field(
        "", description="which interaction a row belongs to; 'none' for single impressions."
    )
    score_column: str = Field("", description="production's score of the document.")
    propensity_column: str = Field(
        "", description="production's probability to show the document at that position."
    )
    user_column: str = Field("", description="who it was.")
    time_column: str = Field("", description="when it was.")
    context_columns: tuple[str, ...] = Field((), description="columns to keep with interactions.")


class Columns(TableColumns):
    """The columns of a log."""

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


def _where(paths: Sequence[Path]) -> str:
    return str(paths[0]) if paths else "log"


def _projection(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{expression} AS {quoted(name)}" for name, expression in columns.items())


class LongReader(LogReader):
    """One row per impression: query, document, position, click, and which interaction it was."""

    name = "long"

    class Options(ColumnOptions):
        """Columns, and how positions count."""

        document_column: str = Field("", description="the document's id.")
        position_column: str = Field("", description="where it was shown.")
        click_column: str = Field("", description="whether it was clicked: 0 and 1, or booleans.")
        positions_from: Literal[0, 1] = Field(1, description="number of the first position.")

    options: "LongReader.Options"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            return self.select_from(connection, select_files(connection, paths), _where(paths))

    def select_from(self, connection: "Connection", table: str, where: str = "log") -> str:
        """The same from any query."""
        columns = Columns(columns_of(connection, table), self.options, where=where)
        chosen = {role: columns.find(role) for role in ("query", "document", "position", "click")}
        chosen["session"] = columns.find("session", required=False)
        named = {role: quoted(column) for role, column in chosen.items() if column is not None}
        kind = columns.types[chosen["position"] or ""]
        named["position"] = whole_number(named["position"], kind, first=self.options.positions_from)
        return f"SELECT {_projection(named | columns.extras())} FROM ({table})"


class ListReader(LogReader):
    """One row per interaction: the documents shown, in order, and the clicks on them."""

    name = "list"

    class Options(ColumnOptions):
        """Columns, and how lists are written."""

        documents_column: str = Field("", description="the documents shown, in order.")
        clicks_column: str = Field("", description="the clicks on them.")
        clicks_are: Literal["flags", "documents", "positions"] = Field(
            "flags",
            description="a flag for each document, the clicked documents, or their positions.",
        )
        positions_from: Literal[0, 1] = Field(
            1, description="number of the first position, where clicks are positions."
        )
        separator: str = Field(
            ",", min_length=1, description="between the values of a list that is written as text."
        )

    options: "ListReader.Options"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            return self.select_from(connection, select_files(connection, paths), _where(paths))

    def select_from(self, connection: "Connection", table: str, where: str = "log") -> str:
        """The same from any query."""
        columns = Columns(columns_of(connection, table), self.options, where=where)
        documents = self._list(columns, "documents")
        clicks = self._list(columns, "clicks")
        session = columns.find("session", required=False) if self._names_sessions(columns) else None
        same = {
            "query": quoted(columns.find("query") or ""),
            # Without a name of its own each row is an interaction.
            "session": quoted(session) if session else "row_number() OVER ()",
            **columns.extras(),
        }
        kept = ", ".join(quoted(name) for name in same)
        rows = (
            f"SELECT {_projection(same)}, {documents} AS shown, {clicks} AS chosen FROM ({table})"
        )
        return (
            f"SELECT {kept}, unnest(shown) AS document, unnest(range(1, len(shown) + 1)) "
            f"AS position, {self._click()} AS click FROM ({rows}) UNION ALL BY NAME "
            f"SELECT {kept}, unnest({self._elsewhere()}) AS document, NULL::BIGINT AS position, "
            f"true AS click FROM ({rows})"
        )

    def _names_sessions(self, columns: Columns) -> bool:
        given = self.options.session_column
        return bool(given and given != NONE) or any(
            name.lower() in KNOWN["session"] for name in columns.types
        )

    def _list(self, columns: Columns, role: str) -> str:
        name = columns.find(role) or ""
        if columns.types[name].endswith("[]"):
            return quoted(name)
        if columns.types[name] != "VARCHAR":
            raise DataError(
                f"column '{name}' ({role}) has type {columns.types[name]}; expected lists, or text "
                f"with '{self.options.separator}' between values"
            )
        stripped = f"trim({quoted(name)}, ' []')"
        values = f"string_split({stripped}, {text(self.options.separator)})"
        trimmed = f"trim(value, {text(_AROUND_VALUES)})"
        return (
            f"CASE WHEN {stripped} = '' THEN {_NOTHING} ELSE [{trimmed} FOR value IN {values}] END"
        )

    def _click(self) -> str:
        if self.options.clicks_are == "flags":
            return "unnest(chosen)"
        if self.options.clicks_are == "documents":
            return f"unnest([list_contains({_CHOSEN}, one) FOR one IN shown::VARCHAR[]])"
        first = self.options.positions_from
        places = f"range({first}, len(shown) + {first})"
        known = f"len([1 FOR one IN {_CHOSEN_PLACES} IF one IS NULL]) = 0"
        clicked = f"CASE WHEN {known} THEN list_contains({_CHOSEN_PLACES}, place) END"
        return f"unnest([{clicked} FOR place IN {places}])"

    def _elsewhere(self) -> str:
        """Clicks on what is not in the list."""
        if self.options.clicks_are == "flags":
            return _NOTHING
        if self.options.clicks_are == "documents":
            return f"[one FOR one IN {_CHOSEN} IF NOT list_contains(shown::VARCHAR[], one)]"
        first = self.options.positions_from
        outside = f"place < {first} OR place >= len(shown) + {first}"
        return f"[place::VARCHAR FOR place IN {_CHOSEN_PLACES} IF {outside}]"


_AROUND_VALUES = " \"'"
_NOTHING = "[]::VARCHAR[]"
_CHOSEN = f"coalesce(chosen::VARCHAR[], {_NOTHING})"
# A position that is no number is NULL here; the clicks of its list are then unknown.
_CHOSEN_PLACES = "coalesce(try_cast(chosen AS BIGINT[]), []::BIGINT[])"
