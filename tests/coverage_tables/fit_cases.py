"""Intervals of ``cltr fit --intervals``: slope, intercept, examination, harvested position bias."""

from collections.abc import Iterator

import numpy as np

from cltr.clicks import bias
from cltr.clicks.harvesting import adjacent_chain, all_pairs, pivot
from cltr.clicks.intervals import Interval, fitted_intervals, jackknife, relations
from cltr.clicks.models import AffineModel, PositionBased, TrustBias
from cltr.types import ClickStatistics, Floats
from tests.coverage_tables.population import TOP_K, draw_log, population
from tests.coverage_tables.record import Case, Outcome

RANKS = (1, TOP_K - 1)
"""Ranks that are reported, from 0: the second and the last. The first is 1 by definition."""


def by_rank(found: dict[str, Interval], truth: dict[str, Floats], method: str) -> Iterator[Outcome]:
    """Intervals of the second and the last rank."""
    for name, (estimate, low, high) in found.items():
        for k in RANKS:
            quantity = f"{name.replace('_', ' ')}, rank {k + 1}"
            yield Outcome(quantity, low[k], high[k], truth[name][k], estimate[k], method)


def clicks(users: AffineModel, *, queries: int, per_query: int, seed: int) -> ClickStatistics:
    """A log on queries drawn afresh."""
    world, rng = population(), np.random.default_rng([13, seed])
    drawn = rng.integers(0, world.dataset.n_queries, queries)
    n = queries * per_query
    return draw_log(world, drawn, np.ones(queries), n=n, rng=rng, users=users).data.statistics


def fitted(users: AffineModel, *, queries: int, per_query: int) -> Case:
    """Slope and intercept of a fitted model; examination where there is no trust."""
    given = users.affine(TOP_K)
    truth = given._asdict() | relations(given)._asdict()
    wanted = ("slope", "intercept") if given.trust.any() else ("examination",)

    def measure(seed: int) -> Iterator[Outcome]:
        statistics = clicks(users, queries=queries, per_query=per_query, seed=seed)
        model = type(users)()
        covariance = model.fit(statistics).covariance
        found = fitted_intervals(model.affine(TOP_K), covariance)
        yield from by_rank({name: found[name] for name in wanted}, truth, "covariance of the fit")

    name = f"{users.name} fitted, {queries} queries × {per_query} interactions"
    return Case("fit", name, measure)


def harvested(*, queries: int, per_query: int, logs: int = 1000) -> Case:
    """Position bias without a model of relevance, under users of position bias."""
    users = PositionBased()
    examination = users.affine(TOP_K).examination
    ways = {"pivot": pivot, "adjacent_chain": adjacent_chain, "all_pairs": all_pairs}

    def estimate(statistics: ClickStatistics) -> dict[str, Floats]:
        found = {name: way(statistics) for name, way in ways.items() if name != "all_pairs"}
        return found | {"all_pairs": all_pairs(statistics, tolerance=bias.ROUGH)}

    def measure(seed: int) -> Iterator[Outcome]:
        statistics = clicks(users, queries=queries, per_query=per_query, seed=seed)
        found = jackknife(estimate, statistics, seed=seed)
        yield from by_rank(found, dict.fromkeys(ways, examination), "groups of queries left out")

    return Case("fit", f"harvested, {queries} queries × {per_query} interactions", measure, logs)


def cases() -> list[Case]:
    """All of them."""
    both = (PositionBased(), TrustBias())
    return [
        *(fitted(users, queries=50, per_query=200) for users in both),
        *(fitted(users, queries=100, per_query=20) for users in both),
        harvested(queries=50, per_query=200),
        harvested(queries=100, per_query=50, logs=2000),
    ]
