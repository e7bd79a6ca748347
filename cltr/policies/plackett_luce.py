"""The Plackett-Luce policy: exact expected weights, gradients, and samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltr.errors import UsageError
from cltr.interfaces import Policy
from cltr.policies.first_document import merge_chosen
from cltr.policies.pair_sums import sum_of_pairs
from cltr.policies.sort_order import places_by_score
from cltr.policies.usable_scores import usable
from cltr.types import Booleans, Floats, Integers, Lists

DEFAULT_ACCURACY = 1e-7


LEAST_ACCURACY = 1e-2


Backend: TypeAlias = Literal["numba", "torch"]


@dataclass(frozen=True)
class PlackettLuce(Policy):
    r"""Documents are drawn rank by rank, without replacement, in proportion to :math:`e^{s_d}`.

    Scores may be infinite. Where those of a list spread further than 600, ranks behind the 15th
    may be shared by documents that lie more than 40 apart.

    Example:
        >>> lists = Lists.of_offsets(np.array([0, 2]))
        >>> weights = PlackettLuce().expected_weights(np.log([3.0, 1.0]), lists, np.array([1.0]))
        >>> weights.round(6).tolist()  # the first rank goes to them 3 : 1
        [0.75, 0.25]
    """

    accuracy: float = DEFAULT_ACCURACY
    r"""Largest error of :math:`\omega` relative to the largest rank weight."""
    backend: Backend = "numba"
    """``numba``, compiled for this machine's processors, or ``torch``, for any device."""
    device: str = "cpu"
    """Where torch computes."""
    name: str = "plackett-luce"

    def __post_init__(self) -> None:
        """An integral that is not exact at all would go unnoticed."""
        if not 0 < self.accuracy <= LEAST_ACCURACY:
            raise UsageError(
                f"accuracy is {self.accuracy:g}; it must be above 0 and at most {LEAST_ACCURACY:g}"
            )

    def expected_weights(self, scores: Floats, lists: Lists, rank_weights: Floats) -> Floats:
        r""":math:`\omega`, exact up to ``accuracy``; see ``cltr.kernels.plackett_luce``."""
        if self.backend == "torch":
            return self._on_torch("expected_weights", scores, lists=lists, weights=rank_weights)
        return PlackettLuce.several_weights(self, scores, lists, [rank_weights])[0]

    def several_weights(
        self, scores: Floats, lists: Lists, rank_weights: Sequence[Floats]
    ) -> list[Floats]:
        """As in the contract; most of the work is the same for all rank weights, and done once."""
        if self.backend == "torch":
            return [PlackettLuce.expected_weights(self, scores, lists, w) for w in rank_weights]
        from cltr.kernels import plackett_luce

        table = np.array(rank_weights, dtype=np.float64)
        out = np.zeros((len(table), *scores.shape))
        if table.size:
            flat, starts, lengths, _, *rest = self._arguments(scores, lists, table[0])
            plackett_luce.expected_weights(
                flat, starts, lengths, table, *rest, out.reshape(len(table), -1)
            )
        return list(out)

    def gradient(
        self, scores: Floats, slopes: Floats, lists: Lists, rank_weights: Floats
    ) -> Floats:
        r""":math:`\partial \sum_d g_d \omega_d / \partial s` for slopes g."""
        if self.backend == "torch":
            return self._on_torch("gradient", scores, slopes, lists=lists, weights=rank_weights)
        from cltr.kernels import plackett_luce

        flat, *rest = self._arguments(scores, lists, rank_weights)
        out = np.zeros(scores.shape)
        slopes = np.ascontiguousarray(slopes, dtype=np.float64).reshape(-1)
        if len(rank_weights):
            plackett_luce.gradient(flat, slopes, *rest, out.reshape(-1))
        return out

    def rank_distribution(self, scores: Floats, lists: Lists, top_k: int) -> Floats:
        """P(rank(d) = k), ``[..., docs, K]``: the expected weights of each rank alone."""
        if self.backend == "torch":
            weights = np.ones(top_k)
            return self._on_torch("rank_distribution", scores, lists=lists, weights=weights)
        return super().rank_distribution(scores, lists, top_k)

    def _on_torch(self, name: str, *arrays: Floats, lists: Lists, weights: Floats) -> Floats:
        from cltr.kernels import devices, plackett_luce_torch

        found = devices.by_lists(
            getattr(plackett_luce_torch, name),
            usable(arrays[0]),
            *(np.asarray(values, np.float64).reshape(-1) for values in arrays[1:]),
            lists=lists,
            rank_weights=weights,
            device=self.device,
            accuracy=self.accuracy,
        )
        return found.reshape(*arrays[0].shape, *found.shape[1:])

    def _arguments(self, scores: Floats, lists: Lists, rank_weights: Floats) -> tuple[object, ...]:
        from cltr.kernels import plackett_luce

        flat = usable(scores)
        weights = np.ascontiguousarray(rank_weights, dtype=np.float64)
        nodes = plackett_luce.nodes_per_octave(len(weights), self.accuracy)
        return flat, lists.starts, lists.lengths, weights, nodes, self.accuracy

    def expected_ranks(self, scores: Floats, lists: Lists, rows: Integers) -> Floats:
        r"""Expected ranks of some documents in their whole lists, from 1, ``[rows]``.

        .. math:: 1 + \sum_{j \ne d} P(j \text{ before } d), \quad
                  P(j \text{ before } d) = \sigma(s_j - s_d)
        """
        return sum_of_pairs(scores, lists, rows, _before) + 0.5

    def first_weights(
        self, scores: Floats, lists: Lists, chosen: Booleans, rank_weights: Floats
    ) -> Floats:
        """As in the contract: the first of the chosen arrives like one with the sum of rates."""
        merged, merged_lists, first = merge_chosen(scores, lists, chosen)
        weights = self.expected_weights(merged, merged_lists, rank_weights)
        found = np.zeros(len(lists.lengths))
        found[first >= 0] = weights[first[first >= 0]]
        return found


def _before(gaps: Floats) -> Floats:
    """The logistic curve, written into its argument: new arrays would cost as much again."""
    gaps *= 0.5
    np.tanh(gaps, out=gaps)
    gaps *= 0.5
    gaps += 0.5
    return gaps


def sample_rankings(
    scores: Floats, mask: Booleans, *, top_k: int, n_samples: int, rng: np.random.Generator
) -> Integers:
    """Draw Plackett-Luce rankings: columns of the documents, ``[queries, samples, K]``.

    Ranks past the end of a list are -1.
    """
    from cltr.kernels import sampling

    lists = Lists.of_mask(mask)
    out = np.empty((len(scores), n_samples, top_k), np.int64)
    usable(scores[mask], drawn=True)
    flat = usable(scores)
    orders = places_by_score(flat, lists)
    sampling.rankings(flat, orders, *lists, top_k, list_seeds(len(scores), rng), out)
    return out


def list_seeds(n_lists: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    """One seed per list, so that no result depends on the number of threads."""
    return rng.integers(2**32, size=n_lists, dtype=np.uint32)
