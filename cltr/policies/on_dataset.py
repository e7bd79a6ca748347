"""A policy applied to the lists of one split: the expected weights that it gives there.

A policy is known by scores, or by how often it showed each document at each rank. What users get
may be a mixture of two policies. All three answer the same question, ``weights``, and compute the
answer for the same rank weights once.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from cltr.errors import UsageError
from cltr.interfaces import Enforced, Estimator, Policy
from cltr.types import Booleans, Dataset, Floats, Integers

ANSWERS_KEPT = 4
"""Answers that an applied policy remembers: one for each metric that a run reports."""
Remembered: TypeAlias = OrderedDict[bytes, Floats]


class AppliedPolicy(ABC):
    """What metrics and certificates ask of a policy on one split."""

    dataset: Dataset
    """The lists."""

    @property
    @abstractmethod
    def known(self) -> Booleans:
        """Queries on which the policy is known, ``[queries]``."""

    @abstractmethod
    def weights(self, rank_weights: Floats) -> Floats:
        r""":math:`\omega` for the given rank weights, ``[docs]``; do not change it in place."""

    def several_weights(self, rank_weights: Sequence[Floats]) -> list[Floats]:
        """The same for several rank weights of one length; a policy may share work between them."""
        return [self.weights(each) for each in rank_weights]

    @property
    def parts(self) -> Sequence[tuple[Floats, "AppliedPolicy"]]:
        """Policies that it is a mixture of, with their shares in each query, ``[queries]``."""
        return [(np.ones(self.dataset.n_queries), self)]

    def first_weights(self, chosen: Booleans, rank_weights: Floats) -> Floats | None:
        """Expected rank weight of the first chosen document, ``[queries]``; None if unknown."""
        del chosen, rank_weights
        return None

    def expected_ranks(self, rows: Integers) -> Floats | None:
        """Expected ranks of some documents in their whole lists, from 1, ``[rows]``; or None."""
        del rows
        return None

    def with_ties(self, ties: Literal["order", "expected"]) -> "AppliedPolicy":
        """The same policy, breaking ties of scores like this."""
        del ties
        return self


@dataclass(frozen=True)
class ScoredPolicy(AppliedPolicy):
    """The scores of a split's documents, and how rankings come from them."""

    dataset: Dataset
    scores: Floats
    policy: Policy
    _remembered: Remembered = field(
        default_factory=OrderedDict, init=False, repr=False, compare=False
    )

    def weights(self, rank_weights: Floats) -> Floats:
        r""":math:`\omega` for the given rank weights, ``[docs]``; do not change it in place."""
        return self.several_weights([rank_weights])[0]

    def several_weights(self, rank_weights: Sequence[Floats]) -> list[Floats]:
        """The same for several; those that are not remembered are computed together."""
        asked = {key_of(each): each for each in rank_weights}
        found = {key: self._remembered[key] for key in asked if key in self._remembered}
        new = [key for key in asked if key not in found]
        if new:
            given = [asked[key] for key in new]
            made = self.policy.several_weights(self.scores, self.dataset.lists, given)
            found.update(zip(new, made, strict=True))
        for key in list(asked)[-ANSWERS_KEPT:]:
            # A part of a table, if it were kept, would keep the whole table in memory.
            found[key] = np.require(found[key], requirements="O")
            keep(self._remembered, key, found[key])
        return [found[key_of(each)] for each in rank_weights]

    @cached_property
    def known(self) -> Booleans:
        """All queries, ``[queries]``."""
        return np.ones(self.dataset.n_queries, np.bool_)

    def first_weights(self, chosen: Booleans, rank_weights: Floats) -> Floats | None:
        return self.policy.first_weights(self.scores, self.dataset.lists, chosen, rank_weights)

    def expected_ranks(self, rows: Integers) -> Floats | None:
        return self.policy.expected_ranks(self.scores, self.dataset.lists, rows)

    def with_ties(self, ties: Literal["order", "expected"]) -> "ScoredPolicy":
        policy = self.policy.with_ties(ties)
        return self if policy == self.policy else replace(self, policy=policy)


@dataclass(frozen=True)
class CountedPolicy(AppliedPolicy):
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
        return once(
            self._remembered,
            rank_weights,
            lambda: self.rank_distribution[:, :top_k] @ rank_weights,
        )

    @cached_property
    def known(self) -> Booleans:
        """Which queries were logged at all, ``[queries]``."""
        return self.dataset.lists.sum(self.rank_distribution.sum(-1)) > 0


@dataclass(frozen=True)
class Mixture(AppliedPolicy):
    r"""What users get: a share :math:`\lambda_q` of the new policy, the rest production."""

    new: AppliedPolicy
    production: ScoredPolicy | CountedPolicy | None
    """None where nothing is known of it; then all that is served is new."""
    share: Floats
    """Share of the new policy in each query, ``[queries]``."""

    @classmethod
    def of(
        cls,
        estimator: Estimator,
        new: AppliedPolicy,
        production: ScoredPolicy | CountedPolicy,
        *,
        metrics: Iterable[Floats],
        blend: float = 1.0,
        bounded: Booleans | None = None,
    ) -> "Mixture":
        """The mixture that an estimator serves; all of the new policy unless it enforces a bound.

        Args:
            estimator: says which share of the new policy keeps its bound.
            new: what was learned.
            production: what served the log.
            metrics: rank weights of every reported metric; the strictest one decides.
            blend: share of the new policy on top of the estimator's own.
            bounded: queries whose new policy keeps the bound as it is, ``[queries]``.
        """
        lists = new.dataset.lists
        share = np.ones(len(lists.lengths))
        if not production.known.any():
            return cls(new, None, share)
        if isinstance(estimator, Enforced):
            shares = [
                estimator.served_share(new.weights(weights), production.weights(weights), lists)
                for weights in metrics
            ]
            share = np.min(shares, axis=0)
            share = share if bounded is None else np.where(bounded, 1.0, share)
        return cls(new, production, np.asarray(blend * share))

    @property
    def dataset(self) -> Dataset:  # type: ignore[override]
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

    @property
    def parts(self) -> Sequence[tuple[Floats, AppliedPolicy]]:
        if self.production is None or self.unmixed:
            return [(self.share, self.new)]
        return [(self.share, self.new), (1.0 - self.share, self.production)]

    def weights(self, rank_weights: Floats) -> Floats:
        r""":math:`(1 - \lambda_q)\,\omega_0 + \lambda_q\,\omega`, ``[docs]``."""
        new = self.new.weights(rank_weights)
        if self.production is None or self.unmixed:
            return new
        share = np.repeat(self.share, self.dataset.lists.lengths)
        return (1.0 - share) * self.production.weights(rank_weights) + share * new


def once(remembered: Remembered, rank_weights: Floats, compute: Callable[[], Floats]) -> Floats:
    """The answer for some rank weights, computed if it is not remembered."""
    key = key_of(rank_weights)
    answer = remembered[key] if key in remembered else compute()
    keep(remembered, key, answer)
    return answer


def key_of(rank_weights: Floats) -> bytes:
    """What answers for some rank weights are remembered by."""
    return np.ascontiguousarray(rank_weights, np.float64).tobytes()


def keep(remembered: Remembered, key: bytes, answer: Floats) -> None:
    """Remember an answer as the latest one, and forget the oldest of too many."""
    remembered[key] = answer
    remembered.move_to_end(key)
    while len(remembered) > ANSWERS_KEPT:
        remembered.popitem(last=False)
