r"""Held-out clicks as independent units: interactions where the log keeps them, else queries.

Every estimate is a sum of three kinds of terms of a unit i, each linear in numbers per document
:math:`g_d`:

- corrected clicks :math:`\sum_d g_d (c_i(d) - \beta_{k_i(d)})`,
- examination :math:`\sum_d g_d\, \alpha_{k_i(d)}`, over the documents that were shown,
- the query's own sum :math:`n_i \sum_d g_d`, over all its documents, :math:`n_i` times.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cltr.evaluation.dependence import (
    COLUMNS,
    INTERACTIONS,
    QUERIES,
    Dependence,
    number_clusters,
)
from cltr.types import Affine, Booleans, ClickLog, ClickStatistics, Floats, Integers, Lists


class Units(ABC):
    """Units of a log; what they show is summed with any numbers per document."""

    kind: ClassVar[str]
    """What one unit is, in the plural."""
    affine: Affine
    lists: Lists
    queries: Integers
    """Query of each unit, ``[units]``."""
    dependence: Dependence
    """Which units depend on each other, for the queries of this log."""

    @property
    @abstractmethod
    def counts(self) -> Floats:
        """Interactions of each unit, ``[units]``."""

    @abstractmethod
    def clicked(self, each: Floats) -> Floats:
        r""":math:`\sum_d g_d (c - \beta)` of each unit, ``[units]``."""

    @abstractmethod
    def examined(self, each: Floats) -> Floats:
        r""":math:`\sum_d g_d \alpha` over shown documents of each unit, ``[units]``."""

    @abstractmethod
    def under(self, affine: Affine) -> Self:
        """The same clicks with other examination and trust."""

    def own(self, each: Floats) -> Floats:
        r""":math:`n_i \sum_d g_d` over all documents of the unit's query, ``[units]``."""
        return np.asarray(self.counts * self.lists.sum(each)[self.queries])

    @property
    def n_interactions(self) -> int:
        """Interactions of all units."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class QueryUnits(Units):
    """A unit for each query that came; counts by document and rank are enough."""

    kind: ClassVar[str] = "queries"
    statistics: ClickStatistics
    affine: Affine
    dependence: Dependence = QUERIES

    @cached_property
    def lists(self) -> Lists:  # type: ignore[override]
        return Lists.of_offsets(self.statistics.offsets)

    @cached_property
    def queries(self) -> Integers:  # type: ignore[override]
        return np.flatnonzero(self.statistics.displays > 0)

    @property
    def counts(self) -> Floats:
        return self.statistics.displays[self.queries].astype(np.float64)

    def clicked(self, each: Floats) -> Floats:
        corrected = self.statistics.clicks.sum(-1) - self.statistics.impressions @ self.affine.trust
        return self.lists.sum(each * corrected)[self.queries]

    def examined(self, each: Floats) -> Floats:
        shown = self.statistics.impressions @ self.affine.examination
        return self.lists.sum(each * shown)[self.queries]

    def under(self, affine: Affine) -> Self:
        return replace(self, affine=affine)


@dataclass(frozen=True)
class InteractionUnits(Units):
    """A unit for each interaction."""

    kind: ClassVar[str] = "interactions"
    queries: Integers
    documents: NDArray[np.int32]
    """Shown documents, ``[units, K]``; behind the last document where the list ended."""
    clicks: Booleans
    affine: Affine
    lists: Lists
    dependence: Dependence = INTERACTIONS
    ids: NDArray[np.str_] | None = None
    """Who the interactions are of, ``[units]``; None if the log does not say."""

    @classmethod
    def of(cls, chunks: Iterable[ClickLog], affine: Affine, lists: Lists) -> "InteractionUnits":
        """From the interactions of one split.

        Args:
            chunks: of the log, cut to the ranks of ``affine``.
            affine: examination and trust by rank.
            lists: of the split.
        """
        n_documents = int(lists.lengths.sum())
        parts, ids, column = [], [], None
        for chunk in chunks:
            shown = np.where(chunk.documents >= 0, chunk.documents, n_documents).astype(np.int32)
            parts.append((chunk.queries, shown, chunk.clicks))
            column = next((name for name in COLUMNS if name in chunk.context), None)
            if column is not None:
                ids.append(chunk.context[column])
        queries, documents, clicks = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        units = cls(queries, documents, clicks, affine, lists)
        if column is None:
            return units
        return replace(units, ids=np.concatenate(ids), dependence=Dependence(COLUMNS[column]))

    @property
    def counts(self) -> Floats:
        return np.ones(len(self.queries))

    def clicked(self, each: Floats) -> Floats:
        from cltr.kernels import shown_sums

        padded, trust = np.append(each, 0.0), np.asarray(self.affine.trust, np.float64)
        sums: Floats = shown_sums.clicked(self.documents, self.clicks, padded, trust)
        return sums

    def examined(self, each: Floats) -> Floats:
        from cltr.kernels import shown_sums

        padded = np.append(each, 0.0)
        examination = np.asarray(self.affine.examination, np.float64)
        sums: Floats = shown_sums.examined(self.documents, padded, examination)
        return sums

    def under(self, affine: Affine) -> Self:
        return replace(self, affine=affine)


def read_units(
    parts: Mapping[str, tuple[ClickStatistics, Iterable[ClickLog] | None]], affine: Affine
) -> dict[str, Units]:
    """Interactions of each part of a log if they are kept, else queries.

    Args:
        parts: counts and, where the log keeps them, interactions of each part, cut to the ranks of
            ``affine``.
        affine: examination and trust by rank.
    """
    found: dict[str, Units] = {}
    for split, (statistics, sessions) in parts.items():
        if sessions is None:
            found[split] = QueryUnits(statistics, affine)
        else:
            lists = Lists.of_offsets(statistics.offsets)
            found[split] = InteractionUnits.of(sessions, affine, lists)
    known = {
        split: one
        for split, one in found.items()
        if isinstance(one, InteractionUnits) and one.ids is not None
    }
    if len(known) < len(found):
        return found
    numbers = number_clusters([one.ids for one in known.values() if one.ids is not None])
    return {
        split: replace(one, ids=None, dependence=Dependence(one.dependence.kind, clusters))
        for (split, one), clusters in zip(known.items(), numbers, strict=True)
    }
