"""A shop's tables, made without cltr: Parquet, text ids, wild scales, skewed traffic, no labels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUERIES, SESSIONS, SHOWN = 300, 40_000, 5
SCALES = 10.0 ** np.arange(-4, 8)
"""Of the twelve features; three of them have long tails, one never varies."""


@dataclass(frozen=True)
class Shop:
    """Files of a shop, and the truth that they do not hold."""

    features: Path
    log: Path
    scores: Path
    """Production's, of all products."""
    relevance: dict[tuple[str, str], float]
    """By query and product."""


def open_shop(folder: Path, *, seed: int, variants: int = 0) -> Shop:
    """Write the tables of a shop.

    Args:
        folder: where to write.
        seed: of everything.
        variants: 0 for a production that samples from its scores; else it sorts them, and its
            weights change that many times during the log.
    """
    rng = np.random.default_rng([seed, 17])
    lengths = rng.integers(8, 25, QUERIES)
    owner = np.repeat(np.arange(QUERIES), lengths)
    n = len(owner)
    signals = rng.normal(size=(n, 12))
    want = rng.normal(size=12) * (np.arange(12) < 8)
    utility = signals @ want / np.linalg.norm(want) + 0.4 * rng.normal(size=n)
    relevance = 0.9 / (1 + np.exp(-2.0 * (utility - 1.0)))
    scores = _production(signals, want, rng)
    queries = np.array([f"search {q}/é {q % 7}" for q in range(QUERIES)])[owner]
    products = np.array([f"SKU-{p:06d}x" for p in rng.permutation(n)])
    _write_features(folder, queries, products, signals)
    traffic = 1.0 / np.arange(1, QUERIES + 1)
    asked = rng.choice(QUERIES, SESSIONS, p=traffic / traffic.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = []
    for session, query in enumerate(asked):
        members = np.arange(starts[query], starts[query + 1])
        shown = members[_ranked(scores[members], session, variants, rng)]
        clicked = rng.random(len(shown)) < relevance[shown] / np.arange(1, len(shown) + 1)
        rows.append((session, shown, clicked))
    _write_log(folder, rows, queries, products)
    table = pa.table({"query": queries, "document": products, "score": scores})
    pq.write_table(table, folder / "scores.parquet")
    truth = dict(zip(zip(queries.tolist(), products.tolist(), strict=True), relevance, strict=True))
    names = ("features.parquet", "log.parquet", "scores.parquet")
    return Shop(*(folder / name for name in names), truth)


def _production(signals: np.ndarray, want: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A mediocre ranker: it knows some of the signals, and some noise."""
    known = want * (np.arange(12) < 3)
    mistaken = rng.normal(size=12) * 0.2
    found: np.ndarray = signals @ (known / np.linalg.norm(known) + mistaken)
    return found


def _ranked(
    scores: np.ndarray, session: int, variants: int, rng: np.random.Generator
) -> np.ndarray:
    if variants:  # sorted, with the weights of the day
        day = session * (variants + 1) // SESSIONS
        noise = np.random.default_rng([len(scores), day]).normal(size=len(scores))
        return np.argsort(-(scores + 0.35 * noise * (day > 0)))[:SHOWN]
    return np.argsort(-(scores + rng.gumbel(size=len(scores))))[:SHOWN]


def _write_features(
    folder: Path, queries: np.ndarray, products: np.ndarray, signals: np.ndarray
) -> None:
    values = signals * SCALES
    values[:, 5:8] = np.exp(2.5 * signals[:, 5:8]) * SCALES[5:8]
    values[:, 11] = 42.0
    columns = {f"f{k}": values[:, k] for k in range(12)}
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"query": queries, "document": products, **columns})
    pq.write_table(table, folder / "features.parquet")


def _write_log(
    folder: Path,
    rows: list[tuple[int, np.ndarray, np.ndarray]],
    queries: np.ndarray,
    products: np.ndarray,
) -> None:
    shown = np.concatenate([documents for _, documents, _ in rows])
    lengths = [len(documents) for _, documents, _ in rows]
    sessions = np.repeat([f"s-{number:08x}" for number, _, _ in rows], lengths)
    positions = np.concatenate([np.arange(1, length + 1) for length in lengths])
    clicks = np.concatenate([clicked for _, _, clicked in rows])
    table = pa.table(
        {
            "session": sessions,
            "query": queries[shown],
            "document": products[shown],
            "position": positions,
            "click": clicks,
        }
    )
    pq.write_table(table, folder / "log.parquet")
