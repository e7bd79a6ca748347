"""Features that stand in a click log, a row for each impression: one value for each document.

A document's features may change while a log is written. The data set takes those of its **first**
impression for a query: the earliest by time where a time column is named, else the first in the
file. This rule looks at no click. And it takes nothing from the future: a click count or a
popularity that is read later may already hold the clicks that are to be learned from. Where a value
is missing at the first impression, it is the first one that is not.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cltr.data.feature_columns import ROW, FeatureColumns, TableOptions
from cltr.data.importing import dataset_info
from cltr.data.table_import import TableImport, import_table
from cltr.data.table_source import TableSource, open_table
from cltr.errors import UsageError
from cltr.files.claims import hidden_folder
from cltr.files.table_files import OnShare, plain_errors, quoted, run, silent, text, workspace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_SHOWN = 3


def import_log_features(
    paths: Sequence[Path],
    out: Path,
    options: TableOptions,
    *,
    time_column: str = "",
    normalize: str = "none",
    memory: str = "",
    progress: OnShare = silent,
) -> dict[str, Any]:
    """Write the features of a log as a data set without judgements.

    Args:
        paths: of the log, with a row for each impression.
        out: the data set file to write.
        options: which columns are query, document and features; features must be named.
        time_column: when a document was shown; as rows come by default.
        normalize: of features.
        memory: most memory to use.
        progress: called now and then with the stage and how much of it is done.

    Returns:
        What :func:`cltr.data.importing.dataset_info` says of the new file.
    """
    if not options.feature_columns:
        raise UsageError("name the columns of features with --feature-column")
    options = options.model_copy(update={"label_column": "none", "split_column": "none"})
    where = str(paths[0])
    with hidden_folder(out.parent) as folder:
        table = folder / "first.parquet"
        with workspace(out.parent, memory=memory) as connection, plain_errors(paths):
            source = TableSource({"": list(paths)})
            columns = open_table(connection, source, options, progress)
            notes = _take_first(connection, columns, table, time_column, where, progress)
        named = options.model_copy(
            update={"query_column": columns.query, "document_column": columns.document or "none"}
        )
        how = TableImport(named, {}, normalize, memory, notes=tuple(notes))
        first = TableSource({"": [table]}, called=where)
        import_table(first, out, how, name=out.stem, progress=progress)
    return dataset_info(out)


def _take_first(
    connection: "Connection",
    columns: FeatureColumns,
    out: Path,
    time_column: str,
    where: str,
    progress: OnShare,
) -> list[str]:
    """Write the first value of each feature of each document; what changes later, in words."""
    if time_column and time_column not in columns.types:
        raise UsageError(f"{where}: has no column '{time_column}' (--time-column)")
    order = f"({quoted(time_column)}, {quoted(ROW)})" if time_column else quoted(ROW)
    keys = [quoted(name) for name in (columns.query, columns.document) if name]
    chosen = []
    for number, name in enumerate(columns.features):
        value = columns.number(name)
        chosen += [
            f"arg_min({quoted(name)}, {order}) AS {quoted(name)}",
            f"min({value})::DOUBLE AS low{number}",
            f"max({value})::DOUBLE AS high{number}",
        ]
    known = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    run(
        connection,
        f"CREATE OR REPLACE TEMP TABLE firsts AS SELECT {', '.join(keys)}, {', '.join(chosen)}, "
        f"min({quoted(ROW)}) AS {quoted(ROW)} FROM raw WHERE {known} GROUP BY {', '.join(keys)}",
        "features",
        progress,
    )
    listed = ", ".join([*keys, *(quoted(name) for name in columns.features)])
    connection.execute(
        f"COPY (SELECT {listed} FROM firsts ORDER BY {quoted(ROW)}) TO {text(str(out))} "
        "(FORMAT parquet)"
    )
    return _changes(connection, columns)


def _changes(connection: "Connection", columns: FeatureColumns) -> list[str]:
    """How many documents have features that change, and by how much."""
    numbers = range(len(columns.features))
    anything = " OR ".join(f"low{i} <> high{i}" for i in numbers)
    each = ", ".join(
        f"count(*) FILTER (low{i} <> high{i}), max(high{i} - low{i}), stddev_pop(low{i})"
        for i in numbers
    )
    total, changed, *found = connection.execute(
        f"SELECT count(*), count(*) FILTER ({anything}), {each} FROM firsts"
    ).fetchall()[0]
    if not changed:
        return [f"no feature of the {total:,} documents changes in the log"]
    told = []
    for i in sorted(numbers, key=lambda i: -found[3 * i])[:_SHOWN]:
        n, most, spread = found[3 * i : 3 * i + 3]
        by = f", by up to {most / spread:.1g} standard deviations" if spread else ""
        told += [f"'{columns.features[i]}' of {n:,}{by}"] if n else []
    return [
        f"{changed:,} of {total:,} documents have features that change in the log; those of the "
        f"first impression are used. Most often: {'; '.join(told)}"
    ]
