r"""The safety certificate: how much damage is possible at worst.

From :math:`\omega` and :math:`\omega_0` alone: no assumption on clicks, users or relevance.
"""

from typing import Any

import numpy as np

from cltr.errors import DataError
from cltr.interfaces import Estimator
from cltr.objectives.ratios import ratio_extremes
from cltr.policies.on_dataset import Mixture
from cltr.types import Booleans, Floats, Lists


def worst_losses(
    weights: Floats, logging_weights: Floats, lists: Lists, *, at_most: int | None = None
) -> Floats:
    r"""The most each query's metric can fall, as a share of its list's total weight, ``[queries]``.

    .. math:: \max_{R \in [0,1]} \frac{U(\pi_0) - U(\pi)}{Z_q}
              = \frac{1}{Z_q} \sum_d (\omega_{0,d} - \omega_d)_+

    Args:
        weights: :math:`\omega`, ``[docs]``.
        logging_weights: :math:`\omega_0`, ``[docs]``.
        lists: where each query's documents lie, end to end.
        at_most: only this many documents of a query are relevant: the m largest terms.
    """
    losses = np.maximum(logging_weights - weights, 0.0)
    if at_most is not None:
        from cltr.policies import ranks_by_score

        losses = losses * (ranks_by_score(losses, lists) < at_most)
    total = lists.sum(logging_weights)
    return np.divide(lists.sum(losses), total, out=np.zeros(len(total)), where=total > 0)


def certify(
    weights: Floats,
    logging_weights: Floats,
    lists: Lists,
    *,
    estimator: Estimator,
    query_weights: Floats | None = None,
) -> dict[str, Any]:
    r"""What can be promised of a policy, whatever is relevant.

    Args:
        weights: :math:`\omega` of the served policy, ``[docs]``.
        logging_weights: :math:`\omega_0`, ``[docs]``.
        lists: where each query's documents lie, end to end.
        estimator: says which documents lie outside its band, if it has one.
        query_weights: P(q), ``[queries]``; equal by default.
    """
    n_queries = len(lists.lengths)
    share = np.full(n_queries, 1 / max(n_queries, 1)) if query_weights is None else query_weights
    ratio_min, ratio_max = ratio_extremes(weights, logging_weights, lists)
    extremes = (ratio_min.min(), ratio_max.max()) if n_queries else (1.0, 1.0)
    quantiles = np.quantile(ratio_min, [0.05, 0.25, 0.5]) if n_queries else np.ones(3)
    outside = estimator.outside(weights, logging_weights)
    return {
        "ratio_min": float(extremes[0]),
        "ratio_min_p05": float(quantiles[0]),
        "ratio_min_p25": float(quantiles[1]),
        "ratio_min_p50": float(quantiles[2]),
        "ratio_max": float(extremes[1]),
        "worst_loss": float(share @ worst_losses(weights, logging_weights, lists)),
        "worst_loss_1": float(share @ worst_losses(weights, logging_weights, lists, at_most=1)),
        "worst_loss_3": float(share @ worst_losses(weights, logging_weights, lists, at_most=3)),
        "documents_outside": None if outside is None else _share(outside),
        "queries_outside": None
        if outside is None
        else _share(lists.sum(outside.astype(np.float64)) > 0),
    }


def _share(which: Booleans) -> float:
    return float(which.mean()) if len(which) else 0.0


def certificate(served: Mixture, rank_weights: Floats, estimator: Estimator) -> dict[str, Any]:
    """Of what is served, for one metric, on the queries on which production is known."""
    return certify(*_where_known(served, rank_weights), estimator=estimator)


def _where_known(served: Mixture, rank_weights: Floats) -> tuple[Floats, Floats, Lists]:
    """Weights of what is served and of production, and lists: where both are known."""
    if served.production is None:
        raise DataError("nothing is known of production, so nothing can be certified")
    lists, known = served.dataset.lists, served.known
    documents = np.repeat(known, lists.lengths)
    lengths = lists.lengths[known]
    return (
        served.weights(rank_weights)[documents],
        served.production.weights(rank_weights)[documents],
        Lists(np.cumsum(lengths) - lengths, lengths),
    )


def blend_for_loss(served: Mixture, rank_weights: Floats, *, worst_loss: float) -> float:
    r"""Largest :math:`\lambda` for which the mixture with production keeps ``worst_loss``.

    The loss of a mixture is :math:`\lambda` times that of the policy, so this is a division.
    """
    losses = worst_losses(*_where_known(served, rank_weights))
    loss = float(losses.mean()) if len(losses) else 0.0
    return 1.0 if loss <= worst_loss else worst_loss / loss
