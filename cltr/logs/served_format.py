r"""Logs of the serving rule (``cltr.serving``): records of requests, and clicks joined by request.

A record has both rankers' scores of all candidates, how each ranks, and the share in force. So the
probability to show document d at rank k is known exactly for each request i, also of documents that
were not shown,

.. math:: P_i(d, k) = \lambda_i P_{\text{new},i}(d, k) + (1 - \lambda_i) P_{\text{prod},i}(d, k),

and a query's exposure is its mean over the query's requests.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.errors import DataError
from cltr.files.table_files import arrays, columns_of, expand, plain_errors, select_files
from cltr.interfaces import LogReader
from cltr.logs.count_arrays import Assembled
from cltr.logs.event_reader import join_events
from cltr.logs.id_coding import Tally
from cltr.logs.logged_chances import LoggedChances
from cltr.policies import Deterministic, PlackettLuce
from cltr.types import Floats, Integers, Lists

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

FIELDS = ("cltr", "request", "query", "arm", "share", "orders", "shown", "documents", "new")
"""Fields of a record that must be there; ``production`` and ``time`` beside them."""
VERSION = "1"
CELLS, DISPLAYS = "served_cells", "served_displays"
"""Tables of a connection: sums of probabilities by document and rank, requests by query."""
POLICIES = {"sampled": PlackettLuce(), "sorted": Deterministic()}
AT_ONCE = 5_000
"""Different requests whose probabilities are computed together."""


class ServedReader(LogReader):
    """Records of ``Served.record`` as JSON lines, and clicks: tables of ``request``, ``document``.

    Files are told apart by their columns. Exposure is computed from the records; arm and share of
    each interaction are kept as context.
    """

    name = "served"

    def select(self, connection: "Connection", paths: Sequence[Path]) -> str:
        with plain_errors(paths):
            records: list[str] = []
            clicks: list[str] = []
            for path in expand(paths):
                table = select_files(connection, [path])
                types = columns_of(connection, table)
                (records if "shown" in types else clicks).append(_checked(table, types, path))
            if not records or not clicks:
                what = "records of requests" if not records else "clicks (request, document)"
                raise DataError(f"{paths[0]}: there are no {what} among the files")
            whole = " UNION ALL BY NAME ".join(records)
            _refuse_wrong(connection, whole, paths[0])
            _sum_chances(connection, whole)
            clicked = " UNION ALL ".join(clicks)
            return join_events(_shown(whole), clicked)


def _checked(table: str, types: dict[str, str], path: Path) -> str:
    """A file's rows with the columns that are used, as text and lists of text."""
    if "shown" not in types:
        missing = [name for name in ("request", "document") if name not in types]
        if missing:
            raise DataError(
                f"{path}: has neither records (with 'shown') nor clicks: no column "
                f"'{missing[0]}'; it has {', '.join(types)}"
            )
        return (
            "SELECT request::VARCHAR AS session, NULL::VARCHAR AS query, document::VARCHAR "
            f"AS document FROM ({table})"
        )
    missing = [name for name in (*FIELDS, "production") if name not in types]
    if missing:
        raise DataError(f"{path}: records have no '{missing[0]}'; see docs/serving.md")
    time = "time::VARCHAR" if "time" in types else "''"
    text = ", ".join(f"{name}::VARCHAR AS {name}" for name in ("cltr", "request", "query", "arm"))
    lists = ", ".join(f"{name}::VARCHAR[] AS {name}" for name in ("orders", "shown", "documents"))
    numbers = ", ".join(f"try_cast({name} AS DOUBLE[]) AS {name}" for name in ("new", "production"))
    return (
        f"SELECT {text}, try_cast(share AS DOUBLE) AS share, {lists}, {numbers}, "
        f"nullif({time}, '') AS time FROM ({table})"
    )


def _refuse_wrong(connection: "Connection", records: str, path: Path) -> None:
    for condition, what in (
        (f"cltr IS DISTINCT FROM '{VERSION}'", f"is not of version {VERSION}"),
        ("request IS NULL OR query IS NULL", "has no request or no query"),
        ("(share >= 0 AND share <= 1) IS NOT true", "has a share that is not between 0 and 1"),
        ("len(shown) = 0 OR shown IS NULL", "shows nothing"),
        (
            "len(new) IS DISTINCT FROM len(documents) OR "
            "len(production) IS DISTINCT FROM len(documents)",
            "has other numbers of scores than documents",
        ),
        (
            "len([1 FOR one IN new IF isfinite(one) IS NOT true]) > 0 OR "
            "len([1 FOR one IN production IF isfinite(one) IS NOT true]) > 0",
            "has a score that is no finite number",
        ),
        ("len(list_distinct(documents)) <> len(documents)", "has a document twice"),
        ("NOT list_has_all(documents, shown)", "shows a document that is no candidate"),
        (
            "arm NOT IN ('new', 'production', 'interleaved') OR arm IS NULL",
            "has no arm of the serving rule",
        ),
        ("len(orders) IS DISTINCT FROM 2", "does not say how its two rankers rank ('orders')"),
    ):
        found = connection.execute(
            f"SELECT request FROM ({records}) WHERE {condition} LIMIT 1"
        ).fetchone()
        if found:
            raise DataError(f"{path}: the record of request '{found[0]}' {what}")
    twice = connection.execute(
        f"SELECT request FROM ({records}) GROUP BY request HAVING count(*) > 1 LIMIT 1"
    ).fetchone()
    if twice:
        raise DataError(f"{path}: request '{twice[0]}' has several records; expected one")


