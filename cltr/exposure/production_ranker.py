"""The ranker that served a log, as far as it is known: by scores, propensities or counts.

Where only counts are known, it still has expected weights, so exposure and certificates work; and
there are scores whose Plackett-Luce policy has the same weights, to start training from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cltr.errors import DataError
from cltr.interfaces import Model, Policy
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import CountedPolicy, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.types import ClickStatistics, Dataset, Floats, Lists

LARGEST_MISFIT = 0.1
"""Share of impressions that may be elsewhere than scores say, beyond chance."""


@dataclass(frozen=True)
class Production:
    """The ranker that served the log: its scores on all documents, or what it showed how often."""

    scores: Floats | None
    scorer: str = ""
    model: Model | None = None
    policy: Policy = field(default_factory=PlackettLuce)
    rank_distribution: Floats | None = None
    """P(rank(d) = k) of all documents, ``[docs, K]``, where that is what is known."""
    by_part: Mapping[str, Floats] = field(default_factory=dict)
    """P(rank(d) = k) of the documents of a part of the log, ``[docs, K]``, where several policies
    served the log and their shares of the traffic differ by part."""
    source: str = "exact"
    """How exposure is known: ``exact``, ``logged`` propensities, or ``counted``."""

    def on(self, dataset: Dataset, split: str) -> ScoredPolicy | CountedPolicy:
        """The policy on one split."""
        rows, part = dataset.documents_of(split), dataset.part(split)
        if split in self.by_part:
            return CountedPolicy(part, self.by_part[split])
        if self.rank_distribution is not None:
            return CountedPolicy(part, self.rank_distribution[rows])
        if self.scores is None:
            raise DataError(
                "nothing is known about production: there are no scores, no "
                "propensities and no counts"
            )
        return ScoredPolicy(part, self.scores[rows], self.policy)

    def start(self, dataset: Dataset, top_k: int) -> Floats:
        """Scores to start training from, ``[docs]``: its own, or such as match what it showed.

        Where its own do not say what it showed, they are scaled so that they do as well as they
        can: a ranker that sorts its scores shows what very large ones would.
        """
        if self.rank_distribution is None and self.scores is None:
            raise DataError(
                "nothing is known about production, so training cannot start there; "
                "use --init random"
            )
        if self.rank_distribution is None:
            return np.asarray(self.scores)
        shown = self.rank_distribution[:, :top_k]
        if self.scores is None:
            return matching_scores(shown, dataset.lists)
        return scaled_scores(self.scores, shown, dataset.lists)


def count_rank_distribution(dataset: Dataset, statistics: dict[str, ClickStatistics]) -> Floats:
    """How often each document was at each rank, per display of its query, ``[docs, K]``.

    Splits that share lists are counted together: they were served by the same ranker.
    """
    top_k = next(iter(statistics.values())).top_k
    shown = np.zeros((dataset.n_documents, top_k), np.int64)
    displays = np.zeros(dataset.n_queries, np.int64)
    for split, part in statistics.items():
        first, last = dataset.splits[split]
        shown[dataset.documents_of(split)] += part.impressions
        displays[first:last] += part.displays
    per_document = np.repeat(displays, dataset.lists.lengths)
    chances: Floats = shown / np.maximum(per_document, 1)[:, None]
    return chances


def misfit(chances: Floats, statistics: ClickStatistics) -> float:
    """Share of impressions that are elsewhere than a policy would show them, beyond chance.

    Half the sum of differences between counted and expected impressions, less what chance alone
    would leave of it.

    Args:
        chances: P(rank(d) = k) by the policy, ``[docs, K]``.
        statistics: what was shown.
    """
    displays = statistics.displays_per_document[:, None]
    away = np.abs(statistics.impressions - displays * chances).sum()
    chance = np.sqrt(2 / np.pi * displays * chances * (1 - chances).clip(0)).sum()
    return float(max(away - chance, 0.0) / max(2 * statistics.impressions.sum(), 1))


SHARPEST = 64.0
"""Factor on standardised scores beyond which a policy hardly changes."""


def scaled_scores(scores: Floats, rank_distribution: Floats, lists: Lists) -> Floats:
    """Scores times the factor that makes their Plackett-Luce policy most like what was shown.

    Args:
        scores: of production, ``[docs]``, on any scale.
        rank_distribution: what was shown, ``[docs, K]``; queries that never came are left out.
        lists: where each query's documents lie.

    Example:
        >>> lists = Lists.of_offsets(np.array([0, 3]))
        >>> sorted_once = np.eye(3)[:, :2]
        >>> scaled = scaled_scores(np.array([0.3, 0.2, 0.1]), sorted_once, lists)
        >>> bool(scaled[0] - scaled[1] > 10)
        True
    """
    top_k = rank_distribution.shape[1]
    counted = np.repeat(lists.sum(rank_distribution[:, 0]) > 0, lists.lengths)
    mean = np.repeat(lists.sum(scores) / np.maximum(lists.lengths, 1), lists.lengths)
    spread = float(np.sqrt(np.mean((scores - mean) ** 2))) or 1.0
    policy = PlackettLuce()

    def away(factor: float) -> float:
        found = policy.rank_distribution(factor * scores, lists, top_k)
        return float(np.abs(found - rank_distribution)[counted].sum())

    factors = [1.0, *np.geomspace(1 / SHARPEST, SHARPEST, 13) / spread]
    return np.asarray(min(factors, key=away) * scores)


def matching_scores(rank_distribution: Floats, lists: Lists, *, steps: int = 50) -> Floats:
    r"""Scores whose Plackett-Luce policy shows documents about as often as was counted, ``[docs]``.

    Expected weights grow with a document's own score, so :math:`s_d \mathrel{+}= \log(\omega_{0,d}
    / \omega_d(s))` climbs to the scores with :math:`\omega = \omega_0`. A document that was never
    shown counts as shown half a time at the last rank.

    Example:
        >>> lists = Lists.of_offsets(np.array([0, 3]))
        >>> chances = PlackettLuce().rank_distribution(np.array([1.0, 0.0, -1.0]), lists, 2)
        >>> scores = matching_scores(chances, lists)
        >>> (scores - scores.mean()).round(3)
        array([ 1.,  0., -1.])
    """
    weights = rank_weights("dcg", rank_distribution.shape[1])
    target = rank_distribution @ weights
    smallest = np.where(rank_distribution > 0, rank_distribution, np.inf).min(initial=np.inf)
    target = np.maximum(target, 0.5 * weights[-1] * min(smallest, 1.0))
    policy = PlackettLuce()
    scores = np.log(target)
    for _ in range(steps):
        reached = policy.expected_weights(scores, lists, weights)
        scores = scores + np.log(target / np.maximum(reached, 1e-12))
    means = np.bincount(lists.owners, scores, minlength=len(lists.lengths)) / np.maximum(
        lists.lengths, 1
    )
    return np.asarray(scores - np.repeat(means, lists.lengths))
