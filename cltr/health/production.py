r"""Is production better than a shuffle of what it shows, by the clicks?

Production is presumed good. Rewards that say otherwise contradict it: adversarial clicks are a
valid click model with relevance reversed, and no test of a click model's fit sees them.

Compared are documents that production shows with enough propensity. Over all candidates, documents
that are never shown would hide the difference. A shuffle gives each of them their mean weight:

.. math:: X_q = \sum_{d \in S_q} (\omega_{0,d} - \bar\omega_{0,S_q}) \mu_d
"""

from collections.abc import Sequence

import numpy as np

from cltr.checks.repetition import deterministic_share
from cltr.evaluation.bounds import ClusterTotals, cluster_interval
from cltr.health.outcome import HealthCheck
from cltr.types import Booleans, Exposure, Floats, Lists, Rewards

ENOUGH = 0.05
"""Propensity of a document that is compared, as a share of the largest in the log."""
CONFIDENCE = 0.90
"""Of two-sided intervals, so that each end is a 95% bound."""
MOSTLY_FIXED = 0.5
"""Share of the interactions with queries that always got the same list, above which production
counts as deterministic."""


def check_production(parts: Sequence[Rewards], *, seed: int = 0) -> HealthCheck:
    """Production against a shuffle of the documents that it shows.

    Args:
        parts: rewards of splits with clicks; production was trained on none of them.
        seed: of the bootstrap that is used where queries are few.
    """
    logged = [part.statistics for part in parts if part.statistics is not None]
    fixed = [deterministic_share(statistics) for statistics in logged]
    if not fixed or np.nanmax([0.0, *fixed]) > MOSTLY_FIXED:
        return _unknown(
            f"{np.nanmax([0.0, *fixed]):.0%} of the interactions are with queries that almost "
            "always got the same list, so a document's clicks are known at one rank only"
        )
    totals = [_advantages(part) for part in parts if part.statistics is not None]
    joined = ClusterTotals(
        np.concatenate([one.sums for one in totals]), np.concatenate([one.counts for one in totals])
    )
    found = cluster_interval(joined, confidence=CONFIDENCE, target="these queries", seed=seed)
    told = (
        f"{found.value:+.3f} per interaction (lower bound {found.low:+.3f}, upper bound "
        f"{found.high:+.3f}, each with 95% confidence)"
    )
    if found.low > 0:
        sentence = (
            "By the clicks, production is better than a random order of the documents it "
            f"shows: {told}."
        )
        return HealthCheck("production", "pass", found.value, sentence)
    if found.high < 0:
        return HealthCheck(
            "production",
            "fail",
            found.value,
            "By the clicks, production is worse than a random order of the documents it shows: "
            f"{told}. Either the click model is wrong, or users click on what they do not want, or "
            "production is harmful.",
            "Check what counts as a click. If production is known to be that bad, use "
            "--on-doubt ignore.",
        )
    return _unknown(f"the difference is {told}", found.value)


def _advantages(rewards: Rewards) -> ClusterTotals:
    """Of production over a shuffle, summed over the interactions of each query."""
    assert rewards.statistics is not None
    lists, weights = rewards.dataset.lists, rewards.exposure.weights
    chosen = comparable(rewards.exposure)
    centred = np.where(chosen, weights - shuffled(weights, chosen, lists), 0.0)
    displays = rewards.statistics.displays.astype(np.float64)
    return ClusterTotals(displays * lists.sum(centred * rewards.values), displays)


def _unknown(why: str, number: float | None = None) -> HealthCheck:
    return HealthCheck(
        "production",
        "inconclusive",
        number,
        "The clicks do not show whether production is better than a random order of the documents "
        f"it shows: {why}.",
        "Log for longer, or let production vary its lists.",
    )


def comparable(exposure: Exposure) -> Booleans:
    """Documents with enough propensity to be compared, ``[docs]``."""
    enough: Booleans = exposure.propensities >= ENOUGH * exposure.propensities.max(initial=0.0)
    return enough & (exposure.propensities > 0)


def shuffled(weights: Floats, chosen: Booleans, lists: Lists) -> Floats:
    """Weights after a shuffle of the chosen documents of each list: their mean; 0 for others.

    Example:
        >>> one = Lists.of_offsets(np.array([0, 3]))
        >>> shuffled(np.array([0.6, 0.4, 0.1]), np.array([True, True, False]), one)
        array([0.5, 0.5, 0. ])
    """
    total = lists.sum(np.where(chosen, weights, 0.0))
    mean = total / np.maximum(lists.sum(chosen.astype(np.float64)), 1)
    return np.where(chosen, np.repeat(mean, lists.lengths), 0.0)
