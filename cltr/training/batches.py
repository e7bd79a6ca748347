"""Some queries of a split at a time: lists of like length together, padded for the ranker."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cltr.types import Booleans, Exposure, Floats, Integers, Rewards


def draw_batches(split: Rewards, size: int, rng: np.random.Generator) -> Iterator[Integers]:
    """Queries with clicks, shuffled, lists of like length together so that little is padded."""
    lengths = split.dataset.lists.lengths
    active = np.flatnonzero((split.query_weights > 0) & (lengths > 0))
    shuffled = rng.permutation(active)
    buckets = np.ceil(np.log2(lengths[shuffled]) * 2)
    ordered = shuffled[np.argsort(buckets, kind="stable")]
    batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    for i in rng.permutation(len(batches)):
        yield batches[i]


@dataclass(frozen=True)
class Batch:
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
    def of(cls, split: Rewards, queries: Integers) -> "Batch":
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

    def pad(self, values: Floats, *, fill: float) -> Floats:
        return _pad(values, self.mask, fill=fill)


def _pad(values: Floats, mask: Booleans, *, fill: float) -> Floats:
    out = np.full(mask.shape, fill)
    out[mask] = values
    return out
