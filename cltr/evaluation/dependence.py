"""Which interactions of a log depend on each other, and bounds for means that allow for it.

Interactions of one user, or of one session, are alike. Where a log keeps users or sessions, these
are the independent clusters for the queries of this log; else each interaction is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cltr.evaluation.bounds import (
    ClusterTotals,
    Limits,
    betting_lower,
    cluster_betting_lower,
    cluster_error,
)
from cltr.types import Booleans, Floats, Integers

COLUMNS = {"user": "users", "context_session": "sessions"}
"""Columns of interactions that say who they are of, the first that a log keeps, in the plural."""


@dataclass(frozen=True)
class Dependence:
    """The cluster of each unit."""

    kind: str
    """What one cluster is, in the plural."""
    clusters: Integers | None = None
    """Number of each unit's cluster, ``[units]``; None if each unit is one."""

    def totals(self, terms: Floats, counts: Floats) -> ClusterTotals:
        """Terms summed over clusters.

        Args:
            terms: of units, ``[units]``.
            counts: their interactions, ``[units]``.

        Example:
            >>> Dependence("users", np.array([0, 1, 0])).totals(np.ones(3), np.ones(3)).counts
            array([2., 1.])
        """
        if self.clusters is None:
            return ClusterTotals(terms, counts)
        sums, sizes = (np.bincount(self.clusters, each) for each in (terms, counts))
        return ClusterTotals(sums.astype(np.float64), sizes.astype(np.float64))

    def error(self, terms: Floats, counts: Floats) -> float | None:
        """Standard error of the mean over interactions; None for a single cluster."""
        found = cluster_error(self.totals(terms, counts))
        return found if np.isfinite(found) else None

    def lower(self, terms: Floats, limits: Limits, *, confidence: float, seed: int) -> float:
        """Lower bound by betting for the mean of terms, one of each interaction.

        Of a cluster that is larger than the mean cluster, so many interactions count as that has,
        chosen at random (:func:`largest_count`).

        Args:
            terms: of interactions, ``[units]``.
            limits: the smallest and the largest possible term.
            confidence: one-sided, for example 0.95.
            seed: of the shuffle and of the choice.

        Example:
            >>> who = Dependence("users", np.arange(100) // 2)
            >>> terms, limits = np.tile([0.2, 0.6], 50), Limits(0.0, 1.0)
            >>> round(who.lower(terms, limits, confidence=0.95, seed=0), 3)
            0.355
        """
        if self.clusters is None:
            return betting_lower(terms, limits, confidence=confidence, seed=seed)
        largest = self.most
        kept = keep_at_most(self.clusters, largest, seed=seed)
        totals = Dependence(self.kind, self.clusters[kept]).totals(
            terms[kept], np.ones(int(kept.sum()))
        )
        return cluster_betting_lower(
            totals, limits, largest_count=largest, confidence=confidence, seed=seed
        )

    @property
    def most(self) -> int:
        """Interactions of one cluster that count in a bound."""
        return 1 if self.clusters is None else largest_count(self.clusters)

    @property
    def n_clusters(self) -> int | None:
        """How many clusters there are; None if each unit is one."""
        return None if self.clusters is None else len(np.unique(self.clusters))


def pool(parts: Sequence[Dependence]) -> Dependence:
    """Of the units of several parts, in their order."""
    found = [part.clusters for part in parts if part.clusters is not None]
    if len(found) < len(parts):
        return Dependence(parts[0].kind)
    return Dependence(parts[0].kind, np.concatenate(found))


def largest_count(clusters: Integers) -> int:
    """Interactions of a cluster that count in a bound: those of the mean cluster, rounded up.

    The limits of a cluster's sum grow with this number, and fewer interactions count if it is
    small. It is chosen by counts, without a look at clicks.

    Example:
        >>> largest_count(np.array([0, 0, 1, 2, 2, 2, 2]))
        3
    """
    sizes = np.bincount(clusters)
    return int(np.ceil(sizes[sizes > 0].mean()))


def keep_at_most(clusters: Integers, most: int, *, seed: int) -> Booleans:
    """Some units of each cluster, chosen at random, ``[units]``.

    Args:
        clusters: of units.
        most: units of a cluster that are kept.
        seed: of the choice.

    Example:
        >>> kept = keep_at_most(np.array([0, 0, 0, 1]), 2, seed=0)
        >>> int(kept[:3].sum()), bool(kept[3])
        (2, True)
    """
    shuffled = np.random.default_rng(seed).permutation(len(clusters))
    order = shuffled[np.argsort(clusters[shuffled], kind="stable")]
    sorted_clusters = clusters[order]
    starts = np.flatnonzero(np.append(True, sorted_clusters[1:] != sorted_clusters[:-1]))
    places = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = np.zeros(len(clusters), np.bool_)
    kept[order[places < most]] = True
    return kept


def number_clusters(ids: Sequence[np.ndarray]) -> list[Integers]:
    """Numbers of ids that several parts of a log share; an empty id is a cluster of its own.

    Args:
        ids: of the interactions of each part, as text.

    Example:
        >>> number_clusters([np.array(["a", ""]), np.array(["", "a"])])
        [array([1, 3]), array([4, 1])]
    """
    pooled = np.concatenate(ids)
    names, numbers = np.unique(pooled, return_inverse=True)
    nameless = pooled == ""
    numbers = np.where(nameless, len(names) + np.arange(len(pooled)), numbers)
    return np.split(numbers.astype(np.int64), np.cumsum([len(part) for part in ids])[:-1])


QUERIES, INTERACTIONS = Dependence("queries"), Dependence("interactions")
"""Units that are clusters of their own."""
