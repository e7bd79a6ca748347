"""Production's scores from a file: a row for each query and document, or a TREC run."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from cltr.errors import DataError
from cltr.files.table_columns import TableColumns
from cltr.files.table_files import arrays, columns_of, plain_errors, quoted, select_files, workspace
from cltr.files.trec import is_run, read_run, write_run
from cltr.options import Options
from cltr.types import Dataset, Floats

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class ScoreColumns(Options):
    """Found by their common names."""

    query_column: str = Field("", description="the query, or its id.")
    document_column: str = Field("", description="the document's id.")
    score_column: str = Field("", description="its score.")


def create_scores(connection: "Connection", path: Path) -> None:
    """A table ``production`` with ``query``, ``document`` and ``score`` from a file."""
    with plain_errors([path]):
        if is_run(path):
            connection.register("trec_run", read_run(path).table("score"))
            table = "SELECT * FROM trec_run"
        else:
            table = select_files(connection, [path])
        columns = TableColumns(columns_of(connection, table), ScoreColumns(), where=str(path))
        names = {role: quoted(columns.find(role) or "") for role in ("query", "document", "score")}
        # A bare cast would be left to duckdb's CSV reader, which refuses what is no number.
        score = f"try_cast(trim({names['score']}::VARCHAR) AS DOUBLE)"
        connection.execute(
            "CREATE OR REPLACE TABLE production AS "
            f"SELECT {names['query']}::VARCHAR AS query, {names['document']}::VARCHAR AS document, "
            f"min({score}) AS score, max({score}) AS other, "
            f"count_if(isfinite({score}) IS NOT true) AS bad FROM ({table}) GROUP BY ALL"
        )
        for condition, what in (
            ("bad > 0", "a score that is no finite number"),
            ("score <> other", "two different scores"),
        ):
            wrong = connection.execute(
                f"SELECT query, document FROM production WHERE {condition} LIMIT 1"
            ).fetchone()
            if wrong:
                raise DataError(f"{path}: query '{wrong[0]}', document '{wrong[1]}' has {what}")


def read_scores(path: Path, dataset: Dataset) -> Floats:
    """Production's score of every document of a data set, ``[docs]``."""
    with workspace() as connection:
        create_scores(connection, path)
        return match_scores(connection, path, dataset)


def match_scores(connection: "Connection", path: Path, dataset: Dataset) -> Floats:
    """The scores of ``production`` in the order of a data set's documents."""
    owners = np.repeat(dataset.query_ids.astype(object), dataset.lists.lengths)
    given = {
        "query": owners,
        "document": dataset.document_ids.astype(object),
        "row": np.arange(dataset.n_documents),
    }
    connection.register("given", given)
    found = arrays(
        connection,
        "SELECT row, score FROM given JOIN production ON given.query = production.query "
        "AND given.document = production.document",
    )
    connection.unregister("given")
    scores = np.full(dataset.n_documents, np.nan)
    scores[np.asarray(found["row"])] = np.asarray(found["score"])
    missing = np.flatnonzero(np.isnan(scores))
    if len(missing):
        row = missing[0]
        raise DataError(
            f"{path}: {len(missing):,} of {len(scores):,} documents have no score, such as "
            f"'{dataset.document_ids[row]}' of query '{owners[row]}'"
        )
    return scores


def export_run(path: Path, out: Path) -> None:
    """Write a table of scores as a TREC run."""
    with workspace() as connection:
        create_scores(connection, path)
        found = arrays(
            connection,
            "SELECT query, document, score FROM production ORDER BY query, score DESC, document",
        )
    queries, starts = np.unique(found["query"].astype(str), return_index=True)
    order = np.argsort(starts)
    offsets = np.append(starts[order], len(found["query"]))
    documents = found["document"].astype(str)
    write_run(out, queries[order], documents, offsets, np.asarray(found["score"], np.float64))
