"""[6] Policies: scores to distributions over rankings, exactly; and samples of them.

Every function takes flat or padded arrays; ``Lists`` says where each list lies.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltr.devices import device_named
from cltr.errors import UsageError
from cltr.types import Booleans, Floats, Integers, Lists

__all__ = [
    "DEFAULT_ACCURACY",
    "Backend",
    "Deterministic",
    "Gaussian",
    "PlackettLuce",
    "device_named",
    "list_seeds",
    "places_by_score",
    "ranks_by_score",
    "sample_rankings",
]

DEFAULT_ACCURACY = 1e-7
LEAST_ACCURACY = 1e-2
Backend: TypeAlias = Literal["numba", "torch"]


@dataclass(frozen=True)
class PlackettLuce:
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
        r""":math:`\omega`, exact up to ``accuracy``. See ``cltr.race``, ``cltr.torch_race``."""
        if self.backend == "torch":
            return self._on_torch("expected_weights", scores, lists=lists, weights=rank_weights)
        from cltr import race

        out = np.zeros(scores.shape)
        if len(rank_weights):
            race.expected_weights(*self._arguments(scores, lists, rank_weights), out.reshape(-1))
        return out

    def gradient(
        self, scores: Floats, slopes: Floats, lists: Lists, rank_weights: Floats
    ) -> Floats:
        r""":math:`\partial \sum_d g_d \omega_d / \partial s` for slopes g."""
        if self.backend == "torch":
            return self._on_torch("gradient", scores, slopes, lists=lists, weights=rank_weights)
        from cltr import race

        flat, *rest = self._arguments(scores, lists, rank_weights)
        out = np.zeros(scores.shape)
        slopes = np.ascontiguousarray(slopes, dtype=np.float64).reshape(-1)
        if len(rank_weights):
            race.gradient(flat, slopes, *rest, out.reshape(-1))
        return out

    def rank_distribution(self, scores: Floats, lists: Lists, top_k: int) -> Floats:
        """P(rank(d) = k), ``[..., docs, K]``: the expected weights of each rank alone."""
        if self.backend == "torch":
            weights = np.ones(top_k)
            return self._on_torch("rank_distribution", scores, lists=lists, weights=weights)
        ranks = [self.expected_weights(scores, lists, unit) for unit in np.eye(top_k)]
        return np.stack(ranks, axis=-1)

    def _on_torch(self, name: str, *arrays: Floats, lists: Lists, weights: Floats) -> Floats:
        from cltr import devices, torch_race

        found = devices.by_lists(
            getattr(torch_race, name),
            *(np.asarray(values, np.float64).reshape(-1) for values in arrays),
            lists=lists,
            rank_weights=weights,
            device=self.device,
            accuracy=self.accuracy,
        )
        return found.reshape(*arrays[0].shape, *found.shape[1:])

    def _arguments(self, scores: Floats, lists: Lists, rank_weights: Floats) -> tuple[object, ...]:
        from cltr import race

        flat = np.ascontiguousarray(scores, dtype=np.float64).reshape(-1)
        weights = np.ascontiguousarray(rank_weights, dtype=np.float64)
        nodes = race.nodes_per_octave(len(weights), self.accuracy)
        return flat, lists.starts, lists.lengths, weights, nodes, self.accuracy

    def expected_ranks(self, scores: Floats, lists: Lists, rows: Integers) -> Floats:
        r"""Expected ranks of some documents in their whole lists, from 1, ``[rows]``.

        .. math:: 1 + \sum_{j \ne d} P(j \text{ before } d), \quad
                  P(j \text{ before } d) = \sigma(s_j - s_d)
        """
        return _sum_of_pairs(scores, lists, rows, lambda gap: 0.5 + 0.5 * np.tanh(0.5 * gap)) + 0.5


@dataclass(frozen=True)
class Gaussian:
    r"""Documents in order of :math:`s_d + \sigma\epsilon_d` with normal noise :math:`\epsilon`.

    Example:
        >>> lists = Lists.of_offsets(np.array([0, 2]))
        >>> Gaussian().expected_weights(np.zeros(2), lists, np.array([1.0, 0.5])).round(6)
        array([0.75, 0.75])
    """

    sigma: float = 1.0
    """Standard deviation of the noise; smaller is nearer to ``Deterministic``."""
    accuracy: float = DEFAULT_ACCURACY
    r"""Largest error of :math:`\omega` relative to the largest rank weight."""
    name: str = "gaussian"

    def expected_weights(self, scores: Floats, lists: Lists, rank_weights: Floats) -> Floats:
        r""":math:`\omega`, exact up to ``accuracy``. See ``cltr.gaussian``."""
        from statistics import NormalDist

        from cltr import gaussian, race

        weights = np.ascontiguousarray(rank_weights, dtype=np.float64)
        out = np.zeros(scores.shape)
        gaussian.expected_weights(
            np.ascontiguousarray(scores, dtype=np.float64).reshape(-1) / self.sigma,
            *lists,
            weights,
            race.nodes_per_octave(len(weights), self.accuracy),
            self.accuracy,
            -NormalDist().inv_cdf(self.accuracy / 2),
            out.reshape(-1),
        )
        return out

    def rank_distribution(self, scores: Floats, lists: Lists, top_k: int) -> Floats:
        """P(rank(d) = k), ``[..., docs, K]``: the expected weights of each rank alone."""
        ranks = [self.expected_weights(scores, lists, unit) for unit in np.eye(top_k)]
        return np.stack(ranks, axis=-1)

    def expected_ranks(self, scores: Floats, lists: Lists, rows: Integers) -> Floats:
        r"""Expected ranks of some documents, from 1, ``[rows]``.

        A document is before another with probability :math:`\Phi((s_j - s_d) / \sqrt2\sigma)`.
        """
        import torch

        def before(gap: Floats) -> Floats:
            scaled = torch.from_numpy(gap / (np.sqrt(2.0) * self.sigma))
            return np.asarray(torch.special.ndtr(scaled).numpy())

        return _sum_of_pairs(scores, lists, rows, before) + 0.5


@dataclass(frozen=True)
class Deterministic:
    """Documents in order of their scores.

    Example:
        >>> lists = Lists.of_offsets(np.array([0, 3]))
        >>> Deterministic().expected_weights(np.array([0.1, 2.0, 1.0]), lists, np.array([1.0, 0.5]))
        array([0. , 1. , 0.5])
    """

    ties: Literal["order", "expected"] = "order"
    """Equal scores stand in the order of the list, or in any order with the same chance."""
    name: str = "deterministic"

    def expected_weights(self, scores: Floats, lists: Lists, rank_weights: Floats) -> Floats:
        """The weight of the document's rank, 0 behind the last weighted rank."""
        weights = np.append(rank_weights, 0.0)
        ranks = ranks_by_score(scores, lists)
        found = np.asarray(weights[np.minimum(ranks, len(rank_weights))])
        return found if self.ties == "order" else _shared_by_ties(found, scores, lists)

    def rank_distribution(self, scores: Floats, lists: Lists, top_k: int) -> Floats:
        """1 at the document's rank, ``[..., docs, K]``."""
        ranks = [self.expected_weights(scores, lists, unit) for unit in np.eye(top_k)]
        return np.stack(ranks, axis=-1)

    def expected_ranks(self, scores: Floats, lists: Lists, rows: Integers) -> Floats:
        """Ranks of some documents, from 1, ``[rows]``."""
        ranks = np.asarray(ranks_by_score(scores, lists) + 1.0)
        if self.ties == "expected":
            ranks = _shared_by_ties(ranks, scores, lists)
        return np.asarray(ranks[rows])


