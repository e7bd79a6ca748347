"""Exports of Google Analytics 4: lists of items that were viewed, and items that were selected."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cltr.errors import DataError
from cltr.files.table_files import columns_of, plain_errors, quoted, select_files, text
from cltr.interfaces import LogReader
from cltr.logs.event_reader import join_events
from cltr.logs.readers import place_of
from cltr.logs.sql_expressions import seconds, whole_number
from cltr.options import Options

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

NEEDED = ("event_name", "event_timestamp", "user_pseudo_id", "event_params", "items")


class Ga4Reader(LogReader):
    """The BigQuery export of Google Analytics 4, as Parquet or JSON lines.

    An interaction is a query of a session (``user_pseudo_id`` with ``ga_session_id``). What was
    shown are the items of ``view_item_list`` and ``view_search_results``, by their index or in the
    order of the list. A ``select_item`` without a query belongs to the list that showed the item
    last.
    """

    name = "ga4"

    class Options(Options):
        """Which events and parameters count as what."""

        query: str = Field("search_term", description="the event parameter that is the query.")
        impressions: tuple[str, ...] = Field(
            ("view_item_list", "view_search_results"), description="events that show items."
        )
        clicks: tuple[str, ...] = Field(("select_item",), description="events that select an item.")
        positions_from: Literal[0, 1] = Field(1, description="number of the first index.")

    options: "Ga4Reader.Options"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            table = select_files(connection, paths)
            types = columns_of(connection, table)
            missing = [name for name in NEEDED if name not in types]
            if missing:
                raise DataError(
                    f"{place_of(paths)}: has no column {', '.join(missing)}; not an export of "
                    f"Google Analytics 4; it has {', '.join(types)}"
                )
            items = self._items(table, types["event_timestamp"])
            shown = f"SELECT * EXCLUDE (event) FROM ({items}) WHERE {self._is('impressions')}"
            clicked = f"SELECT * EXCLUDE (event) FROM ({items}) WHERE {self._is('clicks')}"
            return join_events(
                f"SELECT * EXCLUDE (moment) FROM ({shown}) WHERE query IS NOT NULL",
                self._with_queries(shown, clicked),
            )

    def _items(self, table: str, time_kind: str) -> str:
        """A row for each item of each event."""
        session = f"user_pseudo_id::VARCHAR || chr(31) || {_parameter('ga_session_id')}"
        given = "coalesce(to_json(item) ->> '$.item_list_index', to_json(item) ->> '$.index')"
        index = whole_number(given, "VARCHAR", first=self.options.positions_from)
        events = (
            f"SELECT event_name AS event, {session} AS session, user_pseudo_id::VARCHAR AS user, "
            f"{_parameter(self.options.query)} AS query, event_timestamp AS time, "
            f"{seconds('event_timestamp', time_kind)} AS moment, unnest(items) AS item, "
            f"unnest(range(1, len(items) + 1)) AS place FROM ({table})"
        )
        return (
            f"SELECT event, session, user, query, time, moment, to_json(item) ->> '$.item_id' AS "
            f"document, coalesce({index}, place) AS position FROM ({events})"
        )

    def _with_queries(self, shown: str, clicked: str) -> str:
        """Clicks, with the query of the list that showed the item last before."""
        lists = f"SELECT session, document, query, moment FROM ({shown}) WHERE query IS NOT NULL"
        return (
            "SELECT clicked.session, coalesce(clicked.query, shown.query) AS query, "
            f"clicked.document FROM ({clicked}) AS clicked ASOF LEFT JOIN ({lists}) AS shown "
            "ON clicked.session = shown.session AND clicked.document = shown.document "
            "AND clicked.moment >= shown.moment"
        )

    def _is(self, events: str) -> str:
        names = ", ".join(text(name) for name in getattr(self.options, events))
        return f"event IN ({names})" if names else "false"


def _parameter(name: str) -> str:
    """SQL of a parameter of an event."""
    kinds = ("string_value", "int_value", "double_value", "float_value")
    value = ", ".join(f"to_json(one) ->> '$.value.{kind}'" for kind in kinds)
    return f"[coalesce({value}) FOR one IN {quoted('event_params')} IF one.key = {text(name)}][1]"
