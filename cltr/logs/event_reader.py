"""Logs of events: what was shown and what was clicked are recorded apart, and joined by an id."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cltr.errors import DataError
from cltr.files.table_columns import NONE
from cltr.files.table_files import columns_of, expand, plain_errors, quoted, select_files, text
from cltr.interfaces import LogReader
from cltr.logs.readers import Columns, PositionOptions, joined, place_of, projection
from cltr.logs.sql_expressions import whole_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

EVENT_NAMES = ("event", "event_name", "event_type", "action", "action_name", "type")


class EventReader(LogReader):
    """A row per event: impressions with their position, and clicks, joined by interaction.

    Impressions and clicks are told apart by the column of the event, or by the files: those with a
    position are impressions, the others clicks. The query may be known of impressions alone.
    """

    name = "events"

    class Options(PositionOptions):
        """Columns, and which events count as what."""

        event_column: str = Field(
            "",
            description=(
                "column that says what happened; 'none' if "
                "impressions and clicks are in separate files."
            ),
        )
        impressions: tuple[str, ...] = Field(
            ("impression", "view", "show", "shown"), description="events that show a document."
        )
        clicks: tuple[str, ...] = Field(("click", "select"), description="events that are clicks.")
        positions_from: Literal[0, 1] = Field(1, description="number of the first position.")

    options: "EventReader.Options"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            shown: list[str] = []
            clicked: list[str] = []
            for path in expand(paths):
                self._sort(connection, path, shown, clicked)
            where = place_of(paths)
            if not shown or not clicked:
                what = "impressions" if not shown else "clicks"
                raise DataError(
                    f"{where}: there are no events of {what} among the files; expected files with "
                    "a position and files without, or a column with the event (--event-column)"
                )
            return join_events(" UNION ALL BY NAME ".join(shown), " UNION ALL ".join(clicked))

    def _sort(
        self, connection: "Connection", path: Path, shown: list[str], clicked: list[str]
    ) -> None:
        """Add what a file has of impressions and clicks."""
        table = select_files(connection, [path])
        columns = Columns(columns_of(connection, table), self.options, where=str(path))
        event = self._event(columns)
        if event:
            is_shown, is_clicked = (
                f"lower(trim({quoted(event)}::VARCHAR)) IN ({names})"
                for names in (_listed(self.options.impressions), _listed(self.options.clicks))
            )
            if not connection.execute(
                f"SELECT count(*) FROM ({table}) WHERE {is_shown} OR {is_clicked}"
            ).fetchall()[0][0]:
                raise DataError(self._unknown(connection, table, event, path))
            shown.append(self._shown(columns, f"SELECT * FROM ({table}) WHERE {is_shown}"))
            clicked.append(self._clicked(columns, f"SELECT * FROM ({table}) WHERE {is_clicked}"))
        elif self.options.position_column in columns.types or columns.known("position"):
            shown.append(self._shown(columns, table))
        else:
            clicked.append(self._clicked(columns, table))

    def _event(self, columns: Columns) -> str:
        given = self.options.event_column
        if given == NONE:
            return ""
        if given:
            return columns.named(given, "--event-column")
        return next((name for name in columns.types if name.lower() in EVENT_NAMES), "")

    def _unknown(self, connection: "Connection", table: str, event: str, path: Path) -> str:
        names = connection.execute(
            f"SELECT {quoted(event)}::VARCHAR FROM ({table}) GROUP BY 1 "
            "ORDER BY count(*) DESC LIMIT 6"
        ).fetchall()
        return (
            f"{path}: column '{event}' names no impression and no click; it has "
            f"{', '.join(repr(name) for (name,) in names)}; say which are which with "
            "-o impressions= and -o clicks="
        )

    def _shown(self, columns: Columns, table: str) -> str:
        position = columns.find("position") or ""
        chosen = {
            "query": quoted(columns.find("query") or ""),
            "document": quoted(columns.find("document") or ""),
            "position": whole_number(
                quoted(position), columns.types[position], first=self.options.positions_from
            ),
        }
        return f"SELECT {projection(self._ids(columns) | chosen | columns.extras())} FROM ({table})"

    def _clicked(self, columns: Columns, table: str) -> str:
        query = self.options.query_column or next(iter(columns.known("query")), "")
        chosen = {
            "document": quoted(columns.find("document") or ""),
            "query": quoted(query) if query in columns.types else "NULL::VARCHAR",
        }
        listed = {name: f"({sql})::VARCHAR" for name, sql in (self._ids(columns) | chosen).items()}
        return f"SELECT {projection(listed)} FROM ({table})"

    def _ids(self, columns: Columns) -> dict[str, str]:
        sessions = columns.sessions()
        if not sessions:
            raise DataError(
                "events are joined by the id of the interaction; name its column with "
                "--session-column"
            )
        return {"session": joined(sessions)}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(text(name.lower()) for name in names) or "NULL"


def join_events(shown: str, clicked: str) -> str:
    """A query with one row per impression, and one for each click on what was not shown.

    An impression that was recorded several times at one position counts once, and so does a click.
    A click whose query is known belongs to that query only.

    Args:
        shown: a query with ``session``, ``query``, ``document``, ``position`` and more.
        clicked: a query with ``session``, ``query`` (may be missing) and ``document``, as text.
    """
    once = (
        f"SELECT DISTINCT ON (session, query, document, position) * FROM ({shown}) "
        "ORDER BY session, query, document, position"
    )
    known = f"SELECT DISTINCT session, query, document FROM ({clicked}) WHERE query IS NOT NULL"
    other = f"SELECT DISTINCT session, document FROM ({clicked}) WHERE query IS NULL"
    list_of = "{0}.session = shown.session::VARCHAR AND {0}.document = shown.document::VARCHAR"
    in_known = f"{list_of.format('known')} AND known.query = shown.query::VARCHAR"
    in_other = list_of.format("other")
    asked = "SELECT session::VARCHAR AS session, min(query::VARCHAR) AS query FROM shown GROUP BY 1"
    return (
        f"WITH shown AS ({once}), known AS ({known}), other AS ({other}), asked AS ({asked}) "
        "SELECT shown.*, known.document IS NOT NULL OR other.document IS NOT NULL AS click "
        f"FROM shown LEFT JOIN known ON {in_known} LEFT JOIN other ON {in_other} "
        "UNION ALL BY NAME SELECT known.session, known.query, known.document, "
        f"NULL::BIGINT AS position, true AS click FROM known ANTI JOIN shown ON {in_known} "
        "UNION ALL BY NAME SELECT other.session, asked.query, other.document, "
        "NULL::BIGINT AS position, true AS click FROM (SELECT other.* FROM other ANTI JOIN shown "
        f"ON {in_other}) AS other LEFT JOIN asked USING (session)"
    )
