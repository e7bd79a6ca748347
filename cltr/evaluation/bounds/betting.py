r"""Betting bounds for the mean of bounded terms: valid at every sample size, and tight.

For each candidate mean m, a gambler bets that the terms exceed m. If m is the true mean, the
gambler's capital ever reaches :math:`1/\alpha` with probability at most :math:`\alpha`. So every m
at which the capital did reach it is rejected.

References: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting,
JRSS-B 2024.
"""

import numpy as np

from cltr.errors import DataError
from cltr.evaluation.bounds.clusters import ClusterTotals
from cltr.evaluation.bounds.interval import Limits, MeanInterval, Target, checked_terms, miss_level
from cltr.types import Floats

LARGEST_BET = 0.5
"""Largest share of the capital that one term may lose (c in the paper)."""
BISECTIONS = 30
"""Halvings in the search for the bound; the result is exact to 1e-9 of the limits' width."""


def betting_lower(terms: Floats, limits: Limits, *, confidence: float, seed: int) -> float:
    r"""Lower confidence bound for the mean of independent, bounded terms.

    With the terms y scaled to [0, 1] and :math:`\alpha = 1 - \text{confidence}`, it is the smallest
    m with

    .. math:: \max_i \sum_{j \le i} \ln(1 + \lambda_j (y_j - m)) < \ln(1/\alpha), \quad
              \lambda_j = \min\Big(\sqrt{\tfrac{2 \ln(1/\alpha)}{n \hat\sigma^2_{j-1}}},
              \tfrac{1}{2m}\Big).

    **Valid** at every sample size if the terms are independent draws from one distribution, and
    the limits and the seed were chosen before anyone looked at the terms. The function shuffles
    the terms first: in a sorted log (good queries first) the gambler would win under the true
    mean. If the terms are independent but have different means (the queries of this log), the
    shuffled bound missed no more often than it may in all cases that were enumerated; there is no
    proof. **Not valid** for terms that share a session or a query: use
    :func:`cluster_betting_lower`. The bets follow the terms, so in some samples wider limits or
    more confidence give a slightly higher bound; it is valid all the same.

    Args:
        terms: X, one per interaction, ``[terms]``.
        limits: the smallest and the largest possible term.
        confidence: one-sided, for example 0.95.
        seed: seed of the shuffle; use that of the run.

    Example:
        >>> terms = np.tile([0.2, 0.6], 50)
        >>> round(betting_lower(terms, Limits(0.0, 1.0), confidence=0.95, seed=0), 3)
        0.354
    """
    scaled = np.random.default_rng(seed).permutation(limits.scale(terms))
    return limits.restore(smallest_kept(scaled, np.ones(1), level=miss_level(confidence)))


def betting_upper(terms: Floats, limits: Limits, *, confidence: float, seed: int) -> float:
    """Upper confidence bound: minus :func:`betting_lower` of the negated terms, valid like it.

    Example:
        >>> terms = np.tile([0.2, 0.6], 50)
        >>> round(betting_upper(terms, Limits(0.0, 1.0), confidence=0.95, seed=0), 3)
        0.444
    """
    negated = -checked_terms(terms)
    return -betting_lower(negated, limits.mirrored(), confidence=confidence, seed=seed)


