"""Rankings as files: Parquet, CSV, JSON lines or a TREC run, written block by block."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from cltr.errors import UsageError
from cltr.files.storage import write_beside
from cltr.files.trec import check_ids

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".trec": "trec",
    ".run": "trec",
}
"""What is written, by how the file's name ends."""


def kind_of_ranking(path: Path) -> str:
    """What a file is to hold, by how its name ends."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"--out {path}: its name must end in {', '.join(ENDINGS)}")
    return kind


@contextmanager
def ranking_writer(path: Path, schema: Any) -> Iterator[Callable[[Any], None]]:
    """Writes Arrow tables with this schema, one after the other; the file appears when whole.

    A TREC run takes the columns ``query``, ``document``, ``rank`` and ``score`` of a table.
    """
    kind = kind_of_ranking(path)
    if kind == "trec" and "score" not in schema.names:
        raise UsageError(f"--out {path}: a TREC run has no requests; write .parquet or .csv")
    with write_beside(path) as partial, ExitStack() as stack:
        if kind in ("json", "trec"):
            stream = stack.enter_context(partial.open("w", encoding="utf-8"))
            yield lambda table: _write_lines(table, kind, stream, path)
            return
        import pyarrow.csv
        import pyarrow.parquet

        kinds = {"parquet": pyarrow.parquet.ParquetWriter, "csv": pyarrow.csv.CSVWriter}
        yield stack.enter_context(kinds[kind](str(partial), schema)).write_table


def _write_lines(table: Any, kind: str, stream: IO[str], path: Path) -> None:
    if kind == "json":
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
        return
    columns = [table[name].to_pylist() for name in ("query", "document", "rank", "score")]
    check_ids(path, [*columns[0], *columns[1]])
    stream.writelines(
        f"{query} Q0 {document} {rank} {score!r} cltr\n"
        for query, document, rank, score in zip(*columns, strict=True)
    )
