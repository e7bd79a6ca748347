"""Off-policy values of production, of a policy and of their difference, with known truth."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from cltr.clicks.models import AffineModel, PositionBased, TrustBias
from cltr.evaluation.off_policy import off_policy_values
from cltr.exposure.exposure import exposure_of
from cltr.interfaces import RewardFunction
from cltr.policies.on_dataset import Mixture
from cltr.types import Exposure, Floats, Rewards
from tests.coverage_tables.population import (
    DCG,
    N_QUERIES,
    TOP_K,
    Log,
    Population,
    draw_log,
    new_reward,
    population,
    rewards_of,
    taken,
)
from tests.coverage_tables.record import Case, Outcome

FAR = 10**9
"""First document of training queries, so that test queries are new."""
HEADS = 20.0
"""How often a head query comes, where others come once."""


@dataclass(frozen=True)
class Setting:
    """Of one case: queries, traffic, production and reward."""

    name: str
    queries: int = 200
    per_query: float = 10.0
    """Interactions, per query on average."""
    traffic: str = "equal"
    sharpness: float = 1.0
    reward: str = "ips"


def outcomes(found: dict, truth: dict[str, float]) -> Iterator[Outcome]:
    """What the tool says of the three values, beside the truth."""
    for quantity, true in truth.items():
        one = found[quantity]
        low = -np.inf if one["low"] is None else one["low"]
        high = np.inf if one["high"] is None else one["high"]
        yield Outcome(quantity, low, high, true, one["value"], one["method"])


def traffic_of(setting: Setting, world: Population, queries: np.ndarray) -> Floats:
    """Shares of the traffic, ``[queries]``; they say nothing about values but where heads do."""
    n = len(queries)
    if setting.traffic == "zipf":
        return 1.0 / np.arange(1.0, n + 1.0)
    if setting.traffic == "one half":
        return np.concatenate([[n - 1.0], np.ones(n - 1)])
    if setting.traffic == "better heads":
        return head_weights(world)[queries]
    return np.ones(n)


def head_weights(world: Population) -> Floats:
    """The tenth of all queries on which production is best come 20 times as often."""
    value = world.values["production"]
    return np.where(value > np.quantile(value, 0.9), HEADS, 1.0)


@lru_cache
def fitted_reward(name: str, sharpness: float) -> RewardFunction:
    """A reward, fitted to training clicks on 200 other queries, 20 interactions each."""
    rng = np.random.default_rng(1)
    queries = rng.integers(0, N_QUERIES, 200)
    log = draw_log(population(sharpness), queries, np.ones(200), n=4000, rng=rng)
    reward = new_reward(name)
    reward.fit(log.data, TrustBias(), seed=0)
    return reward


def mixture(world: Population, log: Log) -> Mixture:
    """The fixed new policy on the queries of a log."""
    new = taken(world.new, log.data.dataset, log.rows, [DCG])
    return Mixture(new, log.logging, np.ones(len(log.queries)))


def trained_elsewhere(rewards: Rewards) -> Rewards:
    """Training clicks on other queries, as far as the tool looks at them."""
    dataset, _ = population().take(np.arange(1), first_document=FAR)
    return Rewards(dataset, np.zeros(0), rewards.exposure, np.ones(1))


def new_queries(setting: Setting) -> Case:
    """Test queries are drawn afresh for each log; the truth is that of all queries."""

    def measure(seed: int) -> Iterator[Outcome]:
        world, rng = population(setting.sharpness), np.random.default_rng([7, seed])
        reward = fitted_reward(setting.reward, setting.sharpness)
        queries = rng.integers(0, N_QUERIES, setting.queries)
        shares = traffic_of(setting, world, queries)
        n = round(setting.per_query * setting.queries)
        log = draw_log(world, queries, shares, n=n, rng=rng)
        rewards = rewards_of(log, reward)
        found = off_policy_values(
            mixture(world, log),
            rewards,
            DCG,
            click_model=TrustBias(),
            trained_on=trained_elsewhere(rewards),
            seed=seed,
        )
        weights = head_weights(world) if setting.traffic == "better heads" else None
        truth = {
            name: float(np.average(value, weights=weights)) for name, value in world.values.items()
        }
        yield from outcomes(found, truth)

    return Case("off-policy", setting.name, measure)


def these_queries(name: str, *, queries: int, per_query: int, reward: str = "ips") -> Case:
    """The same queries in every log; the truth is the value on them."""

    def measure(seed: int) -> Iterator[Outcome]:
        world, rng = population(), np.random.default_rng([8, seed])
        chosen = np.arange(queries)
        log = draw_log(world, chosen, np.ones(queries), n=queries * per_query, rng=rng)
        rewards = rewards_of(log, fitted_reward(reward, 1.0))
        found = off_policy_values(
            mixture(world, log),
            rewards,
            DCG,
            click_model=TrustBias(),
            trained_on=rewards,
            seed=seed,
        )
        truth = {name: float(value[chosen].mean()) for name, value in world.values.items()}
        yield from outcomes(found, truth)

    return Case("off-policy", name, measure)


def fitted_model(
    users: AffineModel, *, train: tuple[int, int], test: tuple[int, int], reward: str = "ips"
) -> Case:
    """The click model is fitted to training clicks; test clicks give the values.

    Trust bias identifies relevance up to an affine map, so the truth is on the scale of each fit:
    the map that takes the users' examination and trust nearest to the fitted ones.
    """

    def measure(seed: int) -> Iterator[Outcome]:
        world, rng = population(), np.random.default_rng([9, seed])
        fitted = _evenly(world, train, rng, users=users)
        model = type(users)()
        model.fit(fitted.data.statistics)
        log = _evenly(world, test, rng, users=users, model=model)
        made = new_reward(reward)
        made.fit(replace(fitted.data, exposure=_exposure(fitted, model)), model)
        rewards = rewards_of(log, made)
        found = off_policy_values(
            mixture(world, log),
            rewards,
            DCG,
            click_model=model,
            trained_on=trained_elsewhere(rewards),
            seed=seed,
        )
        yield from outcomes(found, rescaled_truth(world, users, model))

    name = (
        f"{users.name} fitted to {train[0]} queries × {train[1]}, tested on {test[0]:,} × {test[1]}"
    )
    return Case("off-policy", f"{name}, {reward}", measure, 2000 if train[1] > 100 else 1000)


def _evenly(
    world: Population, size: tuple[int, int], rng: np.random.Generator, **given: AffineModel
) -> Log:
    """A log with so many queries, and so many interactions of each on average."""
    queries = rng.integers(0, N_QUERIES, size[0])
    return draw_log(world, queries, np.ones(size[0]), n=size[0] * size[1], rng=rng, **given)


def _exposure(log: Log, model: AffineModel) -> Exposure:
    return exposure_of(log.logging, model, DCG, source="exact")


def rescaled_truth(world: Population, users: AffineModel, fitted: AffineModel) -> dict[str, float]:
    """True values, with relevance on the scale of a fitted model."""
    alpha, beta = users.affine(TOP_K)
    shift = scale = 0.0
    if beta.any():
        alpha_fitted, beta_fitted = fitted.affine(TOP_K)
        scale = float(alpha_fitted @ alpha / (alpha @ alpha))
        shift = float((beta_fitted - beta) @ alpha / (alpha @ alpha))
    else:
        scale = 1.0
    totals = world.dataset.lists.sum(world.logging.weights(DCG)).mean()
    truth = {name: float(value.mean()) for name, value in world.values.items()}
    shifted = {"production": shift * totals, "policy": shift * totals, "difference": 0.0}
    return {name: (value - shifted[name]) / scale for name, value in truth.items()}


def cases() -> list[Case]:
    """All of them."""
    settings = [
        *(
            Setting(f"200 queries, equal traffic, {reward}", reward=reward)
            for reward in ("ips", "dr")
        ),
        *(
            Setting(f"{n} queries, equal traffic, {reward}", queries=n, reward=reward)
            for n in (5, 10, 19, 40)
            for reward in ("ips", "dr")
        ),
        Setting("200 queries, Zipf traffic, ips", traffic="zipf"),
        Setting("200 queries, Zipf traffic, dr", traffic="zipf", reward="dr"),
        Setting("200 queries, one has 50 % of the traffic, ips", traffic="one half"),
        Setting("200 queries, one has 50 % of the traffic, dr", traffic="one half", reward="dr"),
        Setting("200 queries, head queries are better, dr", traffic="better heads", reward="dr"),
        *(
            Setting(f"peaked production (scores × {s:g}), {reward}", sharpness=s, reward=reward)
            for s in (2.0, 3.0, 6.0)
            for reward in ("ips", "dr")
        ),
        Setting(
            "peaked production (scores × 6), 100 interactions a query, dr",
            sharpness=6.0,
            per_query=100,
            reward="dr",
        ),
    ]
    return [
        *map(new_queries, settings),
        these_queries("these 50 queries, 10 interactions each, ips", queries=50, per_query=10),
        these_queries("these 50 queries, 200 interactions each, ips", queries=50, per_query=200),
        *(
            fitted_model(users, train=train, test=test)
            for users in (PositionBased(), TrustBias())
            for train, test in (((50, 40), (1000, 20)), ((50, 200), (1000, 20)))
        ),
    ]
