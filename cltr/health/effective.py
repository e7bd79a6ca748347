"""What the log is worth for other rankings than those it shows: the effective sample.

*Before training* the other ranking is a shuffle of the documents that production shows with enough
propensity. A click on a document that is shown seldom counts more than others, so the clicks are
worth fewer; and where a few queries have most of the traffic, so are the queries.

*After training* it is the policy itself, and the clicks are those that nothing has looked at.
"""

from cltr.checks.effective import effective_interactions
from cltr.evaluation.bounds.clusters import effective_size
from cltr.evaluation.bounds.support import FEWEST_CLICKS
from cltr.health.outcome import HealthCheck, HealthOutcome
from cltr.health.production import comparable, shuffled
from cltr.types import Affine, Rewards

ENOUGH_CLICKS = 100.0
"""Effective clicks that leave a relative error of 10%: below, only small moves are made."""
ENOUGH_QUERIES = 10.0
"""Queries that the traffic comes down to, below which a few of them decide what is learned."""
NAME = "effective sample"


def check_effective_sample(rewards: Rewards, affine: Affine) -> HealthCheck:
    """How many clicks is the log worth for a shuffle of what production shows?

    Args:
        rewards: of training clicks.
        affine: of the click model.
    """
    statistics, exposure = rewards.statistics, rewards.exposure
    assert statistics is not None
    weights = shuffled(exposure.weights, comparable(exposure), rewards.dataset.lists)
    found = effective_interactions(
        statistics, weights, exposure.propensities, affine.examination
    ).clicks
    queries = effective_size(statistics.displays.astype(float))
    sentence = (
        "About a random order of the documents that production shows, the "
        f"{int(statistics.clicks.sum()):,} training clicks say as much as {found:,.0f} equally "
        f"weighted clicks, and the traffic as much as {queries:,.0f} equally frequent queries."
    )
    return HealthCheck(NAME, _outcome(found, queries), found, sentence, _advice(found, queries))


def _outcome(clicks: float, queries: float) -> HealthOutcome:
    if clicks < FEWEST_CLICKS:
        return "fail"
    return "inconclusive" if clicks < ENOUGH_CLICKS or queries < ENOUGH_QUERIES else "pass"


def _advice(clicks: float, queries: float) -> str:
    if clicks < ENOUGH_CLICKS:
        return "Log for longer, or let production vary its lists more evenly."
    return "" if queries >= ENOUGH_QUERIES else "Log for longer, or leave out the largest queries."


def check_policy_sample(equal_clicks: float) -> HealthCheck:
    """How many held-out clicks decide about the learned policy?

    Too few say nothing against it, so it is not a failure: a canary can tell.

    Args:
        equal_clicks: to how many equal clicks those come down that tell the policy from production
            (:func:`cltr.evaluation.bounds.equal_clicks`).

    Example:
        >>> check_policy_sample(250.0).outcome, check_policy_sample(7.0).outcome
        ('pass', 'inconclusive')
    """
    name = f"{NAME} of the policy"
    sentence = (
        "About the difference between the new policy and production, the held-out clicks say as "
        f"much as {equal_clicks:,.0f} equally weighted clicks."
    )
    if equal_clicks >= FEWEST_CLICKS:
        return HealthCheck(name, "pass", equal_clicks, sentence)
    advice = "Log for longer, or stay closer to production (-o estimator.clip=0.5)."
    return HealthCheck(name, "inconclusive", equal_clicks, sentence, advice)
