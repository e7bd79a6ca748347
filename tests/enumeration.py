"""Plackett-Luce by brute force: every ranking of a short list, with its probability.

Written to be obviously right, not fast; what the kernels are checked against.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import numpy as np

from cltr.types import Affine, ClickStatistics, Exposure, Floats, Integers

Ranking = tuple[int, ...]


def rankings(scores: Sequence[float], top_k: int) -> Iterator[tuple[Ranking, float]]:
    """Every ordered choice of the first min(K, n) documents, with its probability.

    Example:
        >>> list(rankings([math.log(3.0), 0.0], top_k=1))
        [((0,), 0.75), ((1,), 0.25)]
    """
    documents = range(len(scores))
    for ranking in permutations(documents, min(top_k, len(scores))):
        yield ranking, probability(ranking, scores)


def probability(ranking: Ranking, scores: Sequence[float]) -> float:
    """The product over ranks of the document's softmax among those not yet ranked."""
    result = 1.0
    left = set(range(len(scores)))
    for document in ranking:
        highest = max(scores[d] for d in left)
        total = math.fsum(math.exp(scores[d] - highest) for d in left)
        result *= math.exp(scores[document] - highest) / total
        left.remove(document)
    return result


def expectation(
    scores: Sequence[float], top_k: int, value: Callable[[Ranking], np.ndarray | float]
) -> np.ndarray:
    """The mean of any function of the ranking."""
    return np.asarray(sum(chance * value(ranking) for ranking, chance in rankings(scores, top_k)))


def expected_weights(scores: Sequence[float], rank_weights: Sequence[float]) -> np.ndarray:
    """Omega: the mean weight of the rank at which each document stands, ``[docs]``."""
    return rank_distribution(scores, len(rank_weights)) @ np.asarray(rank_weights)


def rank_distribution(scores: Sequence[float], top_k: int) -> np.ndarray:
    """P(rank(d) = k), ``[docs, K]``."""

    def places(ranking: Ranking) -> np.ndarray:
        at = np.zeros((len(scores), top_k))
        for rank, document in enumerate(ranking):
            at[document, rank] = 1.0
        return at

    return expectation(scores, top_k, places)


def finite_difference(
    function: Callable[[np.ndarray], float], at: np.ndarray, *, step: float = 1e-4
) -> np.ndarray:
    """The gradient of a function, by central differences of fourth order."""
    gradient = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        move = np.zeros(at.shape)
        move[place] = step
        near = function(at + move) - function(at - move)
        far = function(at + 2 * move) - function(at - 2 * move)
        gradient[place] = (8 * near - far) / (12 * step)
    return gradient


def all_rankings(n_documents: int, top_k: int) -> Integers:
    """Every ordered choice of the first K documents, ``[rankings, min(K, documents)]``.

    Example:
        >>> all_rankings(3, 2).tolist()
        [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    return np.array(list(permutations(range(n_documents), min(top_k, n_documents))))


def plackett_luce(scores: Floats, chosen: Integers) -> Floats:
    """Probability of each ranking under Plackett-Luce, ``[rankings]``.

    Example:
        >>> plackett_luce(np.log([2.0, 1.0, 1.0]), np.array([[0, 1], [1, 0]])).round(8)
        array([0.25      , 0.16666667])
    """
    return np.array([probability(tuple(ranking), scores) for ranking in chosen.tolist()])


def expected_statistics(
    ranks: Floats, relevance: Floats, affine: Affine, *, displays: float = 1.0
) -> ClickStatistics:
    r"""What a log of one query holds on average: real numbers where a log has integers.

    Rewards that are affine in clicks have their expectation at these statistics.

    Args:
        ranks: P(rank(d) = k) of the logging policy, ``[docs, K]``.
        relevance: P(R=1), ``[docs]``.
        affine: how people click, by rank.
        displays: :math:`N_q`.
    """
    examination, trust = affine
    impressions = displays * ranks
    clicks = impressions * (relevance[:, None] * examination + trust)
    offsets = np.array([0, len(relevance)])
    return ClickStatistics(impressions, clicks, np.array([displays]), offsets)  # type: ignore[arg-type]


def exposure_of(ranks: Floats, affine: Affine, rank_weights: Floats) -> Exposure:
    """The exposure that belongs to a rank distribution."""
    examination, trust = affine
    return Exposure(ranks @ rank_weights, ranks @ examination, ranks @ (examination + trust))