def _shown(records: str) -> str:
    """A row for each document that was shown, with production's score of it."""
    place = "list_position(documents, document)"
    rows = (
        "SELECT *, unnest(shown) AS document, unnest(range(1, len(shown) + 1)) AS position "
        f"FROM ({records})"
    )
    return (
        f"SELECT request AS session, query, document, position, production[{place}] AS score, "
        f"arm, share, time FROM ({rows})"
    )


def _sum_chances(connection: "Connection", records: str) -> None:
    """Add the probabilities of all requests to the tables; several groups of files add up.

    Nothing is computed if a request was interleaved or served from stored rankings: exposure is
    then counted.
    """
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {CELLS} (query VARCHAR, document VARCHAR, rank BIGINT, "
        f"chance DOUBLE); CREATE TABLE IF NOT EXISTS {DISPLAYS} (query VARCHAR, n BIGINT)"
    )
    known = ", ".join(f"'{name}'" for name in POLICIES)
    unknown = connection.execute(
        f"SELECT count(*) FROM ({records}) WHERE arm = 'interleaved' "
        f"OR orders[1] NOT IN ({known}) OR orders[2] NOT IN ({known})"
    ).fetchall()[0][0]
    connection.execute(
        f"INSERT INTO {DISPLAYS} SELECT query, CASE WHEN {unknown} = 0 THEN count(*) END "
        f"FROM ({records}) GROUP BY query"
    )
    if unknown:
        return
    top_k = connection.execute(f"SELECT max(len(shown)) FROM ({records})").fetchall()[0][0]
    kinds = connection.cursor().sql(
        "SELECT query, share, orders, documents, new, production, count(*) AS n "
        f"FROM ({records}) GROUP BY ALL"
    )
    reader = kinds.to_arrow_reader(AT_ONCE)
    for batch in reader:
        part = _chances(batch.to_pydict(), int(top_k))
        connection.register("served_part", part)
        connection.execute(
            f"INSERT INTO {CELLS} SELECT query, document, rank, sum(chance) FROM served_part "
            "GROUP BY ALL"
        )
        connection.unregister("served_part")


def _chances(rows: dict[str, list[Any]], top_k: int) -> Any:
    """Probabilities of each document at each rank, times the number of such requests."""
    import pyarrow

    lengths = np.array([len(one) for one in rows["documents"]], np.int64)
    lists = Lists.of_offsets(np.concatenate([[0], np.cumsum(lengths)]))
    share, n = (np.repeat(np.array(rows[name], np.float64), lengths) for name in ("share", "n"))
    chances = np.zeros((len(share), top_k))
    for number, ranker in enumerate(("new", "production")):
        scores = np.concatenate([np.asarray(one, np.float64) for one in rows[ranker]])
        part = share if ranker == "new" else 1.0 - share
        orders = np.repeat(np.array([one[number] for one in rows["orders"]]), lengths)
        chances += (part * n)[:, None] * _ranked(scores, orders, rows, lists, top_k)
    documents, places = np.nonzero(chances)
    names = np.array([one for some in rows["documents"] for one in some], object)
    queries = np.repeat(np.array(rows["query"], object), lengths)
    text = pyarrow.string()
    return pyarrow.table(
        {
            "query": pyarrow.array(queries[documents], text),
            "document": pyarrow.array(names[documents], text),
            "rank": places + 1,
            "chance": chances[documents, places],
        }
    )


def _ranked(
    scores: Floats, orders: Any, rows: dict[str, list[Any]], lists: Lists, top_k: int
) -> Floats:
    """P(rank(d) = k) by each request's own policy; ties of sorted scores go by document id."""
    found = np.zeros((len(scores), top_k))
    for name, policy in POLICIES.items():
        chosen = orders == name
        if not chosen.any():
            continue
        values = scores
        if name == "sorted":
            names = np.array([one for some in rows["documents"] for one in some])
            order = np.lexsort((names, -scores, lists.owners))
            values = np.empty(len(scores))
            values[order] = -lists.places.astype(np.float64)
        found = np.where(chosen[:, None], policy.rank_distribution(values, lists, top_k), found)
    return found


def served_chances(tally: Tally, found: Assembled) -> LoggedChances | None:
    """Exact exposure from the records of a served log; None if the log is of another kind."""
    connection = tally.connection
    tables = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
    if DISPLAYS not in tables:
        return None
    if connection.execute(f"SELECT count(*) FROM {DISPLAYS} WHERE n IS NULL").fetchall()[0][0]:
        return LoggedChances()  # interleaved or stored rankings: counted
    lists = found.lists
    given = {
        "query": np.repeat(lists.query_ids.astype(object), lists.lists.lengths),
        "document": lists.document_ids.astype(object),
        "row": np.arange(lists.n_documents),
    }
    connection.register("given", given)
    cells = arrays(
        connection,
        f"SELECT given.row, rank, sum(chance) / any_value(total) AS chance FROM {CELLS} "
        "JOIN given USING (query, document) "
        f"JOIN (SELECT query, sum(n) AS total FROM {DISPLAYS} GROUP BY query) USING (query) "
        f"WHERE rank <= {int(tally.top_k)} GROUP BY given.row, rank",
    )
    connection.unregister("given")
    whole = np.zeros((lists.n_documents, tally.top_k))
    rows: Integers = np.asarray(cells["row"], np.int64)
    whole[rows, np.asarray(cells["rank"], np.int64) - 1] = np.asarray(cells["chance"])
    return LoggedChances(np.clip(whole, 0.0, 1.0))