def betting_interval(
    terms: Floats, limits: Limits, *, confidence: float, seed: int, target: Target
) -> MeanInterval:
    """Interval from :func:`betting_lower` and :func:`betting_upper`, valid like them.

    The interval always contains the sample mean.

    Example:
        >>> found = betting_interval(np.tile([0.2, 0.6], 50), Limits(0.0, 1.0),
        ...     confidence=0.9, seed=0, target="new queries")
        >>> round(found.low, 3), round(found.value, 3), round(found.high, 3)
        (0.354, 0.4, 0.444)
    """
    terms, side = checked_terms(terms), 1.0 - miss_level(confidence) / 2
    mean, n = float(terms.mean()), len(terms)
    low = betting_lower(terms, limits, confidence=side, seed=seed)
    high = betting_upper(terms, limits, confidence=side, seed=seed)
    return MeanInterval(
        value=mean,
        error=float(terms.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
        # In rare samples a bound passes the mean; the wider interval is valid too.
        low=min(low, mean),
        high=max(high, mean),
        confidence=confidence,
        method="betting",
        target=target,
    )


def betting_p_value(
    terms: Floats, limits: Limits, *, mean: float, confidence: float, seed: int
) -> float:
    r"""P-value of the hypothesis that the true mean is at most ``mean``: 1 / largest capital.

    It is at most :math:`\alpha` exactly if ``mean`` lies below :func:`betting_lower`, and valid
    under the same conditions. Pass the p-values of several candidates to
    :func:`cltr.evaluation.bounds.holm`.

    Args:
        terms: X, one per interaction, ``[terms]``.
        limits: the smallest and the largest possible term.
        mean: the hypothesis, for example 0 for "no better than production".
        confidence: the confidence at which a decision is planned; it sets the size of the bets.
        seed: seed of the shuffle.

    Example:
        >>> terms = np.tile([0.2, 0.6], 50)
        >>> p = betting_p_value(terms, Limits(0.0, 1.0), mean=0.3, confidence=0.95, seed=0)
        >>> p < 0.05
        True
    """
    scaled = np.random.default_rng(seed).permutation(limits.scale(terms))
    bets = _plan_bets(scaled, np.ones(1), goal=-np.log(miss_level(confidence)))
    if limits.width == 0:
        return 0.0 if mean < limits.low else 1.0
    null = (mean - limits.low) / limits.width
    if null < 0:
        return 0.0
    return float(min(1.0, np.exp(-_largest_capital(null, scaled, np.ones(1), bets))))


def cluster_betting_lower(
    totals: ClusterTotals, limits: Limits, *, largest_count: float, confidence: float, seed: int
) -> float:
    r"""Lower confidence bound for a mean over interactions, from independent clusters.

    The gambler bets on :math:`S_c - m N_c`, the sum of a cluster's terms minus m times their
    number, which has mean 0 at the true :math:`m = E[S_c]/E[N_c]`. With one interaction in each
    cluster this is :func:`betting_lower`.

    **Valid** at every number of clusters if the clusters are independent draws from one
    distribution, and the limits, the seed and ``largest_count`` were chosen beforehand. Terms
    within a cluster may depend on each other in any way. A log does not limit the traffic of a
    query: keep at most ``largest_count`` interactions of each cluster, chosen at random. The bound
    is wide if most clusters are much smaller than that.

    Args:
        totals: sums and counts of the clusters.
        limits: the smallest and the largest possible term of one interaction.
        largest_count: the most interactions that a cluster can have.
        confidence: one-sided, for example 0.95.
        seed: seed of the shuffle of the clusters.

    Example:
        >>> totals = ClusterTotals(np.tile([0.4, 0.6], 50), np.tile([2.0, 1.0], 50))
        >>> low = cluster_betting_lower(
        ...     totals, Limits(0.0, 1.0), largest_count=2, confidence=0.95, seed=0)
        >>> round(low, 3)  # the mean is 0.333
        0.295
    """
    sums, counts = totals.seen()
    if counts.max() > largest_count:
        raise DataError(
            f"a cluster has {counts.max():g} interactions, more than the largest count "
            f"{largest_count:g}; keep at most that many of each cluster, chosen at random"
        )
    order = np.random.default_rng(seed).permutation(len(sums))
    weights = counts[order] / largest_count
    scaled = limits.scale(sums[order] / counts[order]) * weights
    return limits.restore(smallest_kept(scaled, weights, level=miss_level(confidence)))


def cluster_betting_upper(
    totals: ClusterTotals, limits: Limits, *, largest_count: float, confidence: float, seed: int
) -> float:
    """Upper bound: minus :func:`cluster_betting_lower` of the negated terms, valid like it."""
    negated = ClusterTotals(-totals.sums, totals.counts)
    return -cluster_betting_lower(
        negated,
        limits.mirrored(),
        largest_count=largest_count,
        confidence=confidence,
        seed=seed,
    )


def smallest_kept(terms: Floats, weights: Floats, *, level: float) -> float:
    r"""The smallest mean E[y]/E[w] that betting on the terms, in their order, does not reject.

    The capital falls as the candidate mean rises, so bisection finds the bound. The result is the
    rejected end of the last search interval, so rounding makes the bound wider, not narrower.

    Args:
        terms: y, ``[terms]``, each between 0 and its weight.
        weights: w in [0, 1], ``[terms]``, or ``[1]`` if all are the same.
        level: :math:`\alpha`, how often the bound may be wrong.

    Example:
        >>> round(smallest_kept(np.tile([0.2, 0.6], 50), np.ones(1), level=0.05), 3)
        0.352
    """
    goal = -np.log(level)
    bets = _plan_bets(terms, weights, goal=goal)
    if _largest_capital(0.0, terms, weights, bets) < goal:
        return 0.0
    rejected, kept = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (rejected + kept) / 2
        if _largest_capital(middle, terms, weights, bets) < goal:
            kept = middle
        else:
            rejected = middle
    return rejected


def _plan_bets(terms: Floats, weights: Floats, *, goal: float) -> Floats:
    """The bet on each term before it is capped; only earlier terms determine it."""
    counted = np.arange(2.0, len(terms) + 2.0)
    weights = np.broadcast_to(weights, terms.shape)
    typical = (1.0 + np.cumsum(weights)) / counted  # the guess of mean and variance has this weight
    means = (0.5 * typical + np.cumsum(terms)) / (typical + np.cumsum(weights))
    squares = np.cumsum((terms - means * weights) ** 2)
    variances = (0.25 * typical**2 + squares) / counted
    before = np.concatenate([[0.25], variances[:-1]])
    return np.asarray(np.sqrt(2.0 * goal / (len(terms) * before)))


def _largest_capital(mean: float, terms: Floats, weights: Floats, bets: Floats) -> float:
    """Logarithm of the largest capital that betting against ``mean`` reaches."""
    stakes = np.minimum(bets, LARGEST_BET / mean) if mean > 0 else bets
    return float(np.log1p(stakes * (terms - mean * weights)).cumsum().max())
