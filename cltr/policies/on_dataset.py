"""A policy applied to the lists of one split: the expected weights that it gives there.

A policy is known by scores, or by how often it showed each document at each rank. What users get
may be a mixture of two policies. All three answer the same question, ``weights``, and compute the
answer for the same rank weights once.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from cltr.errors import UsageError
from cltr.interfaces import Estimator, Policy
from cltr.types import Booleans, Dataset, Floats

ANSWERS_KEPT = 4
"""Answers that an applied policy remembers: one for each metric that a run reports."""
Remembered: TypeAlias = OrderedDict[bytes, Floats]


class AppliedPolicy(Protocol):
    """What metrics and certificates ask of a policy on one split."""

    @property
    def dataset(self) -> Dataset:
        """The lists."""
        ...

    @property
    def known(self) -> Booleans:
        """Queries on which the policy is known, ``[queries]``."""
        ...

    def weights(self, rank_weights: Floats) -> Floats:
        r""":math:`\omega` for the given rank weights, ``[docs]``; do not change it in place."""
        ...


@dataclass(frozen=True)
class ScoredPolicy:
    """The scores of a split's documents, and how rankings come from them."""

    dataset: Dataset
    scores: Floats
    policy: Policy
    _remembered: Remembered = field(
        default_factory=OrderedDict, init=False, repr=False, compare=False
    )

    def weights(self, rank_weights: Floats) -> Floats:
        r""":math:`\omega` for the given rank weights, ``[docs]``; do not change it in place."""
        return _once(
            self._remembered,
            rank_weights,
            lambda: self.policy.expected_weights(self.scores, self.dataset.lists, rank_weights),
        )

    @cached_property
    def known(self) -> Booleans:
        """All queries, ``[queries]``."""
        return np.ones(self.dataset.n_queries, np.bool_)


@dataclass(frozen=True)
class CountedPolicy:
    """How often a policy showed each document of a split at each rank."""

    dataset: Dataset
    rank_distribution: Floats
    """P(rank(d) = k), ``[docs, K]``; all 0 for the documents of a query that is not known."""
    _remembered: Remembered = field(
        default_factory=OrderedDict, init=False, repr=False, compare=False
    )

    def weights(self, rank_weights: Floats) -> Floats:
        r""":math:`\omega` for the given rank weights, ``[docs]``; do not change it in place."""
        top_k, known_ranks = len(rank_weights), self.rank_distribution.shape[1]
        if top_k > known_ranks:
            raise UsageError(f"the policy is known for {known_ranks} ranks; use a smaller --top-k")
        return _once(
            self._remembered,
            rank_weights,
            lambda: self.rank_distribution[:, :top_k] @ rank_weights,
        )

    @cached_property
    def known(self) -> Booleans:
        """Which queries were logged at all, ``[queries]``."""
        return self.dataset.lists.sum(self.rank_distribution.sum(-1)) > 0


@dataclass(frozen=True)
class Mixture:
    r"""What users get: a share :math:`\lambda_q` of the new policy, the rest production."""

    new: ScoredPolicy
    production: ScoredPolicy | CountedPolicy | None
    """None where nothing is known of it; then all that is served is new."""
    share: Floats
    """Share of the new policy in each query, ``[queries]``."""

    @classmethod
    def of(
        cls,
        estimator: Estimator,
        new: ScoredPolicy,
        production: ScoredPolicy | CountedPolicy,
        *,
        metrics: Iterable[Floats],
        blend: float = 1.0,
    ) -> "Mixture":
        """The mixture that an estimator serves; all of the new policy unless it enforces a bound.

        Args:
            estimator: says which share of the new policy keeps its bound.
            new: what was learned.
            production: what served the log.
            metrics: rank weights of every reported metric; the strictest one decides.
            blend: share of the new policy on top of the estimator's own.
        """
        lists = new.dataset.lists
        if not production.known.any():
            return cls(new, None, np.ones(len(lists.lengths)))
        shares = [
            estimator.served_share(new.weights(weights), production.weights(weights), lists)
            for weights in metrics
        ]
        return cls(new, production, np.asarray(blend * np.min(shares, axis=0)))

    @property
    def dataset(self) -> Dataset:
        """The lists."""
        return self.new.dataset

    @property
    def known(self) -> Booleans:
        """Queries on which production is known, ``[queries]``."""
        if self.production is None:
            return np.zeros(self.dataset.n_queries, np.bool_)
        return self.production.known

    @cached_property
    def unmixed(self) -> bool:
        """Whether production has no share in any query."""
        return self.production is None or bool((self.share == 1.0).all())

    def weights(self, rank_weights: Floats) -> Floats:
        r""":math:`(1 - \lambda_q)\,\omega_0 + \lambda_q\,\omega`, ``[docs]``."""
        new = self.new.weights(rank_weights)
        if self.production is None or self.unmixed:
            return new
        share = np.repeat(self.share, self.dataset.lists.lengths)
        return (1.0 - share) * self.production.weights(rank_weights) + share * new


def _once(remembered: Remembered, rank_weights: Floats, compute: Callable[[], Floats]) -> Floats:
    key = np.ascontiguousarray(rank_weights, np.float64).tobytes()
    if key not in remembered:
        remembered[key] = compute()
        while len(remembered) > ANSWERS_KEPT:
            remembered.popitem(last=False)
    remembered.move_to_end(key)
    return remembered[key]
