"""What a step, an exposure or a simulation costs when its size doubles."""

import numpy as np
import pytest

from cltr.clicks.models import TrustBias
from cltr.clicks.simulation import simulate_statistics
from tests.benchmarks.work import Problem, random_lists

BASE = {"queries": 32, "documents": 120, "features": 136, "top_k": 5}


@pytest.mark.parametrize("size", ["documents", "queries", "features", "top_k"])
def bench_step_grows(contest, size):
    small, large = Problem(**BASE), Problem(**BASE | {size: 2 * BASE[size]})
    contest(
        f"{size.replace('_', '-')} double",
        large.train("exact"),
        work=f"step, `exact`, {BASE[size]} to {2 * BASE[size]}",
        before=small.train("exact"),
    )


@pytest.mark.parametrize("top_k", [20, 40, 80])
def bench_many_ranks_grow(contest, top_k):
    """Linear in K but for the nodes of the integral, which grow like its root."""
    sizes = BASE | {"queries": 8}
    small, large = Problem(**sizes | {"top_k": top_k}), Problem(**sizes | {"top_k": 2 * top_k})
    contest(
        "top-k double",
        large.train("exact"),
        work=f"step, `exact`, {top_k} to {2 * top_k}",
        rounds=3,
        before=small.train("exact"),
    )


def bench_samples_grow(contest):
    problem = Problem(**BASE)
    contest(
        "samples double",
        problem.train("pl-rank", samples=2000),
        work="step, `pl-rank`, 1000 to 2000",
        before=problem.train("pl-rank", samples=1000),
    )


@pytest.mark.parametrize("n", [10**4, 10**6, 10**7])
def bench_interactions_grow(contest, n):
    """Counts are drawn: the cost stops growing where rankings repeat."""
    dataset = random_lists(100, 120, features=0)
    scores = 2 * np.random.default_rng(0).normal(size=dataset.n_documents)

    def draw(interactions: int):
        rng = np.random.default_rng(1)
        users = TrustBias()
        return lambda: simulate_statistics(dataset, scores, users, n=interactions, top_k=5, rng=rng)

    contest(
        "N doubles",
        draw(2 * n),
        work=f"simulation, {n:.0e} to {2 * n:.0e}, 100 queries",
        rounds=2,
        before=draw(n),
    )
