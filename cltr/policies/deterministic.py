"""The policy without chance: documents sorted by score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cltr.interfaces import Policy
from cltr.policies.sort_order import ranks_by_score
from cltr.types import Booleans, Floats, Integers, Lists


@dataclass(frozen=True)
class Deterministic(Policy):
    """Documents in order of their scores.

    Example:
        >>> lists = Lists.of_offsets(np.array([0, 3]))
        >>> Deterministic().expected_weights(np.array([0.1, 2.0, 1.0]), lists, np.array([1.0, 0.5]))
        array([0. , 1. , 0.5])
    """

    ties: Literal["order", "expected"] = "order"
    """Equal scores stand in the order of the list, or in any order with the same chance."""
    name: str = "deterministic"

    def expected_weights(self, scores: Floats, lists: Lists, rank_weights: Floats) -> Floats:
        """The weight of the document's rank, 0 behind the last weighted rank."""
        return Deterministic.several_weights(self, scores, lists, [rank_weights])[0]

    def several_weights(
        self, scores: Floats, lists: Lists, rank_weights: Sequence[Floats]
    ) -> list[Floats]:
        """As in the contract; documents are sorted once."""
        ranks, found = ranks_by_score(scores, lists), []
        for each in rank_weights:
            weights = np.append(each, 0.0)
            values = np.asarray(weights[np.minimum(ranks, len(each))])
            expected = self.ties == "expected"
            found.append(_shared_by_ties(values, scores, lists) if expected else values)
        return found

    def with_ties(self, ties: Literal["order", "expected"]) -> "Deterministic":
        return replace(self, ties=ties)

    def first_weights(
        self, scores: Floats, lists: Lists, chosen: Booleans, rank_weights: Floats
    ) -> Floats | None:
        """The weight of the highest chosen document; not known where ties have any order."""
        if self.ties == "expected":
            return None
        weights = self.expected_weights(scores, lists, rank_weights) * chosen
        best = np.zeros(len(lists.lengths))
        np.maximum.at(best, lists.owners, weights[lists.members])
        return best

    def expected_ranks(self, scores: Floats, lists: Lists, rows: Integers) -> Floats:
        """Ranks of some documents, from 1, ``[rows]``."""
        ranks = np.asarray(ranks_by_score(scores, lists) + 1.0)
        if self.ties == "expected":
            ranks = _shared_by_ties(ranks, scores, lists)
        return np.asarray(ranks[rows])


def _shared_by_ties(values: Floats, scores: Floats, lists: Lists) -> Floats:
    """The mean over documents of a list with the same score, in the layout of ``scores``."""
    flat = np.asarray(scores, dtype=np.float64).reshape(-1)[lists.members]
    order = np.lexsort((flat, lists.owners))
    new = np.diff(flat[order], prepend=np.nan) != 0
    new |= np.diff(lists.owners[order], prepend=-1) != 0
    group = np.cumsum(new) - 1
    sums = np.bincount(group, values.reshape(-1)[lists.members][order])
    out = np.array(values, dtype=np.float64)
    out.reshape(-1)[lists.members[order]] = (sums / np.bincount(group))[group]
    return out
