"""A budget: kept to the last digit, spent nearly as well as a linear program would."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from cltr.errors import OptionError
from cltr.policies import PlackettLuce
from cltr.policies.budget import spend_budget
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.types import Lists


def case(seed: int, n_queries: int = 4, most: int = 5):
    """Short lists with production's exact weights, rewards of both signs, and uneven traffic."""
    rng = np.random.default_rng(seed)
    lists = Lists.of_offsets(np.cumsum([0, *rng.integers(1, most + 1, n_queries)]))
    n = int(lists.lengths.sum())
    w = rank_weights("dcg", int(rng.integers(1, 5)))
    production = PlackettLuce().expected_weights(rng.normal(scale=2, size=n), lists, w)
    return rng.normal(size=n), production, lists, w, rng.dirichlet(np.ones(n_queries))


def best_gain(rewards, production, lists, w, traffic, budget, per_query=1.0) -> float:
    """The most that any policy gains within the budget, by a linear program over all sets."""
    size = int((lists.lengths**2).sum()) + len(lists.lengths)
    costs, equal, at_most = np.zeros(size), [], []
    start = 0
    for q, (first, n) in enumerate(zip(*lists, strict=True)):
        ranks = np.zeros(n)
        ranks[: min(n, len(w))] = w[:n]
        places = start + np.arange(n * n).reshape(n, n)  # [document, rank]
        start += n * n
        loss = size - len(lists.lengths) + q
        for d in range(n):
            costs[places[d]] = -traffic[q] * rewards[first + d] * ranks
            for cells in (places[d], places[:, d]):
                row = np.zeros(size)
                row[cells] = 1
                equal.append(row)
        for m in range(1, n + 1):
            for chosen in combinations(range(n), m):
                row = np.zeros(size)
                for d in chosen:
                    row[places[d]] -= ranks
                row[loss] = -w[: min(m, len(w))].sum()
                at_most.append((row, -production[[first + d for d in chosen]].sum()))
    total = np.zeros(size)
    total[size - len(lists.lengths) :] = traffic
    at_most.append((total, budget))
    bounds = [(0, None)] * (size - len(traffic)) + [(0, per_query)] * len(traffic)
    found = linprog(
        costs,
        A_ub=np.array([row for row, _ in at_most]),
        b_ub=[limit for _, limit in at_most],
        A_eq=np.array(equal),
        b_eq=np.ones(len(equal)),
        bounds=bounds,
    )
    return -found.fun - float(np.repeat(traffic, lists.lengths) @ (rewards * production))


def gain_of(found, rewards, production, lists, traffic) -> float:
    return float(np.repeat(traffic, lists.lengths) @ (rewards * (found.weights - production)))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.01, 0.05, 0.3]))
def test_law_the_budget_is_kept_and_the_weights_are_a_policy(seed, budget):
    rewards, production, lists, w, traffic = case(seed)
    found = spend_budget(rewards, production, lists, w, budget=budget, traffic=traffic)
    losses = ndcg_losses(found.weights, production, lists, w)
    assert traffic @ losses <= budget + 1e-9
    assert found.loss == pytest.approx(traffic @ losses, abs=1e-12)
    assert gain_of(found, rewards, production, lists, traffic) >= -1e-9
    for first, n in zip(*lists, strict=True):
        sums = np.cumsum(np.sort(found.weights[first : first + n])[::-1])
        limits = np.cumsum(np.append(w, np.zeros(n))[:n])
        assert (sums <= limits + 1e-9).all()
        assert sums[-1] == pytest.approx(limits[-1], abs=1e-6)


@pytest.mark.parametrize("budget", [0.01, 0.02, 0.05, 0.2])
def test_at_least_nine_tenths_of_a_linear_program(budget):
    reached, possible = 0.0, 0.0
    for seed in range(12):
        rewards, production, lists, w, traffic = case(seed, n_queries=6)
        found = spend_budget(rewards, production, lists, w, budget=budget, traffic=traffic)
        best = best_gain(rewards, production, lists, w, traffic, budget)
        gain = gain_of(found, rewards, production, lists, traffic)
        assert gain <= best + 1e-6
        reached, possible = reached + gain, possible + best
    assert reached >= 0.9 * possible


def test_a_limit_per_query_is_kept():
    rewards, production, lists, w, traffic = case(3)
    found = spend_budget(rewards, production, lists, w, budget=0.2, traffic=traffic, per_query=0.05)
    assert found.losses.max() <= 0.05 + 1e-9
    assert gain_of(found, rewards, production, lists, traffic) > 0


def test_nothing_to_spend_is_production():
    rewards, production, lists, w, _ = case(5)
    found = spend_budget(rewards, production, lists, w, budget=0.0)
    assert np.abs(found.weights - production).max() < 1e-12
    indifferent = spend_budget(np.zeros(len(rewards)), production, lists, w, budget=0.5)
    assert np.abs(indifferent.weights - production).max() < 1e-12


def test_a_budget_is_a_share():
    rewards, production, lists, w, _ = case(5)
    with pytest.raises(OptionError, match=r"must lie in \[0, 1\]"):
        spend_budget(rewards, production, lists, w, budget=2)
