"""Data sets from data frames: pandas, polars, Arrow tables, or columns in a dictionary."""

from pathlib import Path
from typing import Any

import numpy as np

from cltr.data.feature_columns import ROW, TableOptions
from cltr.data.loading import open_dataset
from cltr.data.shards import is_sharded
from cltr.data.table_import import TableImport, import_table
from cltr.data.table_source import TableSource
from cltr.errors import UsageError
from cltr.files.claims import hidden_folder
from cltr.files.frames import arrow_table
from cltr.types import Dataset


def read_dataset(
    source: Any,
    *,
    normalize: str = "none",
    valid_share: float = 0.2,
    test_share: float = 0.2,
    name: str = "",
    **options: Any,
) -> Dataset:
    """A data set from a data frame, or from a file with features.

    There is a row for each query and document, in any order. Everything is as in ``cltr data
    import``, and so is the result, to the last bit.

    Args:
        source: a data frame (pandas, polars, pyarrow, a dictionary of columns, a list of rows), a
            Parquet, CSV, TSV or JSON lines file, several of one kind, or a data set file (.h5).
        normalize: of features, fitted on the training queries: ``none``, ``z-score``,
            ``log1p-z-score`` or ``query-min-max``.
        valid_share: share of queries to split off for validation, where nothing says which.
        test_share: the same for testing; only queries with judgements are split off.
        name: of the data set; that of the file by default.
        options: of :class:`cltr.data.feature_columns.TableOptions`, such as
            ``query_column="q"``, ``label_column="none"``, ``feature_columns=["bm25*"]`` or
            ``missing="zero"``.

    Example:
        >>> data = read_dataset({
        ...     "query": ["red shoes", "red shoes", "tea", "tea", "cup"],
        ...     "document": [17, 4, 17, 8, 8],
        ...     "bm25": [2.5, 0.5, 1.0, 3.0, 0.0],
        ...     "price": [10, 20, 10, 5, 5],
        ... })
        >>> data.query_ids.tolist(), data.document_ids.tolist(), data.feature_names
        (['red shoes', 'tea', 'cup'], ['17', '4', '17', '8', '8'], ('bm25', 'price'))
        >>> data.judged
        False
    """
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in options.items()}
    chosen = TableOptions.parse(given, owner="")
    table = _source(source)
    if isinstance(table, Path):
        if options:
            raise UsageError(
                f"{table}: is a data set file, which needs no such options; leave out "
                f"{', '.join(options)}"
            )
        return open_dataset(table)
    shares = {"valid": valid_share, "test": test_share}
    how = TableImport(chosen, shares, normalize)
    called = name or ("data frame" if table.frame is not None else table.paths[0].stem)
    # The file stays mapped after its name is gone, so memory is the system's to give and to take.
    with hidden_folder() as folder:
        path = folder / "data.h5"
        import_table(table, path, how, name=called)
        return open_dataset(path)


def _source(source: Any) -> TableSource | Path:
    paths = [source] if isinstance(source, str | Path) else source
    if isinstance(paths, list | tuple) and paths and all(isinstance(p, str | Path) for p in paths):
        files = [Path(path) for path in paths]
        if files[0].suffix == ".h5" or is_sharded(files[0]):
            return files[0]
        return TableSource({"": files})
    import pyarrow

    table = arrow_table(source)
    numbers = pyarrow.array(np.arange(table.num_rows))
    return TableSource({}, table.append_column(ROW, numbers))
