"""[2] The counts of a log as arrays: its lists, its statistics, what is known of its policy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.ingest.sources import arrays
from cltr.ingest.tallies import Split, Tally
from cltr.loglists import lists_of_log
from cltr.types import ClickStatistics, Dataset, Floats, Integers


def own_lists(tally: Tally, *, name: str, offered: bool = False) -> Dataset:
    """All that was shown for a query as its list, by id; ``documents`` tells their rows.

    Args:
        tally: counted.
        name: of the lists.
        offered: also what ``production`` scores for queries that were logged, shown or not.
    """
    connection = tally.connection
    pairs = f"SELECT DISTINCT query, document FROM cells WHERE {tally.in_lists}"
    if offered:
        # Ids of scores are text; so are then all.
        text = f"SELECT query::VARCHAR AS query, document::VARCHAR AS document FROM ({pairs})"
        connection.execute(f"CREATE OR REPLACE TEMP TABLE seen AS {text}")
        pairs = (
            "SELECT * FROM seen UNION SELECT query, document FROM production "
            "WHERE query IN (SELECT query FROM seen)"
        )
        for column in ("query", "document"):
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE cells AS SELECT * REPLACE ({column}::VARCHAR AS "
                f"{column}) FROM cells"
            )
    tally.run(
        "listing",
        "CREATE OR REPLACE TEMP TABLE documents AS SELECT query, document, "
        f"row_number() OVER (ORDER BY query, document) - 1 AS row FROM ({pairs})",
    )
    found = arrays(
        connection,
        "SELECT query::VARCHAR AS id, count(*) AS n FROM documents GROUP BY query ORDER BY query",
    )
    ids = arrays(connection, "SELECT document::VARCHAR AS id FROM documents ORDER BY row")["id"]
    offsets = np.concatenate([[0], np.cumsum(found["n"])]).astype(np.int64)
    return lists_of_log(offsets, _text(found["id"]), _text(ids), name=name)


def known_lists(tally: Tally, dataset: Dataset) -> None:
    """The documents of a data set, matched by query and document id as text."""
    queries = dataset.query_ids.astype(object)
    table = {
        "query": np.repeat(queries, dataset.lists.lengths),
        "document": dataset.document_ids.astype(object),
        "row": np.arange(dataset.n_documents),
    }
    tally.connection.register("given", table)
    tally.connection.execute(
        "CREATE OR REPLACE TEMP TABLE documents AS SELECT c.query, c.document, g.row FROM "
        f"(SELECT DISTINCT query, document FROM cells WHERE {tally.in_lists}) AS c "
        "JOIN given AS g ON c.query::VARCHAR = g.query AND c.document::VARCHAR = g.document"
    )
    tally.connection.unregister("given")


def _text(ids: NDArray[Any]) -> NDArray[np.str_]:
    texts = np.asarray(ids, dtype=object)
    if any("\0" in text for text in texts):
        raise DataError("an id contains the character NUL; ids must be text without it")
    return texts.astype(str)


@dataclass(frozen=True)
class Cells:
    """Impressions and clicks by document and rank, as they were counted; ``[cells]`` each."""

    rows: Integers
    """Of the document in the whole data set."""
    ranks: Integers
    """From 0."""
    valid: NDArray[np.bool_]
    shown: Integers
    clicks: Integers

    @classmethod
    def of(cls, tally: Tally) -> "Cells":
        """The cells whose documents are in ``documents``."""
        found = arrays(
            tally.connection,
            "SELECT d.row, c.rank - 1 AS rank, c.valid, c.shown, c.clicks FROM cells AS c "
            f"JOIN documents AS d USING (query, document) WHERE {tally.in_lists}",
        )
        counts = {name: np.asarray(values) for name, values in found.items()}
        rows, ranks, shown, clicks = (
            counts[name].astype(np.int64) for name in ("row", "rank", "shown", "clicks")
        )
        return cls(rows, ranks, counts["valid"].astype(np.bool_), shown, clicks)

    def table(self, counts: Integers, n_documents: int, top_k: int) -> Integers:
        """Counts of cells as ``[docs, K]``."""
        flat = np.zeros(n_documents * top_k, np.int64)
        np.add.at(flat, self.rows * top_k + self.ranks, counts)
        return flat.reshape(n_documents, top_k)


def statistics_of(tally: Tally, dataset: Dataset, *, shared: bool) -> dict[str, ClickStatistics]:
    """Statistics by split.

    Args:
        tally: counted, with ``documents``.
        dataset: whose lists.
        shared: whether training and validation share the lists, and interactions are split; else
            they are those of the data set's own splits.
    """
    cells = Cells.of(tally)
    impressions, clicks = _by_split(tally, cells, dataset, shared=shared)
    result = {}
    for split in ("train", "valid"):
        part, rows = dataset.part(split), dataset.documents_of(split)
        first, last = dataset.splits[split]
        shown = impressions[split][rows]
        if tally.has_sessions:
            displays = _displays(tally, dataset, split if shared else None)[first:last]
        else:
            displays = _fewest_displays(shown, part.offsets)
        result[split] = ClickStatistics(shown, clicks[split][rows], displays, part.offsets)
    return result


def _by_split(
    tally: Tally, cells: Cells, dataset: Dataset, *, shared: bool
) -> tuple[dict[str, Integers], dict[str, Integers]]:
    """Impressions and clicks of all documents, by split."""
    shape = dataset.n_documents, tally.top_k
    if not shared:
        shown, clicks = (cells.table(n, *shape) for n in (cells.shown, cells.clicks))
        return dict.fromkeys(("train", "valid"), shown), dict.fromkeys(("train", "valid"), clicks)
    if tally.has_sessions or tally.split.by != "interaction":
        held = np.where(cells.valid, cells.shown, 0), np.where(cells.valid, cells.clicks, 0)
    else:
        held = _hold_impressions(cells, tally.split)
    kept = cells.shown - held[0], cells.clicks - held[1]
    return (
        {"train": cells.table(kept[0], *shape), "valid": cells.table(held[0], *shape)},
        {"train": cells.table(kept[1], *shape), "valid": cells.table(held[1], *shape)},
    )


def _hold_impressions(cells: Cells, split: Split) -> tuple[Integers, Integers]:
    """Single impressions for validation, and their clicks: of equal ones only the number counts."""
    rng = np.random.default_rng(split.seed)
    order = np.lexsort((cells.ranks, cells.rows))  # whatever order they came in
    clicks, others = np.zeros((2, len(order)), np.int64)
    clicks[order] = rng.binomial(cells.clicks[order], split.share)
    others[order] = rng.binomial((cells.shown - cells.clicks)[order], split.share)
    return clicks + others, clicks


def _displays(tally: Tally, dataset: Dataset, split: str | None) -> Integers:
    """Interactions of every query, ``[queries]``; of one split where interactions are split."""
    chosen = {"train": "WHERE NOT valid", "valid": "WHERE valid", None: ""}[split]
    found = arrays(
        tally.connection,
        f"SELECT first.row, sum(displays) AS displays FROM ({tally.displays()}) JOIN "
        "(SELECT query, min(row) AS row FROM documents GROUP BY query) AS first USING (query) "
        f"{chosen} GROUP BY first.row",
    )
    displays = np.zeros(dataset.n_queries, np.int64)
    rows = np.asarray(found["row"], np.int64)
    queries = np.searchsorted(dataset.offsets, rows, side="right") - 1
    np.add.at(displays, queries, np.asarray(found["displays"], np.int64))
    return displays


def _fewest_displays(impressions: Integers, offsets: Integers) -> Integers:
    """The fewest lists that can have shown single impressions, ``[queries]``.

    A rank shows one document at a time, and a list shows a document once.
    """
    by_rank = np.add.reduceat(impressions, offsets[:-1]).max(-1)
    by_document = np.maximum.reduceat(impressions.sum(-1), offsets[:-1])
    fewest: Integers = np.maximum(by_rank, by_document)
    return fewest


def propensities_of(tally: Tally, dataset: Dataset) -> Floats | None:
    r"""Probability to show a document at a rank, ``[docs, K]``, from logged propensities.

    The harmonic mean over the impressions there: where propensities p depend on a context x,
    :math:`E[1/p(x) \mid \text{shown}] = 1/P`. 0 where nothing was logged.
    """
    if "propensity" not in tally.columns:
        return None
    found = arrays(
        tally.connection,
        "SELECT d.row, c.rank - 1 AS rank, sum(known) / sum(inverse) AS chance FROM cells AS c "
        f"JOIN documents AS d USING (query, document) WHERE {tally.in_lists} AND inverse > 0 "
        "GROUP BY ALL",
    )
    result = np.zeros((dataset.n_documents, tally.top_k))
    result[np.asarray(found["row"]), np.asarray(found["rank"])] = np.asarray(found["chance"])
    return result


def scores_of(tally: Tally, dataset: Dataset) -> Floats | None:
    """Logged scores, ``[docs]``, if there is one and the same of every document."""
    if "score" not in tally.columns:
        return None
    found = arrays(
        tally.connection,
        "SELECT d.row, min(low) AS low, max(high) AS high FROM cells AS c "
        f"JOIN documents AS d USING (query, document) WHERE {tally.in_lists} GROUP BY ALL",
    )
    scores = np.full(dataset.n_documents, np.nan)
    low, high = (_filled(found[name]) for name in ("low", "high"))
    scores[np.asarray(found["row"])] = (low + high) / 2
    varying = int((high - low > 1e-6 * np.maximum(1.0, np.abs(low))).sum())
    missing = int(np.isnan(scores).sum())
    tally.problems.found("varying-scores", varying)
    tally.problems.found("missing-scores", missing)
    return None if varying or missing else scores


def _filled(values: NDArray[Any]) -> Floats:
    """NaN where there is no value."""
    floats: Floats = np.ma.filled(np.ma.asarray(values, np.float64), np.nan)
    return floats
