r"""Held-out clicks as independent units: interactions where the log keeps them, else queries.

Every estimate is a sum of three kinds of terms of a unit i, each linear in numbers per document
:math:`g_d`:

- corrected clicks :math:`\sum_d g_d (c_i(d) - \beta_{k_i(d)})`,
- examination :math:`\sum_d g_d\, \alpha_{k_i(d)}`, over the documents that were shown,
- the query's own sum :math:`n_i \sum_d g_d`, over all its documents, :math:`n_i` times.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cltr.types import Affine, Booleans, ClickLog, ClickStatistics, Floats, Integers, Lists


class Units(ABC):
    """Units of a log; what they show is summed with any numbers per document."""

    kind: ClassVar[str]
    """What one unit is, in the plural."""
    affine: Affine
    lists: Lists
    queries: Integers
    """Query of each unit, ``[units]``."""

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

    @classmethod
    def of(cls, chunks: Iterable[ClickLog], affine: Affine, lists: Lists) -> "InteractionUnits":
        """From the interactions of one split.

        Args:
            chunks: of the log, cut to the ranks of ``affine``.
            affine: examination and trust by rank.
            lists: of the split.
        """
        n_documents = int(lists.lengths.sum())
        parts = [
            (
                chunk.queries,
                np.where(chunk.documents >= 0, chunk.documents, n_documents).astype(np.int32),
                chunk.clicks,
            )
            for chunk in chunks
        ]
        queries, documents, clicks = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return cls(queries, documents, clicks, affine, lists)

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


def units_of(
    statistics: ClickStatistics,
    sessions: Iterable[ClickLog] | None,
    affine: Affine,
) -> Units:
    """Interactions if they are kept, else queries.

    Args:
        statistics: of one split, cut to the ranks of ``affine``.
        sessions: its interactions, cut likewise, where the log keeps them.
        affine: examination and trust by rank.
    """
    if sessions is None:
        return QueryUnits(statistics, affine)
    return InteractionUnits.of(sessions, affine, Lists.of_offsets(statistics.offsets))
