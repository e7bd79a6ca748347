"""Logs in layouts that others publish: OpenSearch UBI, and the Open Bandit Dataset."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cltr.errors import DataError
from cltr.files.table_files import columns_of, expand, plain_errors, quoted, select_files, text
from cltr.interfaces import LogReader
from cltr.logs.event_reader import join_events
from cltr.logs.sql_expressions import whole_number
from cltr.options import Options

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class UbiReader(LogReader):
    """OpenSearch User Behavior Insights: ``ubi_queries`` with hits, ``ubi_events`` with clicks.

    Files are told apart by their columns. An interaction is a ``query_id``, the query is the text
    that was typed (``user_query``), the user is the client. What was shown are the hits in their
    order, or the events of impressions with their ordinals where hits were not recorded.
    """

    name = "ubi"

    class Options(Options):
        """Which events count as what."""

        clicks: tuple[str, ...] = Field(("click",), description="actions that count as a click.")
        impressions: tuple[str, ...] = Field(
            ("impression", "view"), description="actions that say that a document was shown."
        )
        shown: Literal["auto", "hits", "events"] = Field(
            "auto", description="what was shown: hits of queries, or events; hits if there are any."
        )
        positions_from: Literal[0, 1] = Field(
            1, description="ordinal of the first position, where events say what was shown."
        )

    options: "UbiReader.Options"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            queries, events = self._tables(connection, paths)
            clicked = (
                f"SELECT session, NULL::VARCHAR AS query, document FROM ({events}) "
                f"WHERE {self._is('clicks')}"
            )
            return join_events(queries or self._shown_by_events(events), clicked)

    def _tables(self, connection: "Connection", paths: Sequence[Path]) -> tuple[str, str]:
        """Queries for what was shown (empty if hits were not recorded) and for what happened."""
        shown, happened = [], []
        for path in expand(paths):
            table = _unwrapped(connection, select_files(connection, [path]))
            types = columns_of(connection, table)
            hits = next((name for name in _HITS if name in types), None)
            if "action_name" in types:
                happened.append(_events(connection, table, types, path))
            elif hits:
                shown.append(_hits(table, types, hits))
            else:
                raise DataError(
                    f"{path}: is neither ubi_queries (it has no {_HITS[0]}) nor ubi_events (it has "
                    f"no action_name); it has {', '.join(types)}"
                )
        if not happened:
            raise DataError(
                f"{paths[0]}: the files hold no ubi_events, so there are no clicks; "
                "name the file of events too"
            )
        if self.options.shown == "hits" and not shown:
            raise DataError(
                f"{paths[0]}: the files hold no ubi_queries, so nothing says what was "
                "shown; name the file of queries too"
            )
        use_hits = shown and self.options.shown != "events"
        return _union(shown) if use_hits else "", _union(happened)

    def _shown_by_events(self, events: str) -> str:
        position = whole_number("ordinal", "VARCHAR", first=self.options.positions_from)
        return (
            f"SELECT query, session, document, {position} AS position, client AS user, time "
            f"FROM ({events}) WHERE {self._is('impressions')}"
        )

    def _is(self, actions: str) -> str:
        names = ", ".join(text(name) for name in getattr(self.options, actions))
        return f"action IN ({names})" if names else "false"


_HITS = ("query_response_hit_ids", "query_response_objects_ids", "query_response_object_ids")


def _unwrapped(connection: "Connection", table: str) -> str:
    """Exports of an index have each document below ``_source``."""
    types = columns_of(connection, table)
    if types.get("_source", "").startswith("STRUCT"):
        return f"SELECT unnest(_source) FROM ({table})"
    return table


def _hits(table: str, types: Mapping[str, str], hits: str) -> str:
    lists = f"{quoted(hits)}::VARCHAR[]"
    return (
        f"SELECT {_query(types)} AS query, query_id::VARCHAR AS session, "
        f"{_or_null(types, 'client_id')} AS user, {_or_null(types, 'timestamp')} AS time, "
        f"unnest({lists}) AS document, unnest(range(1, len({lists}) + 1)) AS position "
        f"FROM ({table})"
    )


def _events(connection: "Connection", table: str, types: Mapping[str, str], path: Path) -> str:
    flat = "event_attributes.object.object_id" in types
    document = quoted("event_attributes.object.object_id")
    ordinal = quoted("event_attributes.position.ordinal")
    if not flat:
        inner = "event_attributes"
        if types.get(inner) == "VARCHAR":  # events of several shapes are read as text
            inner = "try_cast(event_attributes AS JSON)"
        document, ordinal = (
            f"(to_json({inner}) ->> '$.{name}')"
            for name in ("object.object_id", "position.ordinal")
        )
    base = (
        f"SELECT {_query(types)} AS query, query_id::VARCHAR AS session, action_name AS action, "
        f"{_or_null(types, 'client_id')} AS client, {_or_null(types, 'timestamp')} AS time, "
        f"{document}::VARCHAR AS document"
    )
    found = f"{base}, {ordinal}::VARCHAR AS ordinal FROM ({table})"
    if (not flat and "event_attributes" not in types) or not _any(connection, found):
        raise DataError(
            f"{path}: events have no event_attributes.object.object_id; it has {', '.join(types)}"
        )
    return found


def _any(connection: "Connection", events: str) -> bool:
    """Whether an event has a document."""
    return bool(
        connection.execute(
            f"SELECT 1 FROM ({events}) WHERE document IS NOT NULL LIMIT 1"
        ).fetchall()
    )


def _query(types: Mapping[str, str]) -> str:
    return _or_null(types, "user_query")


def _or_null(types: Mapping[str, str], name: str) -> str:
    return f"{quoted(name)}::VARCHAR" if name in types else "NULL::VARCHAR"


def _union(tables: list[str]) -> str:
    return " UNION ALL BY NAME ".join(f"({table})" for table in tables)


class OpenBanditReader(LogReader):
    """The Open Bandit Dataset: single impressions with their propensities, no sessions, no queries.

    All impressions of a campaign (a file's name) are one query, unless a column is named.

    References: Saito et al., Open Bandit Dataset and Pipeline (NeurIPS'21).
    """

    name = "open-bandit"

    class Options(Options):
        """What to take for a query."""

        query_column: str = Field(
            "", description=("column to take as the query, instead of the campaign.")
        )

    options: "OpenBanditReader.Options"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        files = [path for path in expand(paths) if path.name != "item_context.csv"]
        if not files:
            raise DataError(f"{paths[0]}: holds no impressions")
        with plain_errors(paths):
            return _union([self._one(connection, path) for path in files])

    def _one(self, connection: "Connection", path: Path) -> str:
        table = select_files(connection, [path])
        types = columns_of(connection, table)
        wanted = ("timestamp", "item_id", "position", "click", "propensity_score")
        missing = [
            name for name in (*wanted, self.options.query_column) if name and name not in types
        ]
        if missing:
            raise DataError(f"{path}: has no column {', '.join(missing)}; not an Open Bandit file")
        query = self.options.query_column
        return (
            f"SELECT {quoted(query) if query else text(path.name.split('.')[0])} AS query, "
            f"item_id AS document, {whole_number('position', types['position'])} AS position, "
            f"click, propensity_score AS propensity, timestamp AS time FROM ({table})"
        )
