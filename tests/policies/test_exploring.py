"""Guards exploring: no policy within the limit shows its least shown document more often."""

from itertools import chain, combinations, permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from cltr.errors import OptionError
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.exploring import explore_weights
from cltr.policies.query_rankings import QueryRankings
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.types import Lists

LIMITS = (0.001, 0.01, 0.1, 0.4, 1.0)


def one_list(n):
    return Lists.of_offsets(np.array([0, n]))


def random_policy(rng, n, top_k):
    """Weights of a mixture of a few random rankings; sometimes of one."""
    weights = np.zeros(n)
    shares = rng.dirichlet(np.ones(rng.integers(1, 4)))
    padded = np.zeros(n)
    padded[: min(n, top_k)] = rank_weights("dcg", top_k)[:n]
    for share in shares:
        weights[rng.permutation(n)] += share * padded
    return weights


def best_level(production, rank_weights_, limit):
    """The largest smallest weight, by a linear program over all sets of documents."""
    n = len(production)
    sums = np.append(0.0, np.cumsum(np.append(rank_weights_, np.zeros(n))))[: n + 1]
    rows, bounds = [], []
    for chosen in chain.from_iterable(combinations(range(n), m) for m in range(1, n + 1)):
        inside = np.zeros(n + 1)
        inside[list(chosen)] = 1.0
        rows += [inside, -inside]  # feasible; and what the set loses is within the limit
        bounds += [sums[len(chosen)]]
        bounds += [limit * sums[len(chosen)] - production[list(chosen)].sum()]
    for d in range(n):
        row = np.zeros(n + 1)
        row[d], row[n] = -1.0, 1.0
        rows.append(row)
        bounds.append(0.0)
    total = np.append(np.ones(n), 0.0)[None]
    goal = np.append(np.zeros(n), -1.0)
    found = linprog(goal, np.array(rows), bounds, total, [sums[n]], bounds=(0, None))
    assert found.status == 0, found.message
    return -found.fun


@pytest.mark.parametrize("limit", LIMITS)
def test_no_policy_within_the_limit_has_a_larger_smallest_weight(limit):
    rng = np.random.default_rng(7)
    for _ in range(12):
        n, top_k = int(rng.integers(2, 7)), int(rng.integers(1, 5))
        weights = rank_weights("dcg", top_k)
        production = random_policy(rng, n, top_k)
        found = explore_weights(production, one_list(n), weights, max_loss=limit)
        assert found.min() == pytest.approx(best_level(production, weights, limit), abs=1e-8)


@pytest.mark.parametrize("limit", [0.01, 0.3])
def test_the_loss_is_kept_for_all_grades_and_attained(limit):
    """Enumerate all grades 0, 1, 2 of four documents, and all rankings that are served."""
    weights, lists = rank_weights("dcg", 2), one_list(4)
    production = Deterministic().expected_weights(np.array([4.0, 3.0, 2.0, 1.0]), lists, weights)
    found = explore_weights(production, lists, weights, max_loss=limit)
    ((rankings, shares),) = QueryRankings.of(found, lists, weights).by_query()
    worst = 0.0
    for grades in product((0.0, 1.0, 2.0), repeat=4):
        g = np.array(grades)
        ideal = max(weights @ g[list(order[:2])] for order in permutations(range(4)))
        if ideal == 0:
            continue
        now = sum(s * (weights @ g[r]) for s, r in zip(shares, rankings, strict=True))
        worst = max(worst, (production @ g - now) / ideal)
    assert worst <= limit + 1e-12
    assert worst == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("policy", [Deterministic(), PlackettLuce()])
@pytest.mark.parametrize("limit", LIMITS)
def test_many_lists_at_once(policy, limit):
    rng = np.random.default_rng(1)
    lengths = np.array([3, 0, 1, 40, 5, 2, 7])
    lists = Lists.of_offsets(np.concatenate([[0], np.cumsum(lengths)]))
    weights = rank_weights("dcg", 5)
    production = policy.expected_weights(rng.normal(size=lengths.sum()), lists, weights)
    found = explore_weights(production, lists, weights, max_loss=limit)
    losses = ndcg_losses(found, production, lists, weights)
    assert (losses <= limit + 1e-12).all()
    np.testing.assert_allclose(lists.sum(found), lists.sum(production), atol=1e-7)
    for start, n in zip(lists.starts, lengths, strict=True):
        if n:
            rows = slice(start, start + n)
            alone = explore_weights(production[rows], one_list(n), weights, max_loss=limit)
            np.testing.assert_allclose(found[rows], alone, atol=1e-9)
            mixture = QueryRankings.of(found[rows], one_list(n), weights)
            np.testing.assert_allclose(
                mixture.weights(one_list(n), weights), found[rows], atol=1e-7
            )


def test_a_loose_limit_gives_every_document_the_same():
    weights, lists = rank_weights("dcg", 3), one_list(6)
    production = np.append(weights, np.zeros(3))
    found = explore_weights(production, lists, weights, max_loss=1.0)
    np.testing.assert_allclose(found, weights.sum() / 6)


def test_pages_that_showed_fewer_documents_are_filled_first():
    """What production left empty costs nothing."""
    weights, lists = rank_weights("dcg", 2), one_list(3)
    production = np.array([1.0, 0.0, 0.0])
    found = explore_weights(production, lists, weights, max_loss=0.001)
    assert found.sum() == pytest.approx(weights.sum())
    assert found.min() > weights[1] / 2
    assert ndcg_losses(found, production, lists, weights)[0] <= 0.001 + 1e-12


@pytest.mark.parametrize("limit", [0.0, -1.0, 1.5, float("nan")])
def test_a_limit_that_is_none_is_refused(limit):
    with pytest.raises(OptionError, match="expected a number above 0"):
        explore_weights(np.array([1.0, 0.0]), one_list(2), np.ones(1), max_loss=limit)