def _shared_by_ties(values: Floats, scores: Floats, lists: Lists) -> Floats:
    """The mean over documents of a list with the same score, in the layout of ``scores``."""
    flat = np.asarray(scores, dtype=np.float64).reshape(-1)[lists.members]
    order = np.lexsort((flat, lists.owners))
    new = np.diff(flat[order], prepend=np.nan) != 0
    new |= np.diff(lists.owners[order], prepend=-1) != 0
    group = np.cumsum(new) - 1
    sums = np.bincount(group, values.reshape(-1)[lists.members][order])
    out = np.array(values, dtype=np.float64)
    out.reshape(-1)[lists.members[order]] = (sums / np.bincount(group))[group]
    return out


PAIRS = 4_000_000
"""Pairs of documents that are held at a time."""


def _sum_of_pairs(
    scores: Floats, lists: Lists, rows: Integers, before: Callable[[Floats], Floats]
) -> Floats:
    """For each row, the sum of ``before(s_j - s_d)`` over its list, itself included, ``[rows]``."""
    owners = lists.owners[rows]
    lengths = lists.lengths[owners]
    found = np.zeros(len(rows))
    ends = np.cumsum(lengths)
    start = 0
    while start < len(rows):
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] - lengths[start] + PAIRS)))
        here = slice(start, stop)
        pairs = Lists(lists.starts[owners[here]], lengths[here])
        gaps = scores[pairs.members] - np.repeat(scores[rows[here]], lengths[here])
        found[here] = np.bincount(pairs.owners, before(gaps), minlength=stop - start)
        start = stop
    return found


def ranks_by_score(scores: Floats, lists: Lists) -> Integers:
    """Rank of each document in its list by falling score, from 0; entries of no list rank last.

    Example:
        >>> ranks_by_score(np.array([1.0, 3.0, 2.0, 5.0]), Lists.of_offsets(np.array([0, 3, 4])))
        array([2, 0, 1, 0])
    """
    flat = np.asarray(scores, dtype=np.float64).reshape(-1)
    members = lists.members
    order = np.lexsort((-flat[members], lists.owners))
    ranks = np.full(flat.shape, np.iinfo(np.int64).max)
    ranks[members[order]] = lists.places
    return ranks.reshape(scores.shape)


def places_by_score(scores: Floats, lists: Lists) -> Integers:
    """The other way round: the place in its list of the document at each rank, flat.

    Example:
        >>> places_by_score(np.array([1.0, 3.0, 2.0, 5.0]), Lists.of_offsets(np.array([0, 3, 4])))
        array([1, 2, 0, 0])
    """
    flat = np.asarray(scores, dtype=np.float64).reshape(-1)
    order = np.lexsort((-flat[lists.members], lists.owners))
    places = np.zeros(flat.shape, np.int64)
    places[lists.members] = lists.places[order]
    return places


def sample_rankings(
    scores: Floats, mask: Booleans, *, top_k: int, n_samples: int, rng: np.random.Generator
) -> Integers:
    """Draw Plackett-Luce rankings: columns of the documents, ``[queries, samples, K]``.

    Ranks past the end of a list are -1.
    """
    from cltr import sampling

    lists = Lists.of_mask(mask)
    out = np.empty((len(scores), n_samples, top_k), np.int64)
    flat = np.ascontiguousarray(scores, dtype=np.float64).reshape(-1)
    orders = places_by_score(flat, lists)
    sampling.rankings(flat, orders, *lists, top_k, list_seeds(len(scores), rng), out)
    return out


def list_seeds(n_lists: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    """One seed per list, so that no result depends on the number of threads."""
    return rng.integers(2**32, size=n_lists, dtype=np.uint32)
