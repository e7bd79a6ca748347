r"""The best policy of a logged query under a separable concave gain, without gradients.

Expected weights that some distribution over rankings can have are those majorised by the rank
weights. Over this set the maximum of :math:`\sum_d \text{gain}(\omega_d)` is computed exactly
(:mod:`cltr.kernels.optimum`). It is an upper bound on what any ranker can reach, and a policy of
its own: a mixture of at most as many rankings as the query has documents
(:mod:`cltr.policies.query_rankings`).
"""

from dataclasses import dataclass

import numpy as np

from cltr.errors import DataError, UnsupportedError
from cltr.interfaces import Estimator
from cltr.types import Floats, Lists


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

    @classmethod
    def of(cls, estimator: Estimator, production: Floats, rewards: Floats) -> "PiecewiseGain":
        r"""The gain of an estimator whose kinks are known.

        Args:
            estimator: whose gain.
            production: :math:`\omega_0`, ``[docs]``.
            rewards: :math:`\mu`, ``[docs]``.
        """
        kinks = estimator.kinks(production, rewards)
        if kinks is None:
            raise UnsupportedError(
                f"estimator '{estimator.name}' does not say where the slope of its gain changes "
                "(kinks), so its exact optimum cannot be computed"
            )
        ends = np.column_stack(
            [kinks, 2 * kinks[:, -1:] + 1 if kinks.shape[1] else 1 + 0 * rewards]
        )
        starts = np.column_stack([np.zeros(len(kinks)), kinks])
        middles = (starts + ends) / 2
        slopes = [estimator.slope(middle, production, rewards) for middle in middles.T]
        return cls(kinks, np.stack(slopes, axis=1), production)

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
    optimal_weights(*lists, kinks, slopes, gain.production, falling(rank_weights), weights)
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


def falling(rank_weights: Floats) -> Floats:
    """Rank weights as the kernels need them; an error if they rise."""
    if (np.diff(rank_weights) > 0).any() or (rank_weights < 0).any():
        raise DataError(
            "the rank weights of the metric are negative or rise from rank to rank, and the best "
            "weights are known only where they do not; choose another metric (--metric dcg)"
        )
    return np.ascontiguousarray(rank_weights, np.float64)
