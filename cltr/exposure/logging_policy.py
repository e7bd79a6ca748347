"""Which policy served a log: how often it shows each document at each rank, and how that is known.

Unlike training, which draws rankings from scores, this also knows production that sorts them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from cltr.errors import DataError
from cltr.exposure.production_ranker import (
    LARGEST_MISFIT,
    count_rank_distribution,
    misfit,
)
from cltr.policies import Deterministic, PlackettLuce
from cltr.types import Booleans, ClickStatistics, Dataset, Floats

KnownBy: TypeAlias = Literal["sorted scores", "sampled scores", "records", "propensities", "counts"]
FIXED = 1.0 - 1e-9
"""A document that is shown at its rank with at least this probability has one place."""
COMPLETE = 1e-3
"""Share of a query's displays that logged propensities may leave out."""


@dataclass(frozen=True)
class LoggingPolicy:
    """The policy that served a log."""

    chances: Floats
    """P(rank(d) = k) of all documents, ``[docs, K]``; 0 in queries where nothing is known."""
    known: Booleans
    """Queries where it is known, ``[queries]``."""
    known_by: KnownBy
    away: float = 0.0
    """Share of impressions that are elsewhere than scores say, beyond chance."""
    rejected: str = ""
    """Why scores or propensities that are there are not used; empty if they are."""

    def deterministic(self, dataset: Dataset) -> float:
        """Share of the known queries whose ranking never changes."""
        moving = (self.chances > 1 - FIXED) & (self.chances < FIXED)
        by_query = dataset.lists.sum(np.asarray(moving.any(-1), np.float64))
        return float((by_query[self.known] == 0).mean()) if self.known.any() else 0.0


def whole_log(dataset: Dataset, statistics: Mapping[str, ClickStatistics]) -> ClickStatistics:
    """All parts of a log as one, on all queries of its data set."""
    top_k = min(part.top_k for part in statistics.values())
    shape = (dataset.n_documents, top_k)
    impressions, clicks = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    displays = np.zeros(dataset.n_queries, np.int64)
    for split, part in statistics.items():
        rows, (first, last) = dataset.documents_of(split), dataset.splits[split]
        impressions[rows] += part.impressions[:, :top_k]
        clicks[rows] += part.clicks[:, :top_k]
        displays[first:last] += part.displays
    return ClickStatistics(impressions, clicks, displays, dataset.offsets)


def find_logging_policy(
    dataset: Dataset,
    statistics: Mapping[str, ClickStatistics],
    *,
    scores: Floats | None = None,
    propensities: Floats | None = None,
    computed: bool = False,
) -> LoggingPolicy:
    """The policy as well as it is known: by records, scores, propensities or counts.

    Args:
        dataset: whose documents the log shows.
        statistics: by part of the log.
        scores: of production, ``[docs]``; used if rankings sorted by or drawn from them explain
            what was shown.
        propensities: logged probabilities to show a document at a rank, ``[docs, K]``.
        computed: whether these are exact, of all documents.
    """
    whole = whole_log(dataset, statistics)
    came = whole.displays > 0
    if not came.any():
        raise DataError("the log has no interactions, so nothing is known about production")
    everywhere = np.ones(dataset.n_queries, np.bool_)
    if propensities is not None and computed:
        known = dataset.lists.sum(np.asarray(propensities.sum(-1))) > 0
        return LoggingPolicy(propensities[:, : whole.top_k], known, "records")
    rejected = ""
    if scores is not None:
        ways: dict[KnownBy, Floats] = {
            "sorted scores": Deterministic().rank_distribution(scores, dataset.lists, whole.top_k),
            "sampled scores": PlackettLuce().rank_distribution(scores, dataset.lists, whole.top_k),
        }
        away = {name: misfit(chances, whole) for name, chances in ways.items()}
        best = min(ways, key=lambda name: away[name])
        if away[best] <= LARGEST_MISFIT:
            return LoggingPolicy(ways[best], everywhere, best, away[best])
        rejected = (
            "production's scores do not explain what was shown: sorted by them, "
            f"{away['sorted scores']:.0%} of the impressions would be elsewhere, drawn from them "
            f"{away['sampled scores']:.0%}"
        )
    if propensities is not None:
        shares = dataset.lists.sum(propensities[:, 0])
        if (shares[came] >= 1 - COMPLETE).all():
            chances = propensities[:, : whole.top_k]
            return LoggingPolicy(chances, came, "propensities", rejected=rejected)
        rejected = rejected or "logged propensities leave out documents that were shown"
    counted = count_rank_distribution(dataset, dict(statistics))[:, : whole.top_k]
    return LoggingPolicy(counted, came, "counts", rejected=rejected)
