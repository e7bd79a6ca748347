"""Plackett-Luce by brute force: every ranking of a short list, with its probability.

Written to be obviously right, not fast; what the kernels are checked against.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import numpy as np

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
