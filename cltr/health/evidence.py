"""Is there enough of it: clicks, queries, signal, overlap; and are the estimates possible?"""

import numpy as np

from cltr.evaluation.bounds import ClusterTotals, cluster_interval
from cltr.evaluation.off_policy import value_totals
from cltr.health.outcome import HealthCheck
from cltr.types import Affine, ClickStatistics, Exposure, Floats, Lists, Rewards

FEWEST_QUERIES = 10
"""Queries with clicks below which nothing is learned about other queries."""
FEW_QUERIES = 30
"""Queries with clicks below which only small moves are made."""
FEWEST_CLICKS = 100
"""Clicks below which an estimate's error is 10% of its value or more."""
CONFIDENCE = 0.90
"""Of two-sided intervals, so that each end is a 95% bound."""
MOSTLY_HIDDEN = {"exact": 0.75, "logged": 0.75}
"""Share of the candidate documents that may hardly ever be shown, by how exposure is known."""
MOSTLY_HIDDEN_COUNTED = 0.25
"""The same where exposure is counted: a document that was not shown may have been impossible."""
FAR_OUTSIDE = 1.0
"""How far the mean reward of shown documents may lie outside [0, 1]: estimates have errors."""


def check_clicks(statistics: ClickStatistics) -> HealthCheck:
    """Are there clicks, and on enough queries?

    Args:
        statistics: training clicks.
    """
    lists = Lists.of_offsets(statistics.offsets)
    by_query = lists.sum(statistics.clicks.sum(-1))
    clicks, queries = int(by_query.sum()), int((by_query > 0).sum())
    found = f"{clicks:,} training clicks on {queries:,} {_queries(queries)}"
    advice = "Log for longer, or merge the logs of more days."
    if clicks == 0:
        shown = statistics.n_interactions
        sentence = f"There are no clicks in {shown:,} training interactions."
        return HealthCheck("clicks", "fail", 0, sentence, "Check what counts as a click.")
    if queries < FEWEST_QUERIES:
        sentence = f"There are {found}: nothing can be learned about other queries."
        return HealthCheck("clicks", "fail", queries, sentence, advice)
    if queries < FEW_QUERIES or clicks < FEWEST_CLICKS:
        sentence = f"There are only {found}."
        return HealthCheck("clicks", "inconclusive", queries, sentence, advice)
    return HealthCheck("clicks", "pass", queries, f"There are {found}.")


def _queries(n: int) -> str:
    return "query" if n == 1 else "queries"


def check_signal(
    one: ClickStatistics, other: ClickStatistics, affine: Affine, *, seed: int = 0
) -> HealthCheck:
    r"""Do clicks tell the documents of a query apart?

    The clicks are in two halves. A document's corrected clicks in excess of its query's mean,
    :math:`r_d = \sum_k (c_{dk} - n_{dk}\beta_k) - m_q \sum_k n_{dk}\alpha_k`, have a positive
    product over the two halves if documents differ, and a product of mean 0 if they do not.

    Args:
        one: a random half of the impressions of some log.
        other: the other half.
        affine: of the click model.
        seed: of the bootstrap that is used where queries are few.
    """
    lists = Lists.of_offsets(one.offsets)
    first, second = (_excess(half, affine, lists) for half in (one, other))
    spread = np.sqrt(lists.sum(first**2) * lists.sum(second**2))
    told = spread > 0
    if told.sum() < 2:
        return _no_signal(0.0, "too few clicks to compare")
    # Each query counts once: by traffic, one popular query would decide.
    correlations = np.divide(lists.sum(first * second), spread, out=0.0 * spread, where=told)
    totals = ClusterTotals(correlations, told.astype(np.float64))
    found = cluster_interval(totals, confidence=CONFIDENCE, target="these queries", seed=seed)
    correlation = found.value
    if found.low > 0:
        return HealthCheck(
            "signal",
            "pass",
            correlation,
            "Clicks distinguish the documents of a query: the mean correlation of their click "
            f"rates between two halves of the log is {correlation:.2f}.",
        )
    return _no_signal(
        correlation,
        "the mean correlation of their click rates between two halves of the log is "
        f"{correlation:.2f}, which chance explains",
    )


