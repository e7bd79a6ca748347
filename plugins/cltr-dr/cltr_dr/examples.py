"""The displayed documents that the regression is fitted to: their inputs and their targets."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cltr.training.cache_blocks import cache_blocks
from cltr.training.threads import one_ahead
from cltr.types import Affine, ClickData, ClickStatistics, Floats, Integers
from cltr_dr.loss import BatchTargets
from cltr_dr.targets import LossName, make_targets

if TYPE_CHECKING:
    import torch

ROWS_AT_ONCE = 65_536
"""Documents that are read together: bounds memory."""
COLUMNS_AT_ONCE = 32
"""Features whose deviations are computed together, in 64 bits: bounds memory."""
GATHERED_BYTES = 2**28
"""Features of so much are kept in memory, standardised; more are read again for each batch."""
ROWS_AHEAD = 16_384
"""Documents that are gathered together for the next batches."""
WIDEST = 5.0
"""Features are standardised and cut here, so that an outlier does not decide a prediction."""
Matrix = NDArray[np.float32]


class Moments(NamedTuple):
    """Mean and deviation of each feature, ``[features]``."""

    mean: Matrix
    scale: Matrix


class Counts(NamedTuple):
    """Impressions and clicks of the documents that were displayed, ``[rows, K]``.

    In 16 bits where all impressions fit: clicks, and parts of either, are never more.
    """

    rows: Integers
    """Of the data set, rising."""
    impressions: Integers
    clicks: Integers

    @classmethod
    def displayed(cls, statistics: ClickStatistics) -> "Counts":
        rows = np.flatnonzero(statistics.impressions.any(-1))
        impressions, most = statistics.impressions[rows], np.iinfo(np.int16).max
        kind = np.int16 if impressions.max(initial=0) <= most else impressions.dtype
        return cls(rows, impressions.astype(kind), statistics.clicks[rows].astype(kind))

    def split(self, share: float, rng: np.random.Generator) -> "tuple[Counts, Counts]":
        """Split displays at random; ``share`` is the probability of the second part."""
        kind = self.impressions.dtype
        clicks = rng.binomial(self.clicks, share).astype(kind)
        skips = rng.binomial(self.impressions - self.clicks, share).astype(kind)
        impressions = clicks + skips
        rest = Counts(self.rows, self.impressions - impressions, self.clicks - clicks)
        return rest, Counts(self.rows, impressions, clicks)

    def typical_relevance(self, affine: Affine, n_documents: int) -> float:
        """Relevance of a typical display: where the fit starts."""

        def total(each: Callable[[Integers, Integers], Floats]) -> float:
            # Of all documents, since the last digit of a sum depends on its zeros.
            whole = np.zeros((n_documents, self.clicks.shape[1]))
            for part in _parts(len(self.rows)):
                whole[self.rows[part]] = each(self.impressions[part], self.clicks[part])
            return float(whole.sum())

        relevant = total(lambda shown, clicks: clicks - shown * affine.trust) + 0.5
        examined = total(lambda shown, _: shown * affine.examination) + 1.0
        return float(np.clip(relevant / examined, 0.01, 0.99))


def with_a_column(features: Matrix) -> Matrix:
    """Return the features, or one column of zeros if there are none."""
    return features if features.shape[1] else np.zeros((len(features), 1), np.float32)


def standardise(features: Matrix, moments: Moments) -> Matrix:
    """Standardise to mean 0 and deviation 1, and clip at ``WIDEST``."""
    values: Matrix = features - moments.mean
    values /= moments.scale
    return values.clip(-WIDEST, WIDEST, out=values)


class Inputs:
    """Standardised features of displayed documents; kept in memory if they are not too many."""

    def __init__(self, features: Matrix, displayed: Integers, kept: Integers) -> None:
        """``displayed`` rows, in order; those that are ``kept`` say what is standard."""
        self._displayed = displayed
        self._gathered = displayed.size * features.shape[1] * features.itemsize <= GATHERED_BYTES
        self._features = features[displayed] if self._gathered else features
        self.moments = _moments(self._features, self.places(kept))
        if self._gathered:
            for rows in _parts(len(displayed)):
                self._features[rows] = standardise(self._features[rows], self.moments)

    @property
    def n_features(self) -> int:
        return int(self._features.shape[1])

    def places(self, rows: Integers) -> Integers:
        """Return the places of displayed rows among the inputs."""
        return np.searchsorted(self._displayed, rows) if self._gathered else rows

    def __getitem__(self, places: Integers) -> Matrix:
        found = np.take(self._features, places, axis=0)
        return found if self._gathered else standardise(found, self.moments)


@dataclass(frozen=True)
class Examples:
    """Displayed documents and their targets."""

    rows: Integers
    """Of the data set."""
    targets: tuple[Matrix, ...]
    """Those of ``cltr_dr.targets``, in float32, scaled to a sum of 1."""

    @classmethod
    def of(cls, data: ClickData, affine: Affine, loss: LossName, counts: Counts) -> "Examples":
        shown = counts.impressions.any(-1)
        rows = counts.rows[shown]
        n_interactions = max(data.statistics.n_interactions, 1)
        clip = min(1.0, 10 / np.sqrt(n_interactions))  # the top-5 default of DR'22
        targets = make_targets(
            loss,
            impressions=counts.impressions[shown],
            clicks=counts.clicks[shown],
            affine=affine,
            inverse_propensities=1 / np.maximum(data.exposure.propensities[rows], clip),
        )
        scale = float(max(np.abs(targets.hits).sum() + np.abs(targets.misses).sum(), 1.0))
        scaled = tuple(_divided(part, scale) for part in targets[:2])
        return cls(rows, scaled + tuple(part.astype(np.float32) for part in targets[2:]))

    def batches(
        self, inputs: Inputs, size: int, order: Integers, *, ahead: bool
    ) -> "Iterator[tuple[torch.Tensor, BatchTargets]]":
        """Yield inputs and targets in batches, in this order.

        Args:
            inputs: of all examples.
            size: of a batch.
            order: of the examples.
            ahead: whether another thread gathers the next ones while these are used.
        """
        from torch import from_numpy, split

        hits, misses, *columns = self.targets
        slope, offset = map(from_numpy, columns)
        places = inputs.places(self.rows)

        def gather(chosen: Integers) -> "tuple[torch.Tensor, ...]":
            targets = (np.take(one, chosen, axis=0) for one in (hits, misses))
            return tuple(from_numpy(part) for part in (inputs[places[chosen]], *targets))

        together = size * max(1, ROWS_AHEAD // size) if ahead else size
        chosen = (order[start : start + together] for start in range(0, len(order), together))
        for several in one_ahead(gather, chosen, aside=ahead):
            for x, hit, missed in zip(*(split(part, size) for part in several), strict=True):
                yield x, BatchTargets(hit, missed, slope, offset)

    def parts(self, inputs: Inputs) -> "Iterator[tuple[Iterator[torch.Tensor], BatchTargets]]":
        """Yield all in order, many at a time: inputs in blocks that stay in the cache, targets."""
        from torch import from_numpy

        hits, misses, slope, offset = map(from_numpy, self.targets)
        places = inputs.places(self.rows)
        for rows in _parts(len(places)):
            here = places[rows]
            blocks = (from_numpy(inputs[here[block]]) for block in cache_blocks(len(here)))
            yield blocks, BatchTargets(hits[rows], misses[rows], slope, offset)


def _divided(values: NDArray[Any], scale: float) -> Matrix:
    """Divided in 64 bits and rounded to 32, without all of it in 64 at a time."""
    out: Matrix = np.empty(values.shape, np.float32)
    np.divide(values, scale, out=out, dtype=np.float64, casting="same_kind")
    return out


def _parts(n: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_AT_ONCE) for start in range(0, n, ROWS_AT_ONCE))


def _moments(features: Matrix, rows: Integers) -> Moments:
    """Mean and deviation over some rows, a part at a time."""
    n = max(len(rows), 1)
    total, squares = (np.zeros(features.shape[1]) for _ in range(2))
    for part in _parts(len(rows)):
        total += features[rows[part]].sum(0, dtype=np.float64)
    mean = total / n
    for part in _parts(len(rows)):
        taken = features[rows[part]]
        for some in np.array_split(np.arange(len(mean)), -(-len(mean) // COLUMNS_AT_ONCE)):
            centred = taken[:, some] - mean[some]
            squares[some] += np.square(centred, out=centred).sum(0)
    scale = np.sqrt(squares / n)
    constant = scale <= 1e-6 * np.abs(mean)
    return Moments(mean.astype(np.float32), np.where(constant, 1.0, scale).astype(np.float32))
