"""From a table with a row for each query and document to a data set file, in bounded memory."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cltr.data.dataset_file import FORMAT, DatasetWriter
from cltr.data.disk_spool import BLOCK, cut_lists
from cltr.data.feature_columns import ROW, FeatureColumns, TableOptions, shown
from cltr.data.feature_table import FeatureTable
from cltr.data.normalization import Normalization, check_normalization, fit_normalization
from cltr.data.row_store import RowStore, TableRows
from cltr.data.table_source import SPLIT_OF_FILE, TableSource, open_table
from cltr.data.table_splits import split_queries
from cltr.errors import DataError
from cltr.files.storage import create_h5, keep_inputs
from cltr.files.table_files import OnShare, plain_errors, silent, workspace
from cltr.types import SPLITS, Booleans, Floats, Integers, Lists

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class TableImport:
    """How a table becomes a data set."""

    options: TableOptions
    shares: Mapping[str, float]
    """Of queries to split off for validation and testing, where nothing says which they are."""
    normalize: str = "none"
    memory: str = ""
    notes: tuple[str, ...] = ()
    """What was decided before, in words; kept in the file."""


def import_table(
    source: TableSource,
    out: Path,
    how: TableImport,
    *,
    name: str,
    progress: OnShare = silent,
) -> None:
    """Write a table as a data set file.

    Args:
        source: files or a frame.
        out: the file to write; it appears when it is whole.
        how: which columns are what, how to split and to normalise.
        name: of the data set.
        progress: called now and then with the stage and how much of it is done.
    """
    check_normalization(how.normalize)
    keep_inputs(out, [*source.paths, *([how.options.qrels] if how.options.qrels else [])])
    with (
        create_h5(out, format=FORMAT) as file,
        workspace(out.parent, memory=how.memory) as connection,
        plain_errors(source.paths, where=source.where),
    ):
        columns = open_table(connection, source, how.options, progress)
        table = FeatureTable(
            connection,
            columns,
            where=source.where,
            row=ROW,
            qrels=Path(how.options.qrels) if how.options.qrels else None,
            progress=progress,
        )
        by_column = columns.split is not None
        splits, notes = split_queries(
            table.queries, how.shares, where=source.where, by_column=by_column
        )
        _check_space(table, out)
        with RowStore(out.parent) as store:
            taken = _Taken(table, splits, how, store, progress)
            taken.write(
                file, name, [_roles(columns, how.options), *table.notes, *how.notes, *notes], source
            )


def _roles(columns: FeatureColumns, options: TableOptions) -> str:
    """Which columns were found, in words."""
    parts = [f"query '{columns.query}'"]
    parts += [f"document '{columns.document}'"] if columns.document else []
    judged = [f"judgements of {Path(options.qrels).name}"] if options.qrels else ["no judgements"]
    parts += [f"judgements '{columns.label}'"] if columns.label else judged
    parts += [f"split '{columns.split}'"] if columns.split not in (None, SPLIT_OF_FILE) else []
    return "columns: " + ", ".join(parts)


def _times(number: int, word: str) -> str:
    """A number of things.

    Example:
        >>> _times(1, "feature"), _times(1200, "feature")
        ('1 feature', '1,200 features')
    """
    return f"{number:,} {word}{'s' * (number != 1)}"


def _check_space(table: FeatureTable, out: Path) -> None:
    size = table.n_rows * (4 * table.n_features + 4 * table.longest_id + 8)
    if size > shutil.disk_usage(out.parent).free:
        raise DataError(
            f"{out}: {table.n_rows:,} documents with {table.n_features} features need "
            f"{size / 1e9:.1f} GB, more than is free; free some space or write elsewhere"
        )


class _Taken:
    """Takes the rows of a table in the order of the splits, and writes them."""

    def __init__(
        self,
        table: FeatureTable,
        splits: Mapping[str, Integers] | None,
        how: TableImport,
        store: RowStore,
        progress: OnShare,
    ) -> None:
        self.table, self.how, self.progress = table, how, progress
        n = len(table.queries.ids)
        self.order = np.arange(n)
        self.bounds = dict.fromkeys(SPLITS, (0, n))
        if splits is not None:
            self.order = np.concatenate([splits[split] for split in SPLITS])
            ends = np.cumsum([0, *(len(splits[split]) for split in SPLITS)]).tolist()
            self.bounds = {split: (ends[i], ends[i + 1]) for i, split in enumerate(SPLITS)}
        self.rows = table.rows_in(self.order)
        self.store: RowStore | None = None
        if self.rows is not None:
            self.store = store
            self._put_in(store)
        self.lengths = table.queries.lengths[self.order]
        self.judged = table.queries.judged[self.order] > 0
        self.fill: Floats | None = None
        self.missing = np.zeros(table.n_features, np.int64)

    def _put_in(self, store: RowStore) -> None:
        """Rows that do not come in order are kept on disk first."""
        table, done = self.table, 0
        size = max(BLOCK // (4 * table.n_features), 1)
        sizes = [min(size, table.n_rows - begin) for begin in range(0, table.n_rows, size)]
        for rows in table.stream(sizes):
            store.add(rows)
            done += len(rows.labels)
            self.progress("sorting", done / table.n_rows)

    def write(self, file: Any, name: str, notes: list[str], source: TableSource) -> None:
        """Fit what is to be fitted on the training queries, then write all documents."""
        table = self.table
        if self.how.options.missing == "zero":
            self.fill = np.zeros(table.n_features)
        elif self.how.options.missing == "mean":
            self.fill = self._means()
        fitted = self._fit()
        positions = np.arange(self.lengths.max()).astype(str)
        places_only = table.columns.document is None
        width = positions.dtype.itemsize // 4 if places_only else table.longest_id
        writer = DatasetWriter(
            file, n_documents=table.n_rows, n_features=table.n_features, id_width=width
        )
        highest, done = 0.0, 0
        for rows, (first, last) in self._blocks(len(self.lengths), ids=not places_only):
            lists = Lists.of_offsets(np.concatenate([[0], np.cumsum(self.lengths[first:last])]))
            labels = self._judged(rows.labels, np.repeat(self.judged[first:last], lists.lengths))
            highest = max(highest, float(np.nanmax(labels, initial=0.0)))
            ids = positions[lists.places] if places_only else rows.ids
            self.missing += np.isnan(rows.features).sum(0)
            offsets = np.append(lists.starts, len(labels))
            writer.append(fitted.apply(self._filled(rows.features), offsets), labels, ids)
            done += len(labels)
            self.progress("writing", done / table.n_rows)
        writer.finish(
            offsets=np.concatenate([[0], np.cumsum(self.lengths)]),
            query_ids=table.queries.ids[self.order],
            splits=self.bounds,
            normalization=fitted,
            name=name,
            highest_grade=highest,
            about={
                "files": {split: [p.name for p in group] for split, group in source.files.items()},
                "notes": [*notes, *self._notes()],
            },
            feature_names=table.columns.features,
        )

    def _blocks(
        self, n_queries: int, *, ids: bool = False
    ) -> Iterator[tuple[TableRows, tuple[int, int]]]:
        """Whole lists: the first ``n_queries`` of the order, in blocks."""
        cuts = list(cut_lists(self.lengths[:n_queries], self.table.n_features))
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        if self.rows is None or self.store is None:
            sizes = [int(ends[last] - ends[first]) for first, last in cuts]
            yield from zip(self.table.stream(sizes, ids=ids), cuts, strict=True)
            return
        for first, last in cuts:
            yield self.store.take(self.rows[ends[first] : ends[last]]), (first, last)

    def _fit(self) -> Normalization:
        training = self._blocks(self.bounds["train"][1])
        blocks = (self._filled(rows.features) for rows, _ in training)
        return fit_normalization(self.how.normalize, blocks)

    def _means(self) -> Floats:
        """Mean of each feature where it is known, over the training queries."""
        total, n = np.zeros(self.table.n_features), np.zeros(self.table.n_features)
        for rows, _ in self._blocks(self.bounds["train"][1]):
            known = np.isfinite(rows.features)
            total += np.where(known, rows.features, 0.0).sum(0, dtype=np.float64)
            n += known.sum(0)
        unknown = [name for name, k in zip(self.table.columns.features, n, strict=True) if not k]
        if unknown:
            raise DataError(
                f"{self.table.where}: --missing mean: the training queries have no value of "
                f"{shown(unknown)}; leave it out (--leave-out), or say --missing zero"
            )
        return total / n

    def _filled(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Without missing values; anything else that is no finite number is refused."""
        if self.fill is not None:
            features = np.where(np.isnan(features), self.fill.astype(np.float32), features)
        if not np.isfinite(features).all():
            self.table.refuse_values()
        return features

    def _judged(self, labels: Floats, judged: Booleans) -> Floats:
        """In a query with judgements, a document without one has grade 0."""
        filled: Floats = np.where(judged & np.isnan(labels), 0.0, labels)
        return filled

    def _notes(self) -> list[str]:
        """What was done about missing judgements and features, in words."""
        notes = []
        queries = self.table.queries
        partly = self.judged & (queries.judged[self.order] < self.lengths)
        if partly.any():
            n = int((self.lengths - queries.judged[self.order])[partly].sum())
            notes.append(
                f"{n:,} documents of {int(partly.sum()):,} judged queries have no judgement and "
                "count as grade 0"
            )
        if self.judged.any() and not self.judged.all():
            n = int(np.count_nonzero(~self.judged))
            notes.append(f"{n:,} of {len(self.judged):,} queries have no judgements")
        names = self.table.columns.features
        filled = [names[i] for i in np.flatnonzero(self.missing)]
        if filled:
            rule = {"zero": "0", "mean": "their mean on the training queries"}
            notes.append(
                f"{_times(int(self.missing.sum()), 'missing value')} of "
                f"{_times(len(filled), 'feature')} set to "
                f"{rule[self.how.options.missing]}: {shown(filled)}"
            )
        return notes
