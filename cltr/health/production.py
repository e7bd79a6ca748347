r"""Is production better than a shuffle of what it shows, by the clicks?

Production is presumed good. Rewards that say otherwise contradict it: adversarial clicks are a
valid click model with relevance reversed, and no test of a click model's fit sees them.

Compared are documents that production shows with enough propensity. Over all candidates, documents
that are never shown would hide the difference. A shuffle gives each of them their mean weight:

.. math:: X_q = \sum_{d \in S_q} (\omega_{0,d} - \bar\omega_{0,S_q}) \mu_d
"""

import numpy as np

from cltr.evaluation.bounds import ClusterTotals, cluster_interval
from cltr.health.outcome import HealthCheck
from cltr.types import Booleans, ClickStatistics, Exposure, Floats, Lists, Rewards

ENOUGH = 0.05
"""Propensity of a document that is compared, as a share of the largest in the log."""
CONFIDENCE = 0.90
"""Of two-sided intervals, so that each end is a 95 % bound."""
MOSTLY_FIXED = 0.5
"""Share of the interactions with queries that always got the same list, above which production
counts as deterministic."""


def check_production(rewards: Rewards, *, seed: int = 0) -> HealthCheck:
    """Production against a shuffle of the documents that it shows.

    Args:
        rewards: of validation clicks, without clipping of propensities.
        seed: of the bootstrap that is used where queries are few.
    """
    statistics = rewards.statistics
    if statistics is None or not statistics.n_interactions:
        return _unknown("there are no validation clicks")
    fixed = fixed_share(statistics)
    if fixed > MOSTLY_FIXED:
        return _unknown(
            f"{fixed:.0%} of the interactions are with queries that always got the same list, so "
            "each document's clicks are known at one rank only"
        )
    lists = rewards.dataset.lists
    compared = comparable(rewards.exposure)
    advantages = lists.sum(_centred(rewards.exposure.weights, compared, lists) * rewards.values)
    displays = statistics.displays.astype(np.float64)
    totals = ClusterTotals(displays * advantages, displays)
    found = cluster_interval(totals, confidence=CONFIDENCE, target="these queries", seed=seed)
    told = (
        f"{found.value:+.3f} per interaction (95 % bounds {found.low:+.3f} and {found.high:+.3f})"
    )
    if found.low > 0:
        sentence = f"By the clicks, production is better than a shuffle of what it shows: {told}."
        return HealthCheck("production", "pass", found.value, sentence)
    if found.high < 0:
        return HealthCheck(
            "production",
            "fail",
            found.value,
            f"By the clicks, production is worse than a shuffle of what it shows: {told}. Either "
            "users click on what they do not want, or production is harmful.",
            "Check what counts as a click. If production is known to be that bad, use "
            "--on-doubt ignore.",
        )
    return _unknown(f"the difference is {told}", found.value)


def _unknown(why: str, number: float | None = None) -> HealthCheck:
    return HealthCheck(
        "production",
        "inconclusive",
        number,
        f"The clicks do not tell whether production is better than a shuffle of what it shows: "
        f"{why}.",
        "Log for longer, or let production vary its lists.",
    )


def comparable(exposure: Exposure) -> Booleans:
    """Documents with enough propensity to be compared, ``[docs]``."""
    enough: Booleans = exposure.propensities >= ENOUGH * exposure.propensities.max(initial=0.0)
    return enough & (exposure.propensities > 0)


def _centred(weights: Floats, chosen: Booleans, lists: Lists) -> Floats:
    """Weights less their mean over the chosen documents of the list; 0 for the others."""
    kept = np.where(chosen, weights, 0.0)
    mean = lists.sum(kept) / np.maximum(lists.sum(chosen.astype(np.float64)), 1)
    return np.where(chosen, weights - np.repeat(mean, lists.lengths), 0.0)


def fixed_share(statistics: ClickStatistics) -> float:
    """Share of the interactions of recurring queries whose query always got the same list.

    Example:
        >>> same = np.array([[3, 0], [0, 3]])
        >>> both = ClickStatistics(same, 0 * same, np.array([3]), np.array([0, 2]))
        >>> fixed_share(both)
        1.0
    """
    often = statistics.displays >= 2
    total = int(statistics.displays[often].sum())
    if total == 0:
        return 0.0
    lists = Lists.of_offsets(statistics.offsets)
    shown = (statistics.impressions > 0).astype(np.float64)
    different = np.stack([lists.sum(column) for column in shown.T])
    fixed = often & (different <= 1).all(0)
    return float(statistics.displays[fixed].sum() / total)
