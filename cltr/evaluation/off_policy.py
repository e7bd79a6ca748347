r"""What a policy is worth by clicks alone: its value under a reward, with a confidence interval.

.. math:: \hat U(\pi) = \sum_q \tfrac{N_q}{N} \sum_d \omega(d|q,\pi)\, \mu_d

The reward's clicks must be others than those that the policy was trained on or chosen by.
Interactions of a query share its documents, so they are not independent; queries are. So the
interval treats queries as clusters (:mod:`cltr.evaluation.bounds`).
"""

from typing import Any

import numpy as np

from cltr.errors import DataError
from cltr.evaluation.bounds import (
    ClusterTotals,
    MeanInterval,
    Target,
    cluster_interval,
    diagnose_clusters,
)
from cltr.policies.on_dataset import Mixture
from cltr.types import Floats, Rewards

CONFIDENCE = 0.95
"""Of every interval that a run prints."""


def off_policy_values(
    served: Mixture, rewards: Rewards, rank_weights: Floats, *, trained_on: Rewards, seed: int
) -> dict[str, Any]:
    """Values of production and of what is served, by clicks; no labels are needed.

    Args:
        served: on the queries of ``rewards``.
        rewards: of clicks that nothing was chosen by, without any clipping of propensities.
        rank_weights: of the metric.
        trained_on: the training clicks, which say whether these queries are new.
        seed: of the bootstrap that is used where queries are few.
    """
    if served.production is None or rewards.statistics is None:
        raise DataError("off-policy values need clicks, and a production ranker that is known")
    target: Target = "new queries" if _apart(rewards, trained_on) else "these queries"
    logging, new = served.production.weights(rank_weights), served.weights(rank_weights)

    def value(weights: Floats) -> MeanInterval:
        totals = value_totals(weights, rewards)
        return cluster_interval(totals, confidence=CONFIDENCE, target=target, seed=seed)

    clusters = diagnose_clusters(value_totals(new - logging, rewards))
    effective, largest = _worth(new, rewards)
    return {
        "split": rewards.split,
        "reward": rewards.source,
        "n_interactions": rewards.n_interactions,
        "production": value(logging).plain(),
        "policy": value(new).plain(),
        "difference": value(new - logging).plain(),
        "queries": clusters.clusters,
        "largest_query_share": clusters.largest_share,
        "effective_queries": clusters.effective_clusters,
        "effective_interactions": effective,
        "largest_weight": largest,
        "one_query_dominates": clusters.dominated,
    }


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
