"""``cltr.rank``: score and rank queries with the model of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from cltr.api.shown import Shown
from cltr.api.sources import DataLike, FileName, Frame, as_files
from cltr.data.matched_features import match_features, match_matrix
from cltr.errors import DataError
from cltr.experiment.rank_queries import Candidates, ranked, served
from cltr.experiment.run_model import RunModel
from cltr.files.claims import reserve
from cltr.files.ranking_files import kind_of_ranking, ranking_writer
from cltr.files.storage import keep_inputs
from cltr.files.table_columns import TableColumns
from cltr.files.table_files import columns_of, plain_errors, quoted, select_files, workspace
from cltr.logs.score_files import read_scores
from cltr.options import Options
from cltr.report.rendering import Tables
from cltr.types import Dataset, Floats

if TYPE_CHECKING:
    import pyarrow


class Ranking(Shown):
    """Ranked documents, one row each. If they were written to a file: how many there are."""

    def __init__(self, result: Mapping[str, Any], rows: "pyarrow.Table | None" = None) -> None:
        self.result = result
        self._table = rows

    def table(self) -> "pyarrow.Table":
        """Return the rows, such as query, document, rank, score and expected weight."""
        if self._table is None:
            raise DataError(f"the rankings were written to {self.result['out']}")
        return self._table

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        rows: list[dict[str, Any]] = self.table().to_pylist()
        return rows

    def _tables(self, width: int) -> Tables:
        del width
        return ranking_tables(self.result)


def ranking_tables(result: Mapping[str, Any]) -> Tables:
    """Return the line that the command prints."""
    what = f"{result['rows']:,} rows of {result['queries']:,} queries"
    yield Text(f"{what}{' in ' + str(result['out']) if result['out'] else ''}")


def rank(
    run: Any,
    data: DataLike | None = None,
    *,
    production: FileName | Frame | None = None,
    requests: FileName | Frame | None = None,
    out: FileName | None = None,
    query_column: str = "",
    document_column: str = "",
    missing: str = "refuse",
) -> Ranking:
    """Score and rank documents with the model of a finished run. Same as ``cltr rank``.

    Raw features are normalised as in training. Columns are matched by name if the run knows the
    names of its features, and otherwise by their order.

    Args:
        run: the run or its folder.
        data: queries, documents and features: a Parquet, CSV, TSV or JSON lines file, a data set
            or its file, or a data frame; the run's own data set by default.
        production: production's scores (query, document, score), if the model or the serving rule
            needs them.
        requests: a table with the columns ``request`` and ``query``. Then the result is the ranking
            of each request by the serving rule of the run.
        out: file to write (.parquet, .csv, .jsonl, .trec); by default all rows are
            returned.
        query_column: name of the query column, if cltr does not recognise it.
        document_column: name of the document column, if cltr does not recognise it.
        missing: ``refuse`` missing features, or set them to ``zero``.
    """
    target = None if out is None else Path(out)
    if target is not None:
        kind_of_ranking(target)
    how = {
        "query_column": query_column,
        "document_column": document_column,
        "missing": missing,
    }
    with reserve(target), as_files(production, requests) as (scores, asked):
        opened = RunModel.open(Path(getattr(run, "path", run)))
        if target is not None:
            named = [data] if isinstance(data, str | Path) else []
            keep_inputs(target, [*named, *scores, *asked])
        candidates = _candidates(opened, data, scores, how)
        if asked:
            schema, tables = served(candidates, _requests(asked[0], query_column))
        else:
            schema, tables = ranked(candidates)
        n_queries = candidates.features.dataset.n_queries
        result = {"run": str(opened.folder.path), "queries": n_queries, "out": out and str(out)}
        if target is not None:
            rows = 0
            with ranking_writer(target, schema) as write:
                for table in tables:
                    write(table)
                    rows += table.num_rows
            return Ranking({**result, "rows": rows})
        import pyarrow

        whole = pyarrow.concat_tables([schema.empty_table(), *tables])
        return Ranking({**result, "rows": whole.num_rows}, whole)


def _candidates(
    run: RunModel, data: DataLike | None, scores: Sequence[Path], how: Mapping[str, str]
) -> Candidates:
    if data is None:
        own = Candidates.own(run)
        if not scores:
            return own
        return Candidates(run, own.features, _scores(scores, own.features.dataset, how))
    names, n = run.inputs.feature_names, run.inputs.n_features
    features = match_features(data, names, n, **how)
    if not scores and features.dataset.fingerprint == run.inputs.data:
        return Candidates.own(run, features.dataset)
    known = _scores(scores, features.dataset, how) if scores else None
    return Candidates(run, features, known)


def _scores(files: Sequence[Path], dataset: Dataset, how: Mapping[str, str]) -> Floats:
    named = {key: how[key] for key in ("query_column", "document_column") if how[key]}
    return read_scores(files[0], dataset, named=named)


class _RequestColumns(Options):
    query_column: str = ""


def _requests(path: Path, query_column: str) -> dict[str, list[str]]:
    """Ids of requests by query, in the order of the file."""
    with workspace() as connection, plain_errors([path]):
        table = select_files(connection, [path])
        types = columns_of(connection, table)
        if "request" not in types:
            raise DataError(f"{path}: has no column 'request'; expected 'request' and 'query'")
        given = query_column if query_column in types else ""
        columns = TableColumns(types, _RequestColumns(query_column=given), where=str(path))
        names = [quoted("request"), quoted(columns.find("query") or "")]
        listed = ", ".join(f"{name}::VARCHAR" for name in names)
        rows = connection.execute(f"SELECT {listed} FROM ({table})").fetchall()
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for request, query in rows:
        if not request or not query:
            raise DataError(f"{path}: a row has no request or no query; every row needs both")
        if request in seen:
            raise DataError(
                f"{path}: request '{request}' appears twice; give each request an id of its own"
            )
        seen.add(request)
        found.setdefault(query, []).append(request)
    return found


def predict(
    run: RunModel,
    X: Any,  # as in scikit-learn
    *,
    production: Any = None,
    lengths: Sequence[int] | None = None,
) -> Floats:
    """Return scores of documents, ``[docs]``; see :meth:`cltr.Run.predict`."""
    features = match_matrix(X, run.inputs.feature_names, run.inputs.n_features)
    sizes = np.array([len(features)] if lengths is None else lengths, np.int64)
    if int(sizes.sum()) != len(features) or (sizes < 1).any():
        raise DataError(f"lengths add up to {int(sizes.sum())}; X has {len(features)} rows")
    if run.inputs.own_documents:
        raise DataError("the model knows the documents of its own data set only; use rank()")
    known = None if production is None else np.asarray(production, np.float64)
    if known is not None and (known.shape != (len(features),) or not np.isfinite(known).all()):
        raise DataError(f"production must be {len(features)} finite numbers")
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return run.scores(run.prepared(features, offsets, production=known))
