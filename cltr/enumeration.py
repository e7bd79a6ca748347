"""Small lists, exactly: every ranking, its probability, and what a log holds on average.

For tests: with all rankings of a few documents enumerated, an expectation is a sum, and a claim
such as "unbiased" holds to rounding with no sampling.
"""

from itertools import permutations

import numpy as np

from cltr.types import Affine, ClickStatistics, Exposure, Floats, Integers


def all_rankings(n_documents: int, top_k: int) -> Integers:
    """Every ordered choice of the first K documents, ``[rankings, min(K, documents)]``.

    Example:
        >>> all_rankings(3, 2).tolist()
        [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    return np.array(list(permutations(range(n_documents), min(top_k, n_documents))))


def plackett_luce(scores: Floats, rankings: Integers) -> Floats:
    """Probability of each ranking under Plackett-Luce, ``[rankings]``.

    Example:
        >>> plackett_luce(np.log([2.0, 1.0, 1.0]), np.array([[0, 1], [1, 0]]))
        array([0.25      , 0.16666667])
    """
    rates = np.exp(scores - scores.max())
    chosen = rates[rankings]
    taken = np.cumsum(rankings[..., None] == np.arange(len(scores)), axis=-2)
    # What is left is summed up, not subtracted from the total: nothing cancels.
    left = chosen + ((taken == 0) * rates).sum(-1)
    probabilities: Floats = (chosen / left).prod(-1)
    return probabilities


def rank_distribution(scores: Floats, top_k: int) -> Floats:
    """P(rank(d) = k) under Plackett-Luce, ``[docs, K]``; 0 behind the end of a short list."""
    rankings = all_rankings(len(scores), top_k)
    ranks = np.zeros((len(scores), top_k))
    places = (rankings, np.arange(rankings.shape[1]))
    np.add.at(ranks, places, plackett_luce(scores, rankings)[:, None])
    return ranks


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
