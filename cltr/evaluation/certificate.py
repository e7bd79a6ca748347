r"""The safety certificate: how much damage is possible at worst.

From :math:`\omega` and :math:`\omega_0` alone: no assumption on clicks, users or relevance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cltr.errors import DataError
from cltr.interfaces import Estimator
from cltr.objectives.ratios import ratio_extremes
from cltr.policies import ranks_by_score
from cltr.policies.on_dataset import Mixture
from cltr.policies.worst_losses import ideal_shares, top_sums, worst_of
from cltr.types import Booleans, Exposure, Floats, Lists


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
    return _losses_by_count(weights, logging_weights, lists, [at_most])[0]


def _losses_by_count(
    weights: Floats, logging_weights: Floats, lists: Lists, counts: Sequence[int | None]
) -> list[Floats]:
    """The worst losses where so many documents of a query are relevant; documents rank once."""
    losses = np.maximum(logging_weights - weights, 0.0)
    limited = any(count is not None for count in counts)
    ranks = ranks_by_score(losses, lists) if limited else None
    total = lists.sum(logging_weights)
    found = []
    for count in counts:
        sums = lists.sum(losses if ranks is None or count is None else losses * (ranks < count))
        found.append(np.divide(sums, total, out=np.zeros(len(total)), where=total > 0))
    return found


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
        estimator: adds numbers of its own (``diagnostics``), if it has any.
        query_weights: P(q), ``[queries]``; equal by default.
    """
    n_queries = len(lists.lengths)
    share = np.full(n_queries, 1 / max(n_queries, 1)) if query_weights is None else query_weights
    ratio_min, ratio_max = ratio_extremes(weights, logging_weights, lists)
    extremes = (ratio_min.min(), ratio_max.max()) if n_queries else (1.0, 1.0)
    quantiles = np.quantile(ratio_min, [0.05, 0.25, 0.5]) if n_queries else np.ones(3)
    unknown = np.broadcast_to(np.nan, logging_weights.shape)
    exposure = Exposure(logging_weights, unknown, unknown)
    own = estimator.diagnostics(weights, exposure, None, lists)
    worst, *limited = _losses_by_count(weights, logging_weights, lists, [None, 1, 3])
    return {
        "ratio_min": float(extremes[0]),
        "ratio_min_p05": float(quantiles[0]),
        "ratio_min_p25": float(quantiles[1]),
        "ratio_min_p50": float(quantiles[2]),
        "ratio_max": float(extremes[1]),
        "worst_loss": float(share @ worst),
        "worst_loss_1": float(share @ limited[0]),
        "worst_loss_3": float(share @ limited[1]),
        "documents_outside": own.get("documents_outside"),
        "queries_outside": own.get("queries_outside"),
    }


@dataclass(frozen=True)
class Basis:
    """What a certificate rests on, to be named beside its numbers."""

    exposure: str = "exact"
    """How production's weights are known: ``exact``, ``logged`` or ``counted``."""
    traffic: Floats | None = None
    """P(q) of the split's queries, ``[queries]``; None counts every query once."""
    empty: str = "zero"
    """How the metric treats queries without relevant documents; ``skip`` leaves them out."""

    def shares(self, known: Booleans) -> Floats:
        """P(q) of the queries on which production is known; they sum to 1."""
        weights = np.ones(len(known)) if self.traffic is None else self.traffic
        chosen = weights[known]
        return np.asarray(chosen / max(chosen.sum(), 1e-300))


def certificate(
    served: Mixture,
    rank_weights: Floats,
    estimator: Estimator,
    *,
    metric: str = "dcg",
    basis: Basis | None = None,
) -> dict[str, Any]:
    """Of what is served, for one metric, on the queries on which production is known."""
    basis = basis or Basis()
    return {
        **certify(*_where_known(served, rank_weights), estimator=estimator),
        "worst_case": worst_case(served, rank_weights, metric=metric, basis=basis),
    }


def worst_case(
    served: Mixture, rank_weights: Floats, *, metric: str, basis: Basis
) -> dict[str, Any]:
    """The most that metrics can fall below production's, whatever users find relevant.

    ``loss`` is the mean over queries, by P(q); ``at_most_1`` and ``at_most_3`` are the same where
    at most so many documents of a query are relevant; ``largest_query`` is the query that can lose
    most. Where queries without relevant documents are left out of a mean, nothing bounds it but
    the largest query, and ``loss`` is that.

    Args:
        served: what users get, and production.
        rank_weights: of the metric, ``[K]``.
        metric: ``dcg`` gives NDCG and DCG, another one its own value for relevance in [0, 1].
        basis: what the numbers rest on.
    """
    weights, logging_weights, lists = _where_known(served, rank_weights)
    shares = basis.shares(served.known)
    top_k = len(rank_weights)
    ratio_min, _ = ratio_extremes(weights, logging_weights, lists)
    tops = top_sums(weights, logging_weights, lists)

    def told(losses: Floats, *, normalised: bool) -> dict[str, float]:
        counts = {"loss": None, "at_most_1": 1, "at_most_3": 3}
        by_count = {name: worst_of(losses, lists, count) for name, count in counts.items()}
        only_largest = normalised and basis.empty == "skip"
        values = {
            name: _largest(found) if only_largest else float((shares * found).sum())
            for name, found in by_count.items()
        }
        return values | {"largest_query": _largest(by_count["loss"])}

    found: dict[str, Any] = {
        "queries": len(lists.lengths),
        "query_weights": "equal" if basis.traffic is None else "traffic",
        "exposure": basis.exposure,
        "kept_of_most_demoted": float(ratio_min.min()) if len(ratio_min) else 1.0,
        "kept_in_median_query": float(np.median(ratio_min)) if len(ratio_min) else 1.0,
        f"{metric}@{top_k}": told(tops, normalised=False),
    }
    if metric == "dcg":
        shares_lost = ideal_shares(tops, lists, rank_weights)
        found[f"ndcg@{top_k}"] = told(shares_lost, normalised=True)
    return found


def _largest(losses: Floats) -> float:
    return float(losses.max(initial=0.0))


def _where_known(served: Mixture, rank_weights: Floats) -> tuple[Floats, Floats, Lists]:
    """Weights of what is served and of production, and lists: where both are known."""
    if served.production is None:
        raise DataError(
            "the worst-case loss cannot be computed, since nothing is known about production"
        )
    lists, known = served.dataset.lists, served.known
    weights, production = served.weights(rank_weights), served.production.weights(rank_weights)
    if known.all():
        return weights, production, lists
    documents = np.repeat(known, lists.lengths)
    lengths = lists.lengths[known]
    return weights[documents], production[documents], Lists(np.cumsum(lengths) - lengths, lengths)


def blend_for_loss(
    served: Mixture, rank_weights: Floats, *, ndcg_loss: float, basis: Basis | None = None
) -> float:
    r"""Largest :math:`\lambda` for which the mixture with production keeps a worst-case NDCG loss.

    The loss of a mixture is :math:`\lambda` times that of the policy, so this is a division.

    Args:
        served: what would be served without blending.
        rank_weights: of DCG, ``[K]``.
        ndcg_loss: the most that NDCG may fall, 0.02 for two points.
        basis: what the loss rests on, as in :func:`certificate`.
    """
    found = worst_case(served, rank_weights, metric="dcg", basis=basis or Basis())
    loss = float(found[f"ndcg@{len(rank_weights)}"]["loss"])
    return 1.0 if loss <= ndcg_loss else ndcg_loss / loss
