"""Draw a log: logging policy times click model.

Where clicks are independent and affine in relevance, counts are drawn instead of interactions:
exact in distribution, memory independent of N. Other click models need the interactions.
"""

from collections.abc import Iterator

import numpy as np

from cltr.interfaces import ClickModel
from cltr.policies import list_seeds, places_by_score
from cltr.policies.usable_scores import usable
from cltr.types import ClickLog, ClickStatistics, Dataset, Floats, Integers

INTERACTIONS_DRAWN_AT_ONCE = 262_144
"""Interactions in memory at a time."""


def draw_displays(n_queries: int, n: int, rng: np.random.Generator) -> Integers:
    """How often each query comes in n interactions: all are equally likely, ``[queries]``."""
    return rng.multinomial(n, np.full(n_queries, 1 / n_queries)).astype(np.int64)


def simulate_statistics(
    dataset: Dataset,
    scores: Floats,
    users: ClickModel,
    *,
    n: int,
    top_k: int,
    rng: np.random.Generator,
) -> ClickStatistics:
    """Statistics of n interactions under the Plackett-Luce policy with these scores."""
    affine = users.affine(top_k)
    if affine is None or not users.independent:
        chunks = simulate_sessions(dataset, scores, users, n=n, top_k=top_k, rng=rng)
        total = _nothing(dataset, top_k)
        for chunk in chunks:
            total = total + ClickStatistics.count(chunk, dataset.offsets)
        return total

    from cltr.kernels import sampling

    displays = draw_displays(dataset.n_queries, n, rng)
    impressions = np.zeros((dataset.n_documents, top_k), np.int64)
    seeds = list_seeds(dataset.n_queries, rng)
    scores = usable(scores, drawn=True)
    orders = places_by_score(scores, dataset.lists)
    sampling.rank_counts(scores, orders, *dataset.lists, displays, top_k, seeds, impressions)
    probabilities = dataset.relevance[:, None] * affine.examination + affine.trust
    clicks = rng.binomial(impressions, probabilities.clip(0.0, 1.0, out=probabilities))
    return ClickStatistics(impressions, clicks, displays, dataset.offsets)


def simulate_sessions(
    dataset: Dataset,
    scores: Floats,
    users: ClickModel,
    *,
    n: int,
    top_k: int,
    rng: np.random.Generator,
    chunk: int = INTERACTIONS_DRAWN_AT_ONCE,
) -> Iterator[ClickLog]:
    """The interactions themselves, chunk by chunk."""
    while n > 0:
        size = min(chunk, n)
        n -= size
        yield _session_chunk(dataset, scores, users, size, top_k, rng)


def _session_chunk(
    dataset: Dataset,
    scores: Floats,
    users: ClickModel,
    n: int,
    top_k: int,
    rng: np.random.Generator,
) -> ClickLog:
    from cltr.kernels import sampling

    displays = draw_displays(dataset.n_queries, n, rng)
    documents = np.full((n, top_k), -1, np.int64)
    rows = np.cumsum(displays) - displays
    seeds = list_seeds(dataset.n_queries, rng)
    scores = usable(scores, drawn=True)
    orders = places_by_score(scores, dataset.lists)
    sampling.ragged_rankings(
        scores, orders, *dataset.lists, displays, rows, top_k, seeds, documents
    )
    queries = np.repeat(np.arange(dataset.n_queries), displays)
    # Lists are drawn query by query; interactions of a log come in no such order.
    order = rng.permutation(n)
    queries, documents = queries[order], documents[order]
    relevance = np.where(documents >= 0, dataset.relevance[documents], np.nan)
    context = users.draw_context(n, rng)
    clicks = users.sample(relevance, context, rng) & (documents >= 0)
    return ClickLog(queries, documents, clicks, context)


def _nothing(dataset: Dataset, top_k: int) -> ClickStatistics:
    zeros = np.zeros((dataset.n_documents, top_k), np.int64)
    return ClickStatistics(zeros, zeros, np.zeros(dataset.n_queries, np.int64), dataset.offsets)
