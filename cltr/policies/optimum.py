r"""The best policy of a logged query under a separable concave gain, without gradients.

Expected weights that some distribution over rankings can have are those majorised by the rank
weights. Over this set the maximum of :math:`\sum_d \text{gain}(\omega_d)` is computed exactly
(:mod:`cltr.kernels.optimum`). It is an upper bound on what any ranker can reach, and a policy of
its own: a mixture of at most as many rankings as the query has documents.
"""

from dataclasses import dataclass

import numpy as np

from cltr.errors import DataError
from cltr.types import Floats, Integers, Lists


@dataclass(frozen=True)
class PiecewiseGain:
    r"""A concave, piecewise linear gain of every document's expected weight.

    Attributes:
        kinks: weights at which the slope changes, rising, ``[docs, J]``.
        slopes: before, between and behind the kinks, falling, ``[docs, J + 1]``; infinite before a
            kink that no weight may fall below.
        production: :math:`\omega_0`, ``[docs]``: ties are resolved towards it.
    """

    kinks: Floats
    slopes: Floats
    production: Floats

    def __post_init__(self) -> None:
        """Refuse what is not concave: the optimum would be wrong."""
        if (np.diff(self.kinks, axis=-1) < 0).any():
            raise DataError("the kinks of a piecewise linear gain must rise")
        if (self.slopes[:, 1:] > self.slopes[:, :-1]).any():
            raise DataError("the gain is not concave: one of its slopes rises")

    def value(self, weights: Floats) -> Floats:
        """The gain of each document, ``[docs]``, without pieces of infinite slope."""
        ends = np.column_stack([self.kinks, np.full(len(weights), np.inf)])
        starts = np.column_stack([np.zeros(len(weights)), self.kinks])
        filled = np.clip(weights[:, None], starts, ends) - starts
        finite = np.where(np.isfinite(self.slopes), self.slopes, 0.0)
        value: Floats = (filled * finite).sum(-1)
        return value


def best_weights(gain: PiecewiseGain, lists: Lists, rank_weights: Floats) -> Floats:
    r"""Expected weights of the best policy of each query, ``[docs]``.

    Args:
        gain: of every document.
        lists: where each query's documents lie, end to end.
        rank_weights: w, ``[K]``; they must not rise.

    Example:
        >>> w, lists = np.array([1.0, 0.5]), Lists.of_offsets(np.array([0, 3]))
        >>> production = np.array([1.0, 0.5, 0.0])
        >>> rewards = np.array([[0.1], [0.3], [0.2]])
        >>> plain = PiecewiseGain(production[:, None], rewards.repeat(2, 1), production)
        >>> best_weights(plain, lists, w)
        array([0. , 1. , 0.5])
    """
    from cltr.kernels.optimum import optimal_weights

    kinks, slopes = _with_production(gain)
    weights = np.empty(len(gain.production))
    optimal_weights(*lists, kinks, slopes, gain.production, _falling(rank_weights), weights)
    return weights


def _with_production(gain: PiecewiseGain) -> tuple[Floats, Floats]:
    """Kinks and slopes with a kink at production, which ties need."""
    n_kinks = gain.kinks.shape[1]
    place = (gain.kinks < gain.production[:, None]).sum(-1)
    columns = np.arange(n_kinks + 1)
    before = columns < place[:, None]
    index = np.where(before, columns, columns - 1).clip(0)
    shifted = np.take_along_axis(gain.kinks, index, 1) if n_kinks else np.zeros((len(place), 1))
    kinks = np.where(columns == place[:, None], gain.production[:, None], shifted)
    pieces = np.arange(n_kinks + 2)
    source = np.where(pieces <= place[:, None], pieces, pieces - 1)
    return np.ascontiguousarray(kinks), np.take_along_axis(gain.slopes, source, 1)


def _falling(rank_weights: Floats) -> Floats:
    if (np.diff(rank_weights) > 0).any() or (rank_weights < 0).any():
        raise DataError("the optimum needs rank weights that are not negative and do not rise")
    return np.ascontiguousarray(rank_weights, np.float64)


@dataclass(frozen=True)
class RankingMixture:
    """Rankings of one query and the share of requests that gets each of them.

    Attributes:
        rankings: documents of the list by rank, ``[rankings, K]``.
        shares: of requests, ``[rankings]``; they add up to 1.
    """

    rankings: Integers
    shares: Floats

    def weights(self, rank_weights: Floats, n_documents: int) -> Floats:
        """Expected weights of the list's documents, ``[docs]``, for any rank weights."""
        top_k = min(self.rankings.shape[1], len(rank_weights))
        each = self.shares[:, None] * rank_weights[:top_k]
        found: Floats = np.zeros(n_documents)
        np.add.at(found, self.rankings[:, :top_k], each)
        return found


def rankings_of(weights: Floats, lists: Lists, rank_weights: Floats) -> list[RankingMixture]:
    """Rankings and shares of every query whose expected weights are the given ones.

    Args:
        weights: expected weights that are feasible, ``[docs]``.
        lists: where each query's documents lie, end to end.
        rank_weights: w, ``[K]``; they must not rise.

    Example:
        >>> w, lists = np.array([1.0, 0.5]), Lists.of_offsets(np.array([0, 2]))
        >>> (mixture,) = rankings_of(np.array([0.9, 0.6]), lists, w)
        >>> mixture.rankings.tolist(), mixture.shares.round(6).tolist()
        ([[0, 1], [1, 0]], [0.8, 0.2])
    """
    falling = _falling(rank_weights)
    return [
        _rankings(np.ascontiguousarray(weights[first : first + length]), falling)
        for first, length in zip(*(part.tolist() for part in lists), strict=True)
    ]


def _rankings(weights: Floats, rank_weights: Floats) -> RankingMixture:
    from cltr.kernels.ranking_mixtures import decompose

    top_k = min(len(rank_weights), len(weights))
    rankings = np.empty((len(weights), top_k), np.int64)
    shares = np.empty(len(weights))
    found = decompose(weights, rank_weights, rankings, shares)
    used = shares[:found] > 0
    return RankingMixture(rankings[:found][used], shares[:found][used] / shares[:found].sum())
