r"""What a policy is worth by clicks alone: its value under a reward, with a confidence interval.

.. math:: \hat U(\pi) = \sum_q \tfrac{N_q}{N} \sum_d \omega(d|q,\pi)\, \mu_d

The reward's clicks must be others than those that the policy was trained on or chosen by.
Interactions of a query share its documents, so they are not independent; queries are. So the
interval treats queries as clusters (:mod:`cltr.evaluation.bounds`).

*A fitted click model* has an error of its own, which the intervals contain
(:mod:`cltr.evaluation.click_model_error`).

*Some logs support no interval* (:mod:`cltr.evaluation.bounds.support`). Then a value has none, and
says why.
"""

from typing import Any

import numpy as np

from cltr.errors import DataError
from cltr.evaluation.bounds import (
    ClusterTotals,
    Limits,
    MeanInterval,
    Target,
    cluster_interval,
    diagnose_clusters,
    equal_clicks,
    few_clicks,
)
from cltr.evaluation.click_model_error import ClickModelError
from cltr.interfaces import ClickModel
from cltr.policies.on_dataset import Mixture
from cltr.types import Floats, Rewards

CONFIDENCE = 0.95
"""Of every interval that a run prints."""


def off_policy_values(
    served: Mixture,
    rewards: Rewards,
    rank_weights: Floats,
    *,
    click_model: ClickModel | None,
    trained_on: Rewards,
    seed: int,
) -> dict[str, Any]:
    """Values of production and of what is served, by clicks; no labels are needed.

    Args:
        served: on the queries of ``rewards``.
        rewards: of clicks that nothing was chosen by, without any clipping of propensities.
        rank_weights: of the metric.
        click_model: what the rewards correct for; None if they correct for nothing. The error of a
            fitted one is part of the intervals.
        trained_on: the training clicks, which say whether these queries are new.
        seed: of the bootstrap that is used where queries are few.
    """
    if served.production is None or rewards.statistics is None:
        raise DataError("off-policy values need clicks, and a production ranker that is known")
    target: Target = "new queries" if _apart(rewards, trained_on) else "these queries"
    logging, new = served.production.weights(rank_weights), served.weights(rank_weights)
    fit = ClickModelError.of(click_model, served.production, rewards.statistics.top_k)
    traffic = np.repeat(rewards.query_weights, rewards.dataset.lists.lengths)

    def value(weights: Floats) -> dict[str, Any]:
        found = value_interval(weights, rewards, target=target, seed=seed)
        if not fit.fitted or found.no_interval_because is not None:
            return found.plain()
        error, reason = fit.size(_by_propensity(weights, rewards) * traffic, rewards.values)
        return (
            found.with_error(error) if reason is None else found.without_interval(reason)
        ).plain()

    clusters = diagnose_clusters(value_totals(new - logging, rewards))
    effective, largest = _worth(new, rewards)
    return {
        "split": rewards.split,
        "reward": rewards.source,
        "n_interactions": rewards.n_interactions,
        "production": value(logging),
        "policy": value(new),
        "difference": value(new - logging),
        "queries": clusters.clusters,
        "largest_query_share": clusters.largest_share,
        "effective_queries": clusters.effective_clusters,
        "effective_interactions": effective,
        "largest_weight": largest,
        "equal_clicks": _finite(equal_clicks(*_click_sizes(new - logging, rewards))),
        "one_query_dominates": clusters.dominated,
    }


def value_interval(weights: Floats, rewards: Rewards, *, target: Target, seed: int) -> MeanInterval:
    r"""The value of expected weights under rewards, with an interval where the log supports one.

    Without the error of a fitted click model.

    Args:
        weights: :math:`\omega`, ``[docs]``; the difference of two policies' gives that of values.
        rewards: :math:`\mu`, their clicks and propensities.
        target: whether the queries stand for new ones.
        seed: of the bootstrap that is used where queries are few.
    """
    limits = _query_limits(weights, rewards) if target == "new queries" else None
    found = cluster_interval(
        value_totals(weights, rewards),
        confidence=CONFIDENCE,
        target=target,
        seed=seed,
        limits=limits,
    )
    reason = few_clicks(*_click_sizes(weights, rewards))
    return found if reason is None else found.without_interval(reason)


