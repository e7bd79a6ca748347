"""Some queries of a split at a time: lists of like length together, padded for the ranker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cltr.documents import Batch, Documents
from cltr.types import Booleans, Dataset, Exposure, Floats, Integers, Rewards


def draw_batches(split: Rewards, size: int, rng: np.random.Generator) -> Iterator[Integers]:
    """Queries with clicks, shuffled, lists of like length together so that little is padded."""
    batches = _alike(rng.permutation(_active(split)), split, size)
    for i in rng.permutation(len(batches)):
        yield batches[i]


def all_batches(split: Rewards, size: int) -> list[Integers]:
    """All queries with clicks in the same order each time, lists of like length together."""
    return _alike(_active(split), split, size)


def _active(split: Rewards) -> Integers:
    return np.flatnonzero((split.query_weights > 0) & (split.dataset.lists.lengths > 0))


def _alike(queries: Integers, split: Rewards, size: int) -> list[Integers]:
    """Batches of queries whose lists have about the same length."""
    buckets = np.ceil(np.log2(split.dataset.lists.lengths[queries]) * 2)
    ordered = queries[np.argsort(buckets, kind="stable")]
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


@dataclass(frozen=True)
class TrainingBatch:
    """Some queries of a split, padded to the longest of them."""

    queries: Integers
    rows: Integers
    """Flat rows of the real documents, ``[docs]``."""
    mask: Booleans
    """``[queries, longest]``"""
    rewards: Floats
    exposure: Exposure
    shares: Floats

    @classmethod
    def of(cls, split: Rewards, queries: Integers) -> "TrainingBatch":
        lists = split.dataset.lists
        lengths = lists.lengths[queries]
        places = np.arange(lengths.max())
        mask = places < lengths[:, None]
        rows = (lists.starts[queries][:, None] + places)[mask]
        exposure = split.exposure

        def padded(values: Floats) -> Floats:
            return _pad(values[rows], mask, fill=0.0)

        return cls(
            queries=queries,
            rows=rows,
            mask=mask,
            rewards=padded(split.values),
            exposure=Exposure(
                padded(exposure.weights),
                padded(exposure.propensities),
                padded(exposure.attention),
                exposure.source,
            ),
            shares=split.query_weights[queries],
        )

    def scored(self, scores: Floats, rank_weights: Floats) -> Batch:
        """What a ranker works on, from the scores of the real documents, ``[docs]``."""
        return Batch(_pad(scores, self.mask, fill=-np.inf), self.mask, rank_weights)


def documents_of(dataset: Dataset, batches: Sequence[TrainingBatch]) -> Documents:
    """The documents of all batches, list by list."""
    none = np.empty(0, np.int64)  # a process may own no query of a step
    rows = np.concatenate([none, *(batch.rows for batch in batches)])
    lengths = np.concatenate([none, *(batch.mask.sum(-1) for batch in batches)])
    return Documents.choose(dataset, rows, lengths)


def _pad(values: Floats, mask: Booleans, *, fill: float) -> Floats:
    out = np.full(mask.shape, fill)
    out[mask] = values
    return out
