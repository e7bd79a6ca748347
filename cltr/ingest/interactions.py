"""[1] The interactions of a counted log, in order, chunk by chunk."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.ingest.sources import arrays, quoted
from cltr.ingest.tallies import Tally
from cltr.types import ClickLog, Dataset


def number_interactions(tally: Tally, dataset: Dataset, *, shared: bool) -> dict[str, int]:
    """Tables ``numbered`` and ``impressions`` of interactions in order; how many, by split."""
    starts = {split: dataset.documents_of(split).start for split in ("train", "valid")}
    splits = "CASE WHEN bool_or(valid) THEN 'valid' ELSE 'train' END"
    if not shared:
        ends = {split: dataset.documents_of(split).stop for split in ("train", "valid")}
        splits = f"CASE WHEN min(row) < {ends['train']} THEN 'train' ELSE 'valid' END"
        splits = f"CASE WHEN min(row) < {ends['valid']} THEN {splits} ELSE 'test' END"
    kept = "".join(f", any_value({name}) AS {name}" for name in tally.context.values())
    order = '"time", session, query' if "time" in tally.columns else "session, query"
    tally.run(
        "numbering",
        "CREATE OR REPLACE TEMP TABLE numbered AS SELECT *, row_number() OVER "
        f"(PARTITION BY split ORDER BY {order}) - 1 AS number FROM (SELECT query, session, "
        f"min(row) AS first, {splits} AS split{kept} FROM rows JOIN documents "
        f"USING (query, document) WHERE {tally.usable} GROUP BY query, session)",
    )
    tally.run(
        "numbering",
        "CREATE OR REPLACE TEMP TABLE impressions AS SELECT split, number, rank - 1 AS rank, "
        f"row - CASE WHEN split = 'train' THEN {starts['train']} ELSE {starts['valid']} END "
        f"AS row, value > 0 AS click FROM rows JOIN documents USING (query, document) "
        f"JOIN numbered USING (query, session) WHERE {tally.usable} ORDER BY split, number",
    )
    counts = tally.connection.execute("SELECT split, count(*) FROM numbered GROUP BY split")
    return dict(counts.fetchall())


def interactions(
    tally: Tally, dataset: Dataset, split: str, *, chunk: int = 200_000
) -> Iterator[ClickLog]:
    """The interactions of a split, chunk by chunk; documents are rows of that split."""
    part = dataset.part(split)
    total = tally.row(f"SELECT count(*) FROM numbered WHERE split = '{split}'")[0]
    for start in range(0, total, chunk):
        stop = min(start + chunk, total)
        yield _chunk(tally, part, split, start, stop)


def _chunk(tally: Tally, part: Dataset, split: str, start: int, stop: int) -> ClickLog:
    here = f"split = '{split}' AND number >= {start} AND number < {stop}"
    shown = arrays(
        tally.connection, f"SELECT number, rank, row, click FROM impressions WHERE {here}"
    )
    documents = np.full((stop - start, tally.top_k), -1, np.int64)
    clicks = np.zeros((stop - start, tally.top_k), np.bool_)
    places = np.asarray(shown["number"]) - start, np.asarray(shown["rank"])
    documents[places] = np.asarray(shown["row"])
    clicks[places] = np.asarray(shown["click"])
    columns = tally.context.items()
    kept = "".join(f", {column}::VARCHAR AS {quoted(name)}" for name, column in columns)
    about = arrays(
        tally.connection, f"SELECT first{kept} FROM numbered WHERE {here} ORDER BY number"
    )
    first = documents.max(-1)  # any document tells the query
    context = {name: _plain(about[name]) for name in tally.context}
    queries = np.searchsorted(part.offsets, first, side="right") - 1
    return ClickLog(queries.astype(np.int64), documents, clicks, context)


def _plain(column: NDArray[Any]) -> NDArray[np.str_]:
    """Text, empty where there is none."""
    texts: NDArray[np.str_] = np.ma.filled(np.ma.asarray(column), "").astype(str)
    return texts
