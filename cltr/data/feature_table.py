"""A table with a row for each query and document, read by duckdb in bounded memory.

Rows may come in any order. They are first looked through for ids, labels and splits; then they
stream by as they come.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cltr.data.feature_columns import FeatureColumns
from cltr.data.row_store import TableRows, joined
from cltr.data.table_checks import TableChecks
from cltr.errors import DataError
from cltr.files.row_batches import Texts, batches
from cltr.files.table_files import OnShare, arrays, quoted, run, silent
from cltr.files.text import text_of_bytes
from cltr.files.trec import read_qrels
from cltr.types import Floats, Integers

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

BATCH = 4 * 2**20
"""Bytes of features that duckdb hands over at a time."""


@dataclass(frozen=True)
class TableQueries:
    """The queries of a table, in the order in which they come first."""

    ids: NDArray[np.str_]
    lengths: Integers
    """Documents of each."""
    first: Integers
    """Its first row."""
    last: Integers
    judged: Integers
    """Documents with a judgement."""
    splits: NDArray[Any]
    """What the split's column says, as text; all empty without one."""


class FeatureTable:
    """The table ``raw`` of a connection as queries, documents, labels and features."""

    def __init__(
        self,
        connection: "Connection",
        columns: FeatureColumns,
        *,
        where: str,
        row: str,
        qrels: Path | None = None,
        progress: OnShare = silent,
    ) -> None:
        """Look through the table.

        Args:
            connection: with a table or view ``raw``.
            columns: of it.
            where: the file, for messages.
            row: column of ``raw`` that numbers its rows.
            qrels: judgements, in place of a label column.
            progress: called now and then with the stage and how much of it is done.
        """
        self.connection, self.columns, self.where = connection, columns, where
        self.progress = progress
        self._source: Any = None
        self.notes: list[str] = []
        self._define_rows(row)
        checks = TableChecks(connection, columns, where)
        checks.refuse_text()
        self.n_rows, self.longest_id = checks.check_ids()
        checks.check_labels()
        self._graded = self._grade(qrels) if qrels else None
        self._list_queries()
        if columns.split:
            checks.check_splits()
        if columns.document:
            checks.check_pairs()
        self.queries = self._find_queries()

    def _define_rows(self, row: str) -> None:
        columns = self.columns
        document = f"{quoted(columns.document)}::VARCHAR" if columns.document else "''"
        label = columns.number(columns.label) if columns.label else "NULL::DOUBLE"
        split = f"{quoted(columns.split)}::VARCHAR" if columns.split else "''"
        features = [f"{columns.number(name)} AS f{i}" for i, name in enumerate(columns.features)]
        self.connection.execute(
            "CREATE OR REPLACE TEMP VIEW rows AS "
            f"SELECT {quoted(columns.query)}::VARCHAR AS query, {document} AS document, "
            f"CASE WHEN NOT isnan({label}) THEN ({label})::DOUBLE END AS label, "
            f"{split} AS split, {quoted(row)} AS row, {', '.join(features)} FROM raw"
        )

    def _grade(self, path: Path) -> tuple[Integers, Floats]:
        """Rows that have a judgement, in order, and their grades."""
        pairs = read_qrels(path)
        self.connection.register("qrels", pairs.table("grade"))
        run(
            self.connection,
            "CREATE OR REPLACE TEMP TABLE graded AS SELECT row, grade FROM rows JOIN qrels "
            "ON rows.query = qrels.query AND rows.document = qrels.document",
            "judgements",
            self.progress,
        )
        found = arrays(self.connection, "SELECT row, grade FROM graded ORDER BY row")
        if not len(found["row"]):
            query, document = arrays(
                self.connection, "SELECT query, document FROM rows LIMIT 1"
            ).values()
            raise DataError(
                f"{path}: no judgement is on a document of {self.where}; the judgements have query "
                f"'{pairs.queries[0]}' and document '{pairs.documents[0]}', the table has query "
                f"'{query[0]}' and document '{document[0]}'"
            )
        matched = len(found["row"])
        self.notes = [f"{matched:,} of {len(pairs.values):,} judgements are on these documents"]
        return np.asarray(found["row"], np.int64), np.asarray(found["grade"], np.float64)

    def _list_queries(self) -> None:
        judged = "FROM rows"
        if self._graded is not None:
            rows = "SELECT rows.* REPLACE (grade AS label) FROM rows LEFT JOIN graded USING (row)"
            judged = f"FROM ({rows})"
        run(
            self.connection,
            "CREATE OR REPLACE TEMP TABLE found AS SELECT query, min(row) AS first, "
            "max(row) AS last, count(*) AS n, count(label) AS judged, min(split) AS split, "
            f"max(split) AS other, count(split) AS told {judged} GROUP BY query",
            "listing",
            self.progress,
        )

    def _find_queries(self) -> TableQueries:
        found = arrays(self.connection, "SELECT * FROM found ORDER BY first")
        text = np.asarray(found["query"], dtype=object).astype(str)
        return TableQueries(
            ids=text,
            lengths=np.asarray(found["n"], np.int64),
            first=np.asarray(found["first"], np.int64),
            last=np.asarray(found["last"], np.int64),
            judged=np.asarray(found["judged"], np.int64),
            splits=np.asarray(found["split"], dtype=object),
        )

    @property
    def n_features(self) -> int:
        return len(self.columns.features)

    def rows_in(self, order: Integers) -> Integers | None:
        """Rows in an order of queries, as numbers of :attr:`queries`; None if they come in it.

        Args:
            order: of all queries.
        """
        found = self.queries
        starts = np.cumsum(found.lengths[order]) - found.lengths[order]
        begin = found.first[order] == found.first[order[0]] + starts
        if (begin & (found.last - found.first + 1 == found.lengths)[order]).all():
            return None
        import pyarrow

        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        listed = pyarrow.table({"query": pyarrow.array(found.ids.astype(object)), "place": places})
        self.connection.register("places", listed)
        sql = "SELECT place FROM rows JOIN places ON rows.query = places.query ORDER BY row"
        by_row = np.asarray(arrays(self.connection, sql)["place"])
        self.connection.unregister("places")
        return np.argsort(by_row, kind="stable")

    def stream(self, sizes: Iterable[int], *, ids: bool = True) -> Iterator[TableRows]:
        """Rows as they come, in blocks of given sizes.

        Missing numbers are NaN. Numbers beyond 32 bits are infinite.

        Args:
            sizes: rows of each block; those after the last one are not read.
            ids: whether document ids are wanted; without, they are empty.
        """
        names = [f"f{i}" for i in range(self.n_features)]
        kinds = dict.fromkeys(names, "float64") | {"label": "float64"}
        for name, column in zip(names, self.columns.features, strict=True):
            if self.columns.types[column] == "FLOAT":
                kinds[name] = "float32"
        filled = ", ".join(f"coalesce({name}, 'nan'::DOUBLE) AS {name}" for name in kinds)
        kinds |= {"row": "int64"} | ({"document": "text"} if ids else {})
        most = max(BATCH // (8 * max(self.n_features, 1)), 2048)
        table = f"(SELECT row, document, {filled} FROM rows)"
        self._source = batches(self.connection, table, kinds, most=most)
        try:
            yield from _reblocked(self._read(names, ids=ids), sizes)
        finally:
            self._source.close()

    def _read(self, names: list[str], *, ids: bool) -> Iterator[TableRows]:
        last = -1
        for batch in self._source:
            numbers = batch["row"]
            if len(numbers) and (numbers[0] <= last or (np.diff(numbers) <= 0).any()):
                raise DataError(f"{self.where}: rows do not come in their order; report this")
            last = numbers[-1] if len(numbers) else last
            features = np.empty((len(numbers), len(names)), np.float32)
            with np.errstate(over="ignore"):
                for number, name in enumerate(names):
                    features[:, number] = batch[name]
            documents = self._ids(batch["document"]) if ids else np.empty(len(numbers), "<U1")
            yield TableRows(features, self._labels(batch["label"], numbers), documents)

    def _labels(self, labels: Floats, rows: Integers) -> Floats:
        """Labels of the table, or grades of the judgements."""
        if self._graded is None:
            return labels
        judged, grades = self._graded
        places = np.minimum(np.searchsorted(judged, rows), len(judged) - 1)
        found: Floats = np.where(judged[places] == rows, grades[places], np.nan)
        return found

    def _ids(self, texts: Texts) -> NDArray[np.str_]:
        return text_of_bytes(texts.characters, texts.lengths, self.longest_id)

    def refuse_values(self) -> NoReturn:
        """Say which features are missing or infinite; ends the stream that is being read."""
        self._source.close()
        TableChecks(self.connection, self.columns, self.where).refuse_values()


def _reblocked(source: Iterator[TableRows], sizes: Iterable[int]) -> Iterator[TableRows]:
    """The same rows in blocks of other sizes."""
    rest: list[TableRows] = []
    held = 0
    for size in sizes:
        while held < size:
            rest.append(next(source))
            held += len(rest[-1].labels)
        whole = joined(rest)
        yield whole.cut(0, size)
        rest = [whole.cut(size)]
        held -= size
