"""A world with known truth: queries to draw from, and what users do on their lists.

Test queries are drawn from 4,000 queries with replacement. So the value of a policy on new queries
is its mean over the 4,000, and known exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.exposure.exposure import exposure_of
from cltr.interfaces import ClickModel, RewardFunction
from cltr.kernels import sampling
from cltr.plugins import registry
from cltr.policies import PlackettLuce, list_seeds, places_by_score
from cltr.policies.on_dataset import ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.types import ClickData, ClickStatistics, Dataset, Floats, Integers, Lists, Rewards

TOP_K = 5
DCG = rank_weights("dcg", TOP_K)
N_QUERIES = 4000


@dataclass(frozen=True)
class Population:
    """All queries, with the scores of production and of a fixed new policy."""

    dataset: Dataset
    production: Floats
    policy: Floats

    @cached_property
    def logging(self) -> ScoredPolicy:
        """Production on all queries."""
        return ScoredPolicy(self.dataset, self.production, PlackettLuce())

    @cached_property
    def new(self) -> ScoredPolicy:
        """The new policy on all queries."""
        return ScoredPolicy(self.dataset, self.policy, PlackettLuce())

    @cached_property
    def values(self) -> dict[str, Floats]:
        """Value of each query, ``[queries]``."""
        return self.values_of(self.policy)

    def values_of(self, scores: Floats) -> dict[str, Floats]:
        """Value of each query under production, a policy with these scores, and the difference."""
        new = PlackettLuce().expected_weights(scores, self.dataset.lists, DCG)
        old, relevance = self.logging.weights(DCG), self.dataset.relevance
        return {
            "production": self.dataset.lists.sum(old * relevance),
            "policy": self.dataset.lists.sum(new * relevance),
            "difference": self.dataset.lists.sum((new - old) * relevance),
        }

    def take(self, queries: Integers, *, first_document: int = 0) -> tuple[Dataset, Integers]:
        """Some queries as a data set, and which documents of the population they are."""
        whole = self.dataset
        lengths = whole.lists.lengths[queries]
        rows = Lists(whole.lists.starts[queries], lengths).members
        part = Dataset(
            features=whole.features[rows],
            labels=whole.labels[rows],
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            query_ids=np.arange(len(queries)),
            document_ids=np.arange(len(rows)),
            first_document=first_document,
        )
        return part, rows


@lru_cache
def population(sharpness: float = 1.0) -> Population:
    """4,000 queries with lists of 4 to 12 documents.

    Args:
        sharpness: factor on production's scores; a large one gives tiny propensities.
    """
    rng = np.random.default_rng(20261118)
    lengths = rng.integers(4, 13, N_QUERIES)
    n = int(lengths.sum())
    features = rng.normal(size=(n, 4)).astype(np.float32)
    mood = np.repeat(rng.normal(size=N_QUERIES), lengths)  # some queries have better documents
    grades = np.round(1.0 + features[:, 0] + features[:, 1] + 0.7 * mood + rng.normal(size=n))
    dataset = Dataset(
        features=features,
        labels=np.clip(grades, 0, 4).astype(np.float64),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        query_ids=np.arange(N_QUERIES),
        document_ids=np.arange(n),
    )
    x = features.astype(np.float64)
    production = sharpness * (0.5 * x[:, 0] + 0.8 * x[:, 2])
    return Population(dataset, production, 0.8 * x[:, 0] + 0.8 * x[:, 1])


def draw_clicks(
    dataset: Dataset,
    scores: Floats,
    users: ClickModel,
    displays: Integers,
    rng: np.random.Generator,
) -> ClickStatistics:
    """Counts of clicks where each query comes so many times, ``[queries]``."""
    impressions = np.zeros((dataset.n_documents, TOP_K), np.int64)
    orders, seeds = places_by_score(scores, dataset.lists), list_seeds(dataset.n_queries, rng)
    sampling.rank_counts(scores, orders, *dataset.lists, displays, TOP_K, seeds, impressions)
    examination, trust = users.affine(TOP_K)
    probabilities = dataset.relevance[:, None] * examination + trust
    clicks = rng.binomial(impressions, probabilities.clip(0.0, 1.0))
    return ClickStatistics(impressions, clicks, displays, dataset.offsets)


def taken(
    policy: ScoredPolicy, dataset: Dataset, rows: Integers, rank_weights: Sequence[Floats]
) -> ScoredPolicy:
    """A policy on some documents, which remembers expected weights that are known for all."""
    part = ScoredPolicy(dataset, policy.scores[rows], policy.policy)
    for weights in rank_weights:
        part._remembered[weights.tobytes()] = policy.weights(weights)[rows]
    return part


def _asked(users: ClickModel) -> tuple[Floats, Floats]:
    """Rank weights whose expectation is the exposure."""
    examination, trust = users.affine(TOP_K)
    return examination, examination + trust


Traffic = Callable[[np.random.Generator, int], Floats]
"""Share of the traffic of each of so many queries."""


@dataclass(frozen=True)
class Log:
    """Clicks on queries drawn from the population."""

    queries: Integers
    rows: Integers
    data: ClickData
    logging: ScoredPolicy


def draw_log(
    world: Population,
    queries: Integers,
    shares: Floats,
    *,
    n: int,
    rng: np.random.Generator,
    users: ClickModel | None = None,
    model: ClickModel | None = None,
    first_document: int = 0,
) -> Log:
    """A log of n interactions on some queries, with the exposure that the model says.

    Args:
        world: the population.
        queries: their numbers in it.
        shares: of the traffic, ``[queries]``.
        n: interactions.
        rng: draws traffic, rankings and clicks.
        users: how users click; trust bias by default.
        model: how the tool thinks that they click; as they do by default.
        first_document: the same for two logs means that they have the same queries.
    """
    users = users or TrustBias()
    dataset, rows = world.take(queries, first_document=first_document)
    logging = taken(world.logging, dataset, rows, [DCG] if model else [DCG, *_asked(users)])
    displays = rng.multinomial(n, shares / shares.sum()).astype(np.int64)
    statistics = draw_clicks(dataset, logging.scores, users, displays, rng)
    exposure = exposure_of(logging, model or users, DCG, source="exact")
    return Log(queries, rows, ClickData(dataset, statistics, exposure), logging)


def rewards_of(log: Log, reward: RewardFunction, split: str = "test") -> Rewards:
    """Relevance estimates from the clicks of a log, without clipping."""
    data = log.data
    values = reward.mu(data)
    weights = data.statistics.query_weights
    return Rewards(
        data.dataset, values, data.exposure, weights, reward.name, data.statistics, split
    )


def new_reward(name: str) -> RewardFunction:
    """A reward by name."""
    reward: RewardFunction = registry().find("reward", name)()
    return reward
