"""Production's scores from a file: a row for each query and document, or a TREC run."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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


MANY = 2
"""Columns with numbers, none of them called score, that features may be."""
LOOKED_AT = 1000
"""Rows that tell which columns have numbers: those of text files have no type."""


class ScoreColumns(Options):
    """Names of columns; those that are not given are found by their common names."""

    query_column: str = Field("", description="the query, or its id.")
    document_column: str = Field("", description="the document's id.")
    score_column: str = Field("", description="its score.")
    position_column: str = Field("", description="its rank, from 1.")


class Taken(NamedTuple):
    """What the scores of a table were taken from."""

    ranked: bool
    """Ranks; the score is minus the rank."""
    guessed: str = ""
    """The only column with numbers that was left, where none is called score."""


def create_scores(
    connection: "Connection",
    path: Path,
    *,
    candidate: bool = False,
    score_column: str = "",
    named: Mapping[str, str] | None = None,
) -> Taken:
    """A table ``production`` with ``query``, ``document`` and ``score`` from a file.

    Args:
        connection: where the table is made.
        path: the file.
        candidate: whether these are the scores of a candidate: then ranks, or the only column with
            numbers, will do where there are no scores.
        score_column: the column of a candidate's scores, if the user named it.
        named: names that the user gave to columns of the data or the log, such as
            ``document_column``; a column of the file that has such a name is taken for it.

    Returns:
        What the scores were taken from.
    """
    with plain_errors([path]):
        if is_run(path):
            connection.register("trec_run", read_run(path).table("score"))
            table = "SELECT * FROM trec_run"
        else:
            table = select_files(connection, [path])
        given = {**(named or {}), "score_column": score_column}
        columns = _ScoreFile(connection, table, given, where=str(path), candidate=candidate)
        taken, (query, document, number) = columns.chosen()
        ranked = taken.ranked
        # A bare cast would be left to duckdb's CSV reader, which refuses what is no number.
        score = f"try_cast(trim({number}::VARCHAR) AS DOUBLE)"
        connection.execute(
            "CREATE OR REPLACE TABLE production AS "
            f"SELECT {query}::VARCHAR AS query, {document}::VARCHAR AS document, "
            f"{'-' if ranked else ''}min({score}) AS score, "
            f"{'-' if ranked else ''}max({score}) AS other, "
            f"count_if(isfinite({score}) IS NOT true) AS bad FROM ({table}) GROUP BY ALL"
        )
        if not connection.execute("SELECT count(*) FROM production").fetchall()[0][0]:
            raise DataError(f"{path}: has no rows")
        what = "rank" if ranked else "score"
        for condition, wrong_with in (
            ("bad > 0", f"a {what} that is no finite number"),
            ("score <> other", f"two different {what}s"),
        ):
            wrong = connection.execute(
                f"SELECT query, document FROM production WHERE {condition} LIMIT 1"
            ).fetchone()
            if wrong:
                place = f"query '{wrong[0]}', document '{wrong[1]}'"
                raise DataError(f"{path}: {place} has {wrong_with}")
    return taken


def check_columns(
    connection: "Connection", path: Path, *, named: Mapping[str, str] | None = None
) -> None:
    """Refuse a table of scores whose columns are not clear, before its rows are read."""
    with plain_errors([path]):
        if not is_run(path):
            table = select_files(connection, [path])
            _ScoreFile(connection, table, named, where=str(path)).chosen()


class _ScoreFile(TableColumns):
    """The columns of a file with scores."""

    def __init__(
        self,
        connection: "Connection",
        table: str,
        named: Mapping[str, str] | None,
        *,
        where: str,
        candidate: bool = False,
    ) -> None:
        types = columns_of(connection, table)
        own = "score_column" if candidate else ""
        given = {key: name for key, name in (named or {}).items() if name in types or key == own}
        super().__init__(types, ScoreColumns.model_validate(given), where=where, flags=False)
        self._named = named or {}
        self._connection, self._table, self._candidate = connection, table, candidate

    def chosen(self) -> tuple[Taken, list[str]]:
        """What the scores are taken from; and query, document and number, as SQL."""
        clicks = self.named_like("click")
        ranks = self._candidate and not self._named.get("score_column")
        if ranks and clicks and self.named_like("position") and not self.named_like("score"):
            raise DataError(
                f"{self._where}: looks like a click log: it has the column '{clicks[0]}'; expected "
                "a table with query, document and score"
            )
        ids = [self.find(role) or "" for role in ("query", "document")]
        if ranks and not self.known("score") and self.known("position"):
            return Taken(ranked=True), [
                quoted(name) for name in (*ids, self.find("position") or "")
            ]
        if ranks and not self.named_like("score"):
            numbers = self._numbers(ids)
            if len(numbers) == 1:
                return Taken(False, numbers[0]), [quoted(name) for name in (*ids, numbers[0])]
        return Taken(ranked=False), [quoted(name) for name in (*ids, self.find("score") or "")]

    def _numbers(self, ids: Collection[str]) -> list[str]:
        """Columns beside the ids in which every value of the first rows is a number."""
        others = [name for name in self.types if name not in ids]
        if not others:
            return []
        told = (
            f"coalesce(bool_and(try_cast(trim({quoted(name)}::VARCHAR) AS DOUBLE) IS NOT NULL), "
            "false)"
            for name in others
        )
        rows = f"(SELECT * FROM ({self._table}) LIMIT {LOOKED_AT})"
        found = self._connection.execute(f"SELECT {', '.join(told)} FROM {rows}").fetchall()
        return [name for name, number in zip(others, found[0], strict=True) if number]

    def _unclear(self, role: str, found: list[str]) -> str:
        told = super()._unclear(role, found)
        ids = [name for role in ("query", "document") for name in self.named_like(role)]
        if role != "score" or found or len(numbers := self._numbers(ids)) < MANY:
            return told
        return f"{told}; {len(numbers)} columns have numbers, as in a table of features"

    def _advice(self, role: str, *, required: bool) -> str:
        if self._candidate and role == "score":
            return "name it with --score-column"
        given = self._named.get(f"{role}_column")
        told = super()._advice(role, required=required)
        return f"{told}, or to '{given}' as --{role}-column says" if given else told


def read_scores(path: Path, dataset: Dataset, *, named: Mapping[str, str] | None = None) -> Floats:
    """Production's score of every document of a data set, ``[docs]``.

    Args:
        path: the file.
        dataset: the documents.
        named: as of :func:`create_scores`.
    """
    with workspace() as connection:
        create_scores(connection, path, named=named)
        return match_scores(connection, path, dataset)


def match_scores(connection: "Connection", path: Path, dataset: Dataset) -> Floats:
    """The scores of ``production`` in the order of a data set's documents."""
    scores = scores_given(connection, dataset)
    missing = np.flatnonzero(np.isnan(scores))
    if len(missing):
        row = missing[0]
        owner = dataset.query_ids[dataset.lists.owners[row]]
        raise DataError(
            f"{path}: {len(missing):,} of {len(scores):,} documents have no score, such as "
            f"'{dataset.document_ids[row]}' of query '{owner}'; give a score for every document"
        )
    return scores


def scores_given(connection: "Connection", dataset: Dataset) -> Floats:
    """The same, NaN where there is none, ``[docs]``."""
    with listed_documents(connection, dataset):
        found = arrays(
            connection,
            "SELECT row, score FROM given JOIN production ON given.query = production.query "
            "AND given.document = production.document",
        )
    scores = np.full(dataset.n_documents, np.nan)
    scores[np.asarray(found["row"])] = np.asarray(found["score"])
    return scores


@contextmanager
def listed_documents(connection: "Connection", dataset: Dataset) -> Iterator[None]:
    """A table ``given`` with ``query``, ``document`` and ``row`` of a data set's documents."""
    owners = np.repeat(dataset.query_ids.astype(str).astype(object), dataset.lists.lengths)
    given = {
        "query": owners,
        "document": dataset.document_ids.astype(str).astype(object),
        "row": np.arange(dataset.n_documents),
    }
    connection.register("given", given)
    try:
        yield
    finally:
        connection.unregister("given")


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
