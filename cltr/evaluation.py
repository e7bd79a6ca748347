"""[7] What a policy is worth, and what it may cost: metrics on judgements, the certificate."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cltr.certificate import certify, worst_losses
from cltr.errors import UsageError
from cltr.interfaces import Estimator, Policy
from cltr.metrics import sum_lists
from cltr.types import Booleans, Dataset, Floats, Lists


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
class Counted:
    """A policy on one split, known by how often it showed each document at each rank."""

    dataset: Dataset
    ranks: Floats
    """P(rank(d) = k), ``[docs, K]``; all 0 for the documents of a query that is not known."""

    def weights(self, ranks: Floats) -> Floats:
        r""":math:`\omega` for the given rank weights, ``[docs]``."""
        if len(ranks) > self.ranks.shape[1]:
            raise UsageError(
                f"the policy is known for {self.ranks.shape[1]} ranks; use a smaller --top-k"
            )
        return self.ranks[:, : len(ranks)] @ ranks

    @cached_property
    def known(self) -> Booleans:
        """Which queries were logged at all, ``[queries]``."""
        return sum_lists(self.ranks.sum(-1), self.dataset.lists) > 0


def known_queries(policy: Scored | Counted) -> Booleans:
    """Queries on which a policy is known, ``[queries]``: all, if it has scores."""
    if isinstance(policy, Counted):
        return policy.known
    return np.ones(policy.dataset.n_queries, np.bool_)


@dataclass(frozen=True)
class Served:
    r"""What users get: a share :math:`\lambda_q` of the new policy, the rest production.

    The share comes from the estimator (1 unless it enforces a bound), for the weights of every
    metric that is reported, times an optional blend for all queries.
    """

    new: Scored
    production: Scored | Counted
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


def certificate(served: Served, ranks: Floats) -> dict[str, Any]:
    """Of a served policy for one metric, on the queries on which production is known."""
    return certify(*_where_known(served, ranks), estimator=served.estimator)


def _where_known(served: Served, ranks: Floats) -> tuple[Floats, Floats, Lists]:
    """Weights of what is served and of production, and lists: where both are known."""
    lists, known = served.new.dataset.lists, known_queries(served.production)
    documents = np.repeat(known, lists.lengths)
    lengths = lists.lengths[known]
    return (
        served.weights(ranks)[documents],
        served.production.weights(ranks)[documents],
        Lists(np.cumsum(lengths) - lengths, lengths),
    )


def blend_for_loss(served: Served, ranks: Floats, *, worst_loss: float) -> float:
    r"""Largest :math:`\lambda` for which the mixture with production keeps ``worst_loss``.

    The loss of a mixture is :math:`\lambda` times that of the policy, so this is a division.
    """
    losses = worst_losses(*_where_known(served, ranks))
    loss = float(losses.mean()) if len(losses) else 0.0
    return 1.0 if loss <= worst_loss else worst_loss / loss
