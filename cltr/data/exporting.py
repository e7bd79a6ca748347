"""A data set as a table or as TREC judgements, for other tools."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cltr.data.disk_spool import cut_lists
from cltr.data.feature_columns import numbered
from cltr.errors import DataError, UsageError
from cltr.files.storage import write_beside
from cltr.files.trec import write_qrels
from cltr.types import SPLITS, Dataset

EXPORTS = ("parquet", "csv", "qrels")
"""Kinds of files that can be written."""


def export_dataset(dataset: Dataset, out: Path | str, *, kind: str = "") -> None:
    """Write a data set to a file that ``cltr data import`` reads back, to the last bit.

    A table has the columns ``query``, ``document``, ``label`` (with judgements), ``split`` (where
    queries are split) and the features as they are stored, normalised or not.

    Args:
        dataset: to write.
        out: the file.
        kind: ``parquet``, ``csv`` or ``qrels``; by default as the name ends.
    """
    out = Path(out)
    kind = kind or {".pq": "parquet", ".txt": "qrels"}.get(out.suffix, out.suffix[1:])
    if kind not in EXPORTS:
        raise UsageError(
            f"{out}: the ending of the name does not say what to write; choose with --to: "
            f"{', '.join(EXPORTS)}"
        )
    if kind == "qrels":
        _export_qrels(dataset, out)
        return
    import pyarrow.csv
    import pyarrow.parquet

    schema = _schema(dataset)
    writers = {"parquet": pyarrow.parquet.ParquetWriter, "csv": pyarrow.csv.CSVWriter}
    with write_beside(out) as partial, writers[kind](str(partial), schema) as writer:
        for table in _tables(dataset, schema):
            writer.write_table(table)


def _export_qrels(dataset: Dataset, out: Path) -> None:
    if not dataset.judged:
        raise DataError(f"{dataset.name}: has no judgements to write")
    lists = dataset.offsets
    write_qrels(out, dataset.query_ids, dataset.document_ids, lists, dataset.labels)


def feature_names(dataset: Dataset) -> list[str]:
    """The names of features; their numbers from 1, as in SVMlight, where they have none.

    Example:
        >>> from cltr.data.demo import demo_dataset
        >>> feature_names(demo_dataset())[:2]
        ['feature 1', 'feature 2']
    """
    return list(dataset.feature_names) or numbered(dataset.n_features)


def _schema(dataset: Dataset) -> Any:
    import pyarrow

    text, names = pyarrow.string(), feature_names(dataset)
    columns = [("query", text), ("document", text)]
    columns += [("label", pyarrow.float64())] if dataset.judged else []
    columns += [] if dataset.shared else [("split", text)]
    taken = [name for name, _ in columns if name in names]
    if taken:
        raise DataError(
            f"{dataset.name}: a feature is named '{taken[0]}', like a column that the table must "
            "have; rename the feature"
        )
    return pyarrow.schema([*columns, *((name, pyarrow.float32()) for name in names)])


def _tables(dataset: Dataset, schema: Any) -> Iterator[Any]:
    """Blocks of whole lists."""
    import pyarrow

    for first, last in cut_lists(dataset.lists.lengths, dataset.n_features):
        part = dataset.queries(first, last)
        lengths = part.lists.lengths
        columns: list[Any] = [np.repeat(part.query_ids, lengths), part.document_ids]
        if dataset.judged:
            columns.append(pyarrow.array(part.labels, mask=np.isnan(part.labels)))
        if not dataset.shared:
            ends = [dataset.splits.get(split, (0, 0))[1] for split in SPLITS]
            which = np.searchsorted(ends, np.arange(first, last), side="right")
            columns.append(np.repeat(np.array(SPLITS)[which], lengths))
        columns += list(np.ascontiguousarray(part.features.T))
        yield pyarrow.table(columns, schema=schema)
