"""Logs with one row per interaction: the documents shown, in order, and the clicks on them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cltr.errors import DataError
from cltr.files.table_columns import KNOWN, NONE
from cltr.files.table_files import columns_of, quoted, text
from cltr.logs.readers import ColumnOptions, Columns, TableReader, joined, projection
from cltr.logs.sql_expressions import whole_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class ListReader(TableReader):
    """One row per interaction: the documents shown, in order, and the clicks on them.

    Documents are ids, or objects with an id; then a click may be a field of the object.
    """

    name = "list"

    class Options(ColumnOptions):
        """Columns, and how lists are written."""

        documents_column: str = Field("", description="column of the documents shown, in order.")
        clicks_column: str = Field("", description="the clicks on them.")
        clicks_are: Literal["flags", "documents", "positions"] = Field(
            "flags",
            description=(
                "what the clicks column holds: a flag for each document, the clicked "
                "documents, or their positions."
            ),
        )
        positions_from: Literal[0, 1] = Field(
            1, description="number of the first position, where positions are given."
        )
        separator: str = Field(
            ",",
            min_length=1,
            description=("character between the values of a list that is written as text."),
        )
        document_field: str = Field(
            "", description=("if documents are objects: the field of their id.")
        )
        click_field: str = Field(
            "", description=("if documents are objects: the field of the click.")
        )
        position_field: str = Field(
            "",
            description=(
                "if documents are objects: the field of their position; their order "
                "counts if empty."
            ),
        )

    options: "ListReader.Options"

    def select_from(self, connection: "Connection", table: str, where: str = "log") -> str:
        columns = Columns(columns_of(connection, table), self.options, where=where)
        sessions = columns.sessions() if self._names_sessions(columns) else ()
        same = {
            "query": quoted(columns.find("query") or ""),
            # Without a name of its own each row is an interaction.
            "session": joined(sessions) if sessions else "row_number() OVER ()",
            **columns.extras(),
        }
        kept = ", ".join(quoted(name) for name in same)
        shown, places, chosen = self._lists(columns)
        listed = f"{projection(same)}, {shown} AS shown, {chosen} AS chosen, {places} AS places"
        rows = f"SELECT {listed} FROM ({table})"
        return (
            f"SELECT {kept}, unnest(shown) AS document, unnest(places) AS position, "
            f"{self._click()} AS click FROM ({rows}) UNION ALL BY NAME "
            f"SELECT {kept}, unnest({self._elsewhere()}) AS document, "
            f"unnest({self._before()}) AS position, true AS click FROM ({rows})"
        )

    def _names_sessions(self, columns: Columns) -> bool:
        given = self.options.session_column
        return bool(given and given != NONE) or any(
            name.lower() in KNOWN["session"] for name in columns.types
        )

    def _lists(self, columns: Columns) -> tuple[str, str, str]:
        """SQL of the documents, of their positions, and of the clicks."""
        name = columns.find("documents") or ""
        if not columns.types[name].startswith("STRUCT"):
            shown = self._list(columns, "documents")
            return shown, _in_order(shown), self._list(columns, "clicks")
        fields = _fields(columns.types[name])
        shown = _each(name, f"one.{self._field(fields, name, 'document', needed=True)}")
        click = "" if self.options.clicks_column else self._field(fields, name, "click")
        chosen = _each(name, f"one.{click}") if click else self._list(columns, "clicks")
        position = self._field(fields, name, "position")
        first = self.options.positions_from
        number = whole_number(f"one.{position}", "VARCHAR", first=first)
        return shown, _each(name, number) if position else _in_order(shown), chosen

    def _field(self, fields: Sequence[str], column: str, role: str, *, needed: bool = False) -> str:
        """The field of an object that has a role, as SQL; empty if there is none."""
        given = getattr(self.options, f"{role}_field")
        known = ("id", *KNOWN[role]) if role == "document" else KNOWN[role]
        found = [given] if given else [name for name in fields if name.lower() in known]
        if len(found) == 1 and found[0] in fields:
            return quoted(found[0])
        if not given and not needed and not found:
            return ""
        raise DataError(
            f"column '{column}': which field of its objects is the {role}? they have "
            f"{', '.join(fields)}; name it with -o {role}-field=NAME"
        )

    def _list(self, columns: Columns, role: str) -> str:
        name = columns.find(role) or ""
        if columns.types[name].endswith("[]") and not columns.types[name].startswith("STRUCT"):
            return quoted(name)
        if columns.types[name] != "VARCHAR":
            raise DataError(
                f"column '{name}' ({role}) has type {columns.types[name]}; expected lists, or text "
                f"with '{self.options.separator}' between values"
            )
        stripped = f"trim({quoted(name)}, ' []')"
        values = f"string_split({stripped}, {text(self.options.separator)})"
        trimmed = f"trim(value, {text(_AROUND)})"
        return (
            f"CASE WHEN {stripped} = '' THEN {_NOTHING} ELSE [{trimmed} FOR value IN {values}] END"
        )

    def _click(self) -> str:
        if self.options.clicks_are == "flags":
            return "unnest(chosen)"
        if self.options.clicks_are == "documents":
            return f"unnest([list_contains({_CHOSEN}, one) FOR one IN shown::VARCHAR[]])"
        known = f"len([1 FOR one IN {self._chosen_places()} IF one IS NULL]) = 0"
        clicked = f"CASE WHEN {known} THEN list_contains({self._chosen_places()}, place) END"
        return f"unnest([{clicked} FOR place IN places])"

    def _chosen_places(self) -> str:
        """Clicked positions, counted from 1; one that is no number is NULL."""
        shift = 1 - self.options.positions_from
        return f"[one + {shift} FOR one IN coalesce(try_cast(chosen AS BIGINT[]), []::BIGINT[])]"

    def _elsewhere(self) -> str:
        """Clicks on what is not in the list."""
        if self.options.clicks_are == "flags":
            return _NOTHING
        if self.options.clicks_are == "documents":
            return f"[one FOR one IN {_CHOSEN} IF NOT list_contains(shown::VARCHAR[], one)]"
        return f"[place::VARCHAR FOR place IN {self._outside()}]"

    def _before(self) -> str:
        """Positions of such clicks that lie before the first; those behind the last have none."""
        if self.options.clicks_are != "positions":
            return "[]::BIGINT[]"
        return f"[CASE WHEN place < 1 THEN place END FOR place IN {self._outside()}]"

    def _outside(self) -> str:
        return f"[place FOR place IN {self._chosen_places()} IF NOT list_contains(places, place)]"


def _in_order(shown: str) -> str:
    return f"range(1, len({shown}) + 1)"


def _each(column: str, expression: str) -> str:
    """SQL of a list with one value for each object of a column."""
    return f"[{expression} FOR one IN {quoted(column)}]"


def _fields(kind: str) -> list[str]:
    """Names of the fields of objects.

    Example:
        >>> _fields('STRUCT(id VARCHAR, "the rank" BIGINT, more STRUCT(x BIGINT)[])[]')
        ['id', 'the rank', 'more']
    """
    inner, depth = "", 0
    for character in kind[kind.index("(") + 1 : kind.rindex(")")]:
        depth += (character == "(") - (character == ")")
        inner += character if depth == 0 or character == "," else ""
        if depth and character == ",":
            inner = inner[:-1]
    return [
        quote or bare for quote, bare in re.findall(r'(?:^|, )(?:"((?:[^"]|"")*)"|(\w+)) ', inner)
    ]


_AROUND = " \"'"
_NOTHING = "[]::VARCHAR[]"
_CHOSEN = f"coalesce(chosen::VARCHAR[], {_NOTHING})"