def value_totals(weights: Floats, rewards: Rewards) -> ClusterTotals:
    r"""The value of expected weights under rewards, summed over the interactions of each query.

    Args:
        weights: :math:`\omega`, ``[docs]``; the difference of two policies' gives that of values.
        rewards: :math:`\mu`, and how often each query came.

    Example:
        >>> from cltr.testing import tiny_clicks
        >>> from cltr.clicks.models import TrustBias
        >>> data = tiny_clicks(TrustBias(), n=100)
        >>> mu, shares = data.dataset.relevance, data.statistics.query_weights
        >>> found = Rewards(data.dataset, mu, data.exposure, shares, statistics=data.statistics)
        >>> totals = value_totals(np.ones(len(mu)), found)
        >>> bool(np.isclose(totals.value, shares @ data.dataset.lists.sum(mu)))
        True
    """
    if rewards.statistics is None:
        raise DataError("off-policy values need clicks")
    displays = rewards.statistics.displays.astype(np.float64)
    return ClusterTotals(displays * rewards.dataset.lists.sum(weights * rewards.values), displays)


def _apart(one: Rewards, other: Rewards) -> bool:
    """Whether two splits have no query in common."""
    first, second = one.dataset, other.dataset
    after = first.first_document >= second.first_document + second.n_documents
    return after or second.first_document >= first.first_document + first.n_documents


def _by_propensity(weights: Floats, rewards: Rewards) -> Floats:
    r""":math:`\omega/\rho_0`, ``[docs]``; 0 for a document that cannot be examined."""
    propensities = rewards.exposure.propensities
    each: Floats = np.divide(
        weights, propensities, out=np.zeros(len(weights)), where=propensities > 0
    )
    return each


def _click_sizes(weights: Floats, rewards: Rewards) -> tuple[Floats, Floats]:
    """What a click on each document adds, and the most clicks that it is expected to get."""
    assert rewards.statistics is not None
    displays = np.repeat(rewards.statistics.displays, rewards.dataset.lists.lengths)
    sizes = _by_propensity(weights, rewards)
    return sizes, np.where(sizes != 0, displays * rewards.exposure.attention, 0.0)


def _finite(number: float) -> float | None:
    """The number; None if policies that show the same leave nothing to tell apart."""
    return number if np.isfinite(number) else None


def _query_limits(weights: Floats, rewards: Rewards) -> Limits:
    """The least and the most that a query's value can be, for relevance between 0 and 1."""
    assert rewards.statistics is not None
    lists, seen = rewards.dataset.lists, rewards.statistics.displays > 0
    least, most = (lists.sum(clip(weights, 0.0))[seen] for clip in (np.minimum, np.maximum))
    return Limits(float(least.min(initial=0.0)), float(most.max(initial=0.0)))


def _worth(weights: Floats, rewards: Rewards) -> tuple[float | None, float | None]:
    r"""How many interactions the log is worth for a policy, and the largest weight.

    By Kish, from the weights :math:`\omega/\rho_0` of all shown documents; None where propensities
    are not known.
    """
    if rewards.statistics is None or np.isnan(rewards.exposure.propensities).any():
        return None, None
    shown = rewards.statistics.impressions.sum(-1).astype(np.float64)
    seen = (shown > 0) & (rewards.exposure.propensities > 0)
    each = weights[seen] / rewards.exposure.propensities[seen]
    first, second = float(shown[seen] @ each), float(shown[seen] @ each**2)
    if second == 0:
        return None, None
    share = first**2 / second / shown[seen].sum()
    return share * rewards.n_interactions, float(each.max())