def _no_signal(correlation: float, why: str) -> HealthCheck:
    return HealthCheck(
        "signal",
        "fail",
        correlation,
        f"Clicks do not distinguish the documents of a query: {why}.",
        "Log for longer, or check that clicks belong to the documents beside them.",
    )


def _excess(statistics: ClickStatistics, affine: Affine, lists: Lists) -> Floats:
    """Corrected clicks beyond those that the query's mean relevance explains, ``[docs]``."""
    corrected = statistics.clicks.sum(-1) - statistics.impressions @ affine.trust
    examined = statistics.impressions @ affine.examination
    total = lists.sum(examined)
    mean = np.divide(lists.sum(corrected), total, out=np.zeros(len(total)), where=total > 0)
    excess: Floats = corrected - np.repeat(mean, lists.lengths) * examined
    return excess


def click_rates(statistics: ClickStatistics) -> Affine:
    """Users who click by the rank alone: the log's own click rates, whatever is shown."""
    shown, clicks = statistics.impressions.sum(0), statistics.clicks.sum(0)
    rates = np.divide(clicks, shown, out=np.zeros(len(shown)), where=shown > 0)
    return Affine(rates, np.zeros(len(rates)))


def check_overlap(
    exposure: Exposure, statistics: ClickStatistics, *, best_examination: float
) -> HealthCheck:
    """How many of the candidate documents does production ever show?

    A document counts as hidden if production is expected to have it examined less than once in
    all the displays of its query.

    Args:
        exposure: of training queries.
        statistics: training clicks.
        best_examination: examination at the best rank, the unit of propensities.
    """
    displays = statistics.displays_per_document
    logged = displays > 0
    expected = exposure.propensities / max(best_examination, 1e-12) * displays
    weights = statistics.query_weights / np.maximum(np.diff(statistics.offsets), 1)
    each = np.repeat(weights, np.diff(statistics.offsets))
    hidden = float(each[logged & (expected < 1)].sum() / max(each[logged].sum(), 1e-300))
    sentence = (
        f"Production hardly ever shows {hidden:.0%} of the candidate documents of a query "
        "(they are expected to be examined less than once in this log)."
    )
    if hidden <= MOSTLY_HIDDEN.get(exposure.source, MOSTLY_HIDDEN_COUNTED):
        return HealthCheck("overlap", "pass", hidden, sentence)
    return HealthCheck(
        "overlap",
        "inconclusive",
        hidden,
        f"{sentence} The clicks say nothing about these documents.",
        "Let production show other documents in some requests (cltr explore).",
    )


def check_possible(rewards: Rewards, *, seed: int = 0) -> HealthCheck:
    """Can the relevance estimates be true?

    Args:
        rewards: of validation clicks, without clipping of propensities.
        seed: of the bootstrap that is used where queries are few.
    """
    assert rewards.statistics is not None
    shown = rewards.statistics.impressions.sum(-1)
    mean = float(shown @ rewards.values / max(shown.sum(), 1))
    totals = value_totals(rewards.exposure.weights, rewards)
    found = cluster_interval(totals, confidence=CONFIDENCE, target="these queries", seed=seed)
    told = (
        f"The mean relevance of shown documents is estimated as {mean:.2f}, and the value of "
        f"production as {found.value:.3f}"
    )
    if -FAR_OUTSIDE <= mean <= 1 + FAR_OUTSIDE and found.value > 0:
        return HealthCheck("possible values", "pass", mean, f"{told}.")
    number = mean if found.value > 0 else found.value
    advice = "The click model or the exposure is wrong; use --click-model auto, or check the log."
    if found.value <= 0 <= found.high:
        sentence = (
            f"{told} (lower bound {found.low:.3f}, upper bound {found.high:.3f}, each with 95% "
            "confidence). So the clicks do not show that users want what production shows."
        )
        return HealthCheck("possible values", "fail", number, sentence, advice)
    sentence = (
        f"{told}. That is impossible: relevance lies between 0 and 1, and a value cannot be "
        "negative."
    )
    return HealthCheck("possible values", "fail", number, sentence, advice)
