"""[7] What a policy is worth, and what it may cost: metrics on judgements, the certificate."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cltr.certificate import certify, worst_losses
from cltr.interfaces import Estimator, Policy
from cltr.metrics import expected_ndcg, rank_weights
from cltr.types import Dataset, Floats


@dataclass(frozen=True)
class Scored:
    """A policy on one split: the scores of its documents, and how rankings come from them."""

    dataset: Dataset
    scores: Floats
    policy: Policy

    def weights(self, ranks: Floats) -> Floats:
        r""":math:`\omega` for the given rank weights, ``[docs]``."""
        return self.policy.expected_weights(self.scores, self.dataset.lists, ranks)


@dataclass(frozen=True)
class Served:
    r"""What users get: a share :math:`\lambda_q` of the new policy, the rest production.

    The share comes from the estimator (1 unless it enforces a bound), for the weights of every
    metric that is reported, times an optional blend for all queries.
    """

    new: Scored
    production: Scored
    estimator: Estimator
    metrics: tuple[Floats, ...]
    blend: float = 1.0

    def shares(self) -> Floats:
        """Share of the new policy in each query, ``[queries]``."""
        shares = [
            self.estimator.served_share(
                self.new.weights(ranks), self.production.weights(ranks), self.new.dataset.lists
            )
            for ranks in self.metrics
        ]
        return np.asarray(self.blend * np.min(shares, axis=0))

    def weights(self, ranks: Floats) -> Floats:
        r""":math:`(1 - \lambda_q)\,\omega_0 + \lambda_q\,\omega`, ``[docs]``."""
        new = self.new.weights(ranks)
        share = np.repeat(self.shares(), self.new.dataset.lists.lengths)
        if (share == 1.0).all():
            return new
        return (1.0 - share) * self.production.weights(ranks) + share * new


def ndcg(policy: Scored | Served, dataset: Dataset, *, top_k: int) -> float:
    """Expected NDCG@k, mean over queries."""
    weights = policy.weights(rank_weights("dcg", top_k))
    if dataset.n_queries == 0:
        return 0.0
    return float(expected_ndcg(weights, dataset.labels, dataset.lists, top_k=top_k).mean())


def certificate(served: Served, ranks: Floats) -> dict[str, Any]:
    """The certificate of a served policy for one metric."""
    return certify(
        served.weights(ranks),
        served.production.weights(ranks),
        served.new.dataset.lists,
        estimator=served.estimator,
    )


def blend_for_loss(served: Served, ranks: Floats, *, worst_loss: float) -> float:
    r"""Largest :math:`\lambda` for which the mixture with production keeps ``worst_loss``.

    The loss of a mixture is :math:`\lambda` times that of the policy, so this is a division.
    """
    losses = worst_losses(
        served.weights(ranks), served.production.weights(ranks), served.new.dataset.lists
    )
    loss = float(losses.mean()) if len(losses) else 0.0
    return 1.0 if loss <= worst_loss else worst_loss / loss
