"""The counts of a log as arrays: its lists, its statistics, what is known of its policy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.files.table_files import arrays
from cltr.logs.counting import Places, RowCounts, SharedKeysError, count_rows
from cltr.logs.id_coding import Tally
from cltr.logs.log_lists import lists_of_log
from cltr.logs.problems import DROP
from cltr.logs.splitting import Split
from cltr.types import LOG_PARTS, LOGGED_SPLITS, ClickStatistics, Dataset, Floats, Integers


@dataclass(frozen=True)
class Assembled:
    """A counted log: whose documents, where they lie, how often they were shown."""

    lists: Dataset
    places: Places
    counted: RowCounts
    pairs: NDArray[np.uint64]
    """Hash of each document of the log, with ``rows``."""
    rows: Integers


def count_alone(tally: Tally, *, name: str, offered: bool = False) -> Assembled:
    """A log that stands alone: all that was shown for a query is its list.

    Args:
        tally: coded.
        name: of the lists.
        offered: also what ``production`` scores for queries that were logged, shown or not.
    """
    if offered:
        _offer(tally)
    lists, pairs = _named_lists(tally, name)
    rows = np.arange(len(pairs))
    places = Places.of(pairs, rows, lists)
    counted = _count(tally, places)
    if counted is None:  # coded anew, with other hashes
        return count_alone(tally, name=name, offered=offered)
    keep = counted.impressions.sum((0, 2)) > 0
    if offered:
        keep |= _scored(tally, lists)
    if len(keep) and keep.all():
        return Assembled(lists, places, counted, pairs, rows)
    return _without_unshown(tally, Assembled(lists, places, counted, pairs, rows), keep)


def count_on(tally: Tally, dataset: Dataset) -> Assembled:
    """A log on the documents of a data set, matched by query and document id as text."""
    found = _matches(tally, dataset, "names.{} = given.{}")
    pairs, rows = np.asarray(found["pair"], np.uint64), np.asarray(found["row"], np.int64)
    places = Places.of(pairs, rows, dataset)
    counted = _count(tally, places)
    return (
        count_on(tally, dataset)
        if counted is None
        else Assembled(dataset, places, counted, pairs, rows)
    )


def _matches(tally: Tally, dataset: Dataset, same: str) -> dict[str, Any]:
    """Documents of the log and of a data set whose ids agree.

    Args:
        tally: coded.
        dataset: whose documents.
        same: SQL of when two ids agree, of the log and of the data set.
    """
    given = {
        "query": np.repeat(dataset.query_ids.astype(object), dataset.lists.lengths),
        "document": dataset.document_ids.astype(object),
        "row": np.arange(dataset.n_documents),
    }
    tally.connection.register("given", given)
    logged = "SELECT query::VARCHAR AS query, document::VARCHAR AS document, pair FROM names"
    found = arrays(
        tally.connection,
        f"SELECT names.pair, given.row FROM ({logged}) AS names JOIN given "
        f"ON {same.format('query', 'query')} AND {same.format('document', 'document')}",
    )
    tally.connection.unregister("given")
    return found


def why_no_match(tally: Tally, dataset: Dataset) -> str:
    """What would make the ids of a log and of a data set agree, in words; empty if unknown."""
    changes = {
        "upper and lower case differ": "lower({0}.{{}})",
        "one has '.0' behind its numbers": "regexp_replace({0}.{{}}, '[.]0+$', '')",
        "one has zeros before its numbers": "ltrim({0}.{{}}, '0')",
        "one has spaces around": "trim({0}.{{}})",
    }
    for reason, change in changes.items():
        same = f"{change.format('names')} = {change.format('given')}"
        n = len(_matches(tally, dataset, same)["pair"])
        if n:
            return f"; {reason}: else {n:,} documents would match"
    return ""


def _count(tally: Tally, places: Places) -> RowCounts | None:
    try:
        return count_rows(tally, places)
    except SharedKeysError:
        tally.code_anew()
        return None


def _offer(tally: Tally) -> None:
    """Add what production scores to the names of logged queries; ids of scores are text."""
    hashed = tally.hash_of("query", "document")
    tally.connection.execute(
        "CREATE OR REPLACE TABLE names AS SELECT query::VARCHAR AS query, "
        "document::VARCHAR AS document, pair FROM names; "
        "CREATE OR REPLACE TABLE seen AS SELECT DISTINCT query::VARCHAR AS query FROM names; "
        f"INSERT INTO names SELECT query, document, {hashed} AS pair FROM (SELECT query, document "
        "FROM production WHERE query IN (SELECT query FROM seen) EXCEPT "
        "SELECT query::VARCHAR, document::VARCHAR FROM names)"
    )


def _named_lists(tally: Tally, name: str) -> tuple[Dataset, NDArray[np.uint64]]:
    """Lists of all names, in order of query and document, and their hashes."""
    queries = arrays(
        tally.connection,
        "SELECT query::VARCHAR AS id, count(*) AS n FROM names GROUP BY query ORDER BY query",
    )
    documents = arrays(
        tally.connection,
        "SELECT document::VARCHAR AS id, pair FROM names ORDER BY query, document",
    )
    offsets = np.concatenate([[0], np.cumsum(queries["n"])]).astype(np.int64)
    ids = _text(queries["id"]), _text(documents["id"])
    lists = lists_of_log(offsets, *ids, name=name, tested=tally.may_test)
    return lists, np.asarray(documents["pair"], np.uint64)


def _scored(tally: Tally, lists: Dataset) -> NDArray[np.bool_]:
    """Documents of lists that production scores."""
    found = arrays(
        tally.connection,
        "SELECT count(p.query) > 0 AS scored FROM names LEFT JOIN production AS p ON "
        "names.query::VARCHAR = p.query AND names.document::VARCHAR = p.document "
        "GROUP BY names.query, names.document ORDER BY names.query, names.document",
    )
    scored = np.asarray(found["scored"], np.bool_)
    assert len(scored) == lists.n_documents
    return scored


def _without_unshown(tally: Tally, found: Assembled, keep: NDArray[np.bool_]) -> Assembled:
    """The same without documents of which no impression was left."""
    lists, counted = found.lists, found.counted
    lengths = np.bincount(lists.lists.owners[keep], minlength=lists.n_queries)
    queries = lengths > 0
    offsets = np.concatenate([[0], np.cumsum(lengths[queries])]).astype(np.int64)
    if len(offsets) == 1:
        raise DataError(
            f"{tally.problems.where}: no row of the log can be used; check the "
            "columns, and what --on drops"
        )
    smaller = lists_of_log(
        offsets,
        lists.query_ids[queries],
        lists.document_ids[keep],
        name=lists.name,
        tested=tally.may_test,
    )
    counted.impressions = counted.impressions[:, keep]
    counted.clicks = counted.clicks[:, keep]
    counted.displays = counted.displays[:, queries]
    pairs, rows = found.pairs[keep], np.arange(int(keep.sum()))
    return Assembled(smaller, Places.of(pairs, rows, smaller), counted, pairs, rows)


def _text(ids: NDArray[Any]) -> NDArray[np.str_]:
    texts = np.asarray(ids, dtype=object)
    if any("\0" in text for text in texts):
        raise DataError("an id contains the character NUL; ids must be text without it")
    return texts.astype(str)


def statistics_of(tally: Tally, found: Assembled) -> dict[str, ClickStatistics]:
    """Statistics by part of the log; no test part if nothing was for testing, or it was dropped."""
    lists, counted, shared = found.lists, found.counted, found.places.shared
    impressions, clicks = counted.impressions, counted.clicks
    if shared and not tally.has_sessions and tally.split.by == "interaction":
        impressions, clicks = _split_impressions(impressions, clicks, tally.split)
    dropped = not shared and tally.problems.action("test-queries") == DROP
    result = {}
    for number, split in enumerate(LOGGED_SPLITS if dropped else LOG_PARTS):
        first, last = lists.splits.get(split, (0, 0))
        if split == "test" and first == last:
            continue
        part, rows = lists.part(split), lists.documents_of(split)
        plane = number if shared else 0
        shown = impressions[plane, rows]
        displays = counted.displays[plane, first:last]
        if not tally.has_sessions:
            displays = _fewest_displays(shown, part.offsets)
        if split in LOGGED_SPLITS or displays.any():
            result[split] = ClickStatistics(shown, clicks[plane, rows], displays, part.offsets)
    return result


def _split_impressions(
    impressions: Integers, clicks: Integers, split: Split
) -> tuple[Integers, Integers]:
    """Single impressions, split one by one, ``[3, docs, K]``; equal ones differ by nothing.

    Args:
        impressions: of files for training and, as the last, of files for testing.
        clicks: the same.
        split: shares, and the seed.
    """
    rng = np.random.default_rng(split.seed)
    others = impressions[0] - clicks[0]
    valid = _hold(clicks[0], others, split.share, rng)
    left = clicks[0] - valid[0], others - valid[1]
    test = _hold(*left, split.tested / (1 - split.share), rng)
    clicked = np.stack([left[0] - test[0], valid[0], clicks[2] + test[0]])
    passed = np.stack([left[1] - test[1], valid[1], impressions[2] - clicks[2] + test[1]])
    return clicked + passed, clicked


def _hold(
    clicks: Integers, others: Integers, share: float, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """How many clicks, and how many impressions without one, are held out."""
    return rng.binomial(clicks, share), rng.binomial(others, share)


def _fewest_displays(impressions: Integers, offsets: Integers) -> Integers:
    """The fewest lists that can have shown single impressions, ``[queries]``.

    A rank shows one document at a time, and a list shows a document once.
    """
    by_rank = np.add.reduceat(impressions, offsets[:-1]).max(-1)
    by_document = np.maximum.reduceat(impressions.sum(-1), offsets[:-1])
    fewest: Integers = np.maximum(by_rank, by_document)
    return fewest


def scores_of(tally: Tally, found: Assembled) -> Floats | None:
    """Logged scores, ``[docs]``, if there is one and the same of every document."""
    if "score" not in tally.columns:
        return None
    pairs = arrays(
        tally.connection,
        f"SELECT pair, min(score) AS low, max(score) AS high FROM {tally.table} "
        f"WHERE {tally.usable} AND isfinite(score) GROUP BY pair",
    )
    rows = found.places.find(np.asarray(pairs["pair"], np.uint64))
    low, high = (np.asarray(pairs[name], np.float64)[rows >= 0] for name in ("low", "high"))
    scores = np.full(found.lists.n_documents, np.nan)
    scores[rows[rows >= 0]] = (low + high) / 2
    varying = int((high - low > 1e-6 * np.maximum(1.0, np.abs(low))).sum())
    missing = int(np.isnan(scores).sum())
    tally.problems.found("varying-scores", varying)
    tally.problems.found("missing-scores", missing)
    return None if varying or missing else scores
