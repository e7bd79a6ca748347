"""From a log to a policy that explores: certified rankings, and what the next log would support."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cltr.checks.effective import effective_interactions
from cltr.errors import DataError
from cltr.exposure.logging_policy import LoggingPolicy, whole_log
from cltr.policies import PlackettLuce
from cltr.policies.exploring import explore_weights
from cltr.policies.query_rankings import QueryRankings
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.serving import ServingRule, StoredRanking
from cltr.serving.rule import Order
from cltr.types import Booleans, ClickStatistics, Dataset, Floats, Integers, Lists

ROUNDING = 1e-9
"""By which a certificate may exceed its limit."""


@dataclass(frozen=True)
class Overlap:
    """What a log of a policy supports, for the same queries and number of interactions."""

    candidates_shown: float
    """Expected share of the candidates that the log shows at least once."""
    least_shown: float
    """Probability that a request shows the least shown candidate of its query: median query."""
    hidden: float
    """Share of a random order's exposure that is on documents which are never shown."""
    random_order: float
    """Effective number of interactions for a random order; 0 if part of it is never shown."""


@dataclass(frozen=True)
class ExplorationPlan:
    """Rankings with shares of every query where production is known, and what they are worth."""

    dataset: Dataset
    production: LoggingPolicy
    log: ClickStatistics
    max_loss: float
    explored: Booleans
    """Queries with rankings of their own; the others get production, ``[queries]``."""
    rankings: tuple[Integers, ...]
    """Documents by rank, rows of the data set, ``[rankings, ranks]`` for each query."""
    shares: tuple[Floats, ...]
    """Of requests, ``[rankings]`` for each query."""

    @property
    def top_k(self) -> int:
        """Ranks that are shown."""
        return self.log.top_k

    @cached_property
    def chances(self) -> Floats:
        """P(rank(d) = k) of what is served, ``[docs, K]``."""
        found = np.where(self._of_explored[:, None], 0.0, self.production.chances)
        if self.rankings:
            rows = np.concatenate([one.ravel() for one in self.rankings])
            ranks = np.concatenate([np.indices(one.shape)[1].ravel() for one in self.rankings])
            widths = [one.shape[1] for one in self.rankings for _ in range(len(one))]
            np.add.at(found, (rows, ranks), np.repeat(np.concatenate(self.shares), widths))
        return found

    @cached_property
    def _of_explored(self) -> Booleans:
        return np.repeat(self.explored, self.dataset.lists.lengths)

    @cached_property
    def losses(self) -> Floats:
        """Worst-case loss of each query's NDCG, of what is served, ``[queries]``."""
        weights = rank_weights("dcg", self.top_k)
        before, after = self.production.chances @ weights, self.chances @ weights
        return ndcg_losses(after, before, self.dataset.lists, weights)

    @property
    def loss(self) -> float:
        """Their mean over this log's traffic."""
        return float(self.log.query_weights @ self.losses)

    def overlap(self, chances: Floats) -> Overlap:
        """What a log of as many interactions supports if a policy with these chances serves it."""
        lists, explored = self.dataset.lists, self._of_explored
        shown = np.clip(chances.sum(-1), 0.0, 1.0)
        requests = self.log.displays_per_document
        seen = 1.0 - (1.0 - shown) ** requests
        least = np.full(len(lists.lengths), np.inf)
        np.minimum.at(least, lists.owners, shown)
        examination = 1.0 / np.arange(1, self.top_k + 1)
        weights = rank_weights("dcg", self.top_k)
        uniform = PlackettLuce().expected_weights(np.zeros(len(shown)), lists, weights)
        expected: dict[str, Any] = {"impressions": requests[:, None] * chances}  # fractions
        expected["clicks"] = np.zeros_like(chances)
        found = effective_interactions(
            replace(self.log, **expected), uniform, chances @ examination, examination
        )
        counted = explored & (requests > 0)
        return Overlap(
            float(seen[counted].mean()) if counted.any() else 0.0,
            float(np.median(least[self.explored])) if self.explored.any() else 0.0,
            found.hidden,
            found.interactions if found.hidden < ROUNDING else 0.0,
        )

    def rule(self) -> ServingRule:
        """How it is served; queries that are not explored get production's ranking."""
        queries = self.dataset.query_ids.astype(str)[self.explored].tolist()
        names = self.dataset.document_ids.astype(str)
        order: Order = "sampled" if self.production.known_by == "sampled scores" else "sorted"
        stored = {
            query: tuple(
                StoredRanking(float(share), tuple(names[ranking].tolist()))
                for share, ranking in zip(shares, rankings, strict=True)
            )
            for query, rankings, shares in zip(queries, self.rankings, self.shares, strict=True)
        }
        return ServingRule(
            share=0.0,
            new="sorted",
            production=order,
            top_k=self.top_k,
            shares=dict.fromkeys(queries, 1.0),
            rankings=stored,
        )


def explore_log(
    dataset: Dataset,
    statistics: Mapping[str, ClickStatistics],
    production: LoggingPolicy,
    *,
    max_loss: float,
) -> ExplorationPlan:
    """The policy with the best overlap whose NDCG falls by at most ``max_loss`` in each query.

    Args:
        dataset: whose documents the log shows.
        statistics: by part of the log.
        production: the policy that served it.
        max_loss: the most that the NDCG of a query may fall, 0.01 for a point.
    """
    log = whole_log(dataset, statistics)
    lists = dataset.lists
    explored = production.known & (lists.lengths > 1)
    if not explored.any():
        raise DataError(
            "no query of the log has two documents or more, so there is nothing to explore; "
            "ingest the log with a data set that has all candidates (--data)"
        )
    weights = rank_weights("dcg", log.top_k)
    chosen = np.repeat(explored, lists.lengths)
    inner = Lists.of_offsets(np.concatenate([[0], np.cumsum(lists.lengths[explored])]))
    wanted = explore_weights(
        (production.chances @ weights)[chosen], inner, weights, max_loss=max_loss
    )
    mixtures = QueryRankings.of(wanted, inner, weights).by_query()
    first = lists.starts[explored]
    found = ExplorationPlan(
        dataset,
        production,
        log,
        max_loss,
        explored,
        tuple(start + places for start, (places, _) in zip(first, mixtures, strict=True)),
        tuple(shares for _, shares in mixtures),
    )
    return _within(found, max_loss + ROUNDING)


def _within(found: ExplorationPlan, limit: float) -> ExplorationPlan:
    """Without the queries whose rankings do not keep the limit: these get production."""
    kept = found.losses[found.explored] <= limit
    if kept.all():
        return found
    explored = found.explored.copy()
    explored[found.explored] = kept
    places = np.flatnonzero(kept)
    return replace(
        found,
        explored=explored,
        rankings=tuple(found.rankings[place] for place in places),
        shares=tuple(found.shares[place] for place in places),
    )
