"""Rankings of queries, each with the share of requests that gets it: policies that can be stored.

A query with rankings needs no scores: what is stored is what is served, and its expected weights
are exact for every metric.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cltr.errors import DataError
from cltr.policies.optimum import falling
from cltr.types import Booleans, Floats, Integers, Lists


@dataclass(frozen=True)
class QueryRankings:
    """Rankings of some queries of a data set, end to end.

    Attributes:
        places: places of documents in their query's list, by rank, ``[rankings, K]``; -1 behind the
            end of a list.
        shares: of the query's requests, ``[rankings]``; those of a query add up to 1.
        offsets: where each query's rankings lie, ``[queries + 1]``; a query may have none.
    """

    places: Integers
    shares: Floats
    offsets: Integers

    @classmethod
    def of(
        cls, weights: Floats, lists: Lists, rank_weights: Floats, chosen: Booleans | None = None
    ) -> "QueryRankings":
        """Rankings whose expected weights are the given ones.

        Args:
            weights: expected weights that a policy can have, ``[docs]``.
            lists: where each query's documents lie, end to end.
            rank_weights: w, ``[K]``; they must not rise.
            chosen: queries to find rankings for, ``[queries]``; all by default.

        Example:
            >>> w, lists = np.array([1.0, 0.5]), Lists.of_offsets(np.array([0, 2]))
            >>> found = QueryRankings.of(np.array([0.9, 0.6]), lists, w)
            >>> found.places.tolist(), found.shares.round(6).tolist()
            ([[0, 1], [1, 0]], [0.8, 0.2])
        """
        from cltr.kernels.ranking_mixtures import decompose_lists

        wanted = np.ones(len(lists.lengths), np.bool_) if chosen is None else chosen
        rankings = np.full((len(weights), len(rank_weights)), -1, np.int64)
        shares, found = np.zeros(len(weights)), np.zeros(len(lists.lengths), np.int64)
        decompose_lists(
            *lists,
            wanted,
            np.ascontiguousarray(weights),
            falling(rank_weights),
            rankings,
            shares,
            found,
        )
        used = (lists.places < np.repeat(found, lists.lengths)) & (shares > 0)
        counts = np.bincount(lists.owners[used], minlength=len(found))
        totals = np.repeat(np.bincount(lists.owners, shares * used, len(found)), counts)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return cls(rankings[used], shares[used] / totals, offsets)

    @property
    def known(self) -> Booleans:
        """Queries that have rankings, ``[queries]``."""
        return np.asarray(np.diff(self.offsets) > 0)

    @property
    def owners(self) -> Integers:
        """The query of each ranking, ``[rankings]``."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def queries(self, first: int, last: int) -> "QueryRankings":
        """The rankings of queries ``first`` to ``last - 1``."""
        rows = slice(int(self.offsets[first]), int(self.offsets[last]))
        offsets = self.offsets[first : last + 1] - self.offsets[first]
        return QueryRankings(self.places[rows], self.shares[rows], offsets)

    def by_query(self) -> list[tuple[Integers, Floats]]:
        """Places by rank, ``[rankings, ranks]``, and shares of each query."""
        bounds = zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        return [
            (
                self.places[a:b, : int((self.places[a:b] >= 0).sum(-1).max(initial=0))],
                self.shares[a:b],
            )
            for a, b in bounds
        ]

    def rows(self, lists: Lists) -> Integers:
        """Rows of the ranked documents, ``[rankings, K]``; -1 behind the end of a list."""
        starts = lists.starts[self.owners][:, None]
        return np.where(self.places < 0, -1, self.places + starts)

    def weights(self, lists: Lists, rank_weights: Floats) -> Floats:
        """Expected weights for any rank weights, ``[docs]``; 0 for queries without rankings."""
        top_k = self._top_k(rank_weights)
        rows = self.rows(lists)[:, :top_k]
        each = self.shares[:, None] * rank_weights[:top_k]
        n_documents = int(lists.lengths.sum())
        there = rows >= 0
        found: Floats = np.bincount(rows[there], each[there], n_documents).astype(np.float64)
        return found

    def first_weights(self, lists: Lists, chosen: Booleans, rank_weights: Floats) -> Floats:
        """Expected rank weight of the first chosen document of each query, ``[queries]``."""
        top_k = self._top_k(rank_weights)
        rows = self.rows(lists)[:, :top_k]
        hit = (rows >= 0) & chosen[rows] if len(chosen) else rows >= 0
        each = np.where(hit.any(-1), rank_weights[hit.argmax(-1)], 0.0) * self.shares
        return np.bincount(self.owners, each, len(self.offsets) - 1).astype(np.float64)

    def _top_k(self, rank_weights: Floats) -> int:
        most = self.places.shape[1]
        if len(rank_weights) > most:
            raise DataError(f"the stored rankings have {most} ranks; {len(rank_weights)} are asked")
        return len(rank_weights)

    def arrays(self) -> dict[str, Any]:
        """By name, to be stored."""
        return {"places": self.places, "shares": self.shares, "offsets": self.offsets}

    @classmethod
    def parse(cls, arrays: Mapping[str, Any], lists: Lists) -> "QueryRankings":
        """What :meth:`arrays` gave; KeyError or ValueError if it does not fit the lists."""
        found = cls(arrays["places"], arrays["shares"], arrays["offsets"])
        counts = np.diff(found.offsets)
        if len(counts) != len(lists.lengths) or found.offsets[0] != 0 or (counts < 0).any():
            raise ValueError(f"rankings of {len(counts)} queries, not of {len(lists.lengths)}")
        if len(found.shares) != found.offsets[-1] or len(found.places) != len(found.shares):
            raise ValueError("the numbers of rankings and of shares differ")
        lengths = lists.lengths[found.owners][:, None]
        if not ((found.places >= -1) & (found.places < lengths)).all():
            raise ValueError("a ranking names a document that its list does not have")
        totals = np.bincount(found.owners, found.shares, len(counts))[counts > 0]
        if not ((found.shares > 0).all() and np.allclose(totals, 1, atol=1e-9)):
            raise ValueError("the shares of a query's rankings do not add up to 1")
        return found
