"""The queries that change most: both rankings side by side, document by document."""

from typing import Any

import numpy as np

from cltr.evaluation.changes import ServedChange
from cltr.types import Floats, Integers

QUERIES = 6
"""Queries that are kept for each question."""
LONGEST = 10
"""Ranks of a ranking that are kept."""


def by_traffic(change: ServedChange) -> list[dict[str, Any]]:
    """Queries where the most requests see other documents: traffic times exposure that moves."""
    return _queries(change, change.traffic * change.moved)


def by_risk(change: ServedChange) -> list[dict[str, Any]]:
    """Queries whose NDCG can fall furthest; only queries that came."""
    return _queries(change, np.where(change.traffic > 0, change.losses, 0.0))


def _queries(change: ServedChange, size: Floats) -> list[dict[str, Any]]:
    """The queries with the largest size, which is above 0; ties as listed."""
    largest = np.argsort(-size, kind="stable")[:QUERIES]
    return [_query(change, int(query)) for query in largest if size[query] > 0]


def _query(change: ServedChange, query: int) -> dict[str, Any]:
    dataset, statistics = change.served.dataset, change.statistics
    found = {
        "query": _name(dataset.query_ids[query]),
        "interactions": None if statistics is None else int(statistics.displays[query]),
        "traffic": float(change.traffic[query]),
        "exposure_moved": float(change.moved[query]),
        "worst_case_loss": float(change.losses[query]),
        "gain": None if change.gains is None else float(change.gains[query]),
        "documents_of_query": int(change.lists.lengths[query]),
    }
    return found | {"documents": _documents(change, query)}


def _documents(change: ServedChange, query: int) -> list[dict[str, Any]]:
    """Those at the top of either ranking, in the order of the new one."""
    start = int(change.lists.starts[query])
    rows = slice(start, start + int(change.lists.lengths[query]))
    before, after = change.before[rows], change.after[rows]
    old, new = _ranks(before), _ranks(after)
    most = min(len(change.rank_weights), LONGEST)
    shown = np.flatnonzero(((old <= most) & (before > 0)) | ((new <= most) & (after > 0)))
    total = max(float(before.sum()), 1e-300)
    ids = change.served.dataset.document_ids[rows]
    return [
        {
            "document": _name(ids[at]),
            "before": int(old[at]) if before[at] > 0 else None,
            "after": int(new[at]) if after[at] > 0 else None,
            "exposure_before": float(before[at] / total),
            "exposure_after": float(after[at] / total),
            **_clicks(change, start + int(at)),
        }
        for at in shown[np.argsort(new[shown], kind="stable")]
    ]


def _clicks(change: ServedChange, row: int) -> dict[str, Any]:
    statistics, values = change.statistics, change.values
    return {
        "impressions": None if statistics is None else int(statistics.impressions[row].sum()),
        "clicks": None if statistics is None else int(statistics.clicks[row].sum()),
        "relevance": None if values is None else float(values[row]),
    }


def _ranks(weights: Floats) -> Integers:
    """Ranks by falling expected weight, from 1; ties as listed."""
    ranks = np.empty(len(weights), np.int64)
    ranks[np.argsort(-weights, kind="stable")] = np.arange(1, len(weights) + 1)
    return ranks


def _name(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
