"""Guards errors and bounds where interactions of one user depend on each other."""

import numpy as np
import pytest

from cltr.evaluation.bounds import Limits
from cltr.evaluation.dependence import Dependence, keep_at_most, largest_count, pool
from cltr.evaluation.units import InteractionUnits, QueryUnits, read_units
from cltr.types import Affine, ClickLog, ClickStatistics, Lists

ALONE = Dependence("interactions")
LIMITS = Limits(-1.0, 1.0)


def test_copies_of_interactions_add_nothing():
    terms, ones = np.random.default_rng(0).normal(size=50), np.ones(150)
    users = Dependence("users", np.tile(np.arange(50), 3))
    expected = ALONE.error(terms, np.ones(50))
    assert users.error(np.tile(terms, 3), ones) == pytest.approx(expected)
    assert ALONE.error(np.tile(terms, 3), ones) < 0.6 * expected


def test_bounds_hold_for_users_who_are_alike():
    """A tenth of the terms' spread is chance; the rest is the user's. The true mean is 0."""
    missed = {"users": 0, "interactions": 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 20, 120)
        owners = np.repeat(np.arange(120), sizes)
        terms = 0.5 * rng.choice([-1.0, 1.0], 120)[owners] + rng.uniform(-0.1, 0.1, len(owners))
        for who in (ALONE, Dependence("users", owners)):
            low = who.lower(terms, LIMITS, confidence=0.95, seed=seed)
            missed[who.kind] += low > 0
    assert missed["users"] <= 16  # 5% of 200 are 10; 17 or more would come in 3% of trials
    assert missed["interactions"] > 40


def test_users_of_one_interaction_are_interactions():
    terms = np.random.default_rng(0).uniform(-1, 1, 400)
    one_each = Dependence("users", np.arange(400))
    assert one_each.error(terms, np.ones(400)) == ALONE.error(terms, np.ones(400))
    assert one_each.lower(terms, LIMITS, confidence=0.95, seed=3) == pytest.approx(
        ALONE.lower(terms, LIMITS, confidence=0.95, seed=3)
    )


def test_a_user_with_very_many_interactions_counts_less_in_bounds():
    clusters = np.concatenate([np.arange(5000), np.full(900, 5000)])
    assert largest_count(clusters) == 2
    kept = keep_at_most(clusters, 2, seed=0)
    assert kept[:5000].all()
    assert kept[5000:].sum() == 2


def log(users, *, column="user"):
    n = len(users)
    context = {column: np.array(users)} if column else {}
    return ClickLog(np.zeros(n, int), np.zeros((n, 1), int), np.ones((n, 1), bool), context)


AFFINE, OFFSETS = Affine(np.ones(1), np.zeros(1)), np.array([0, 1])


def read(**parts):
    counted = {name: (ClickStatistics.count(one, OFFSETS), [one]) for name, one in parts.items()}
    return read_units(counted, AFFINE)


def test_users_have_one_number_in_all_parts():
    found = read(train=log(["a", "b", ""]), test=log(["b", "", ""]))
    assert {one.dependence.kind for one in found.values()} == {"users"}
    first, second = (found[part].dependence.clusters for part in ("train", "test"))
    assert first[1] == second[0]
    both = pool([one.dependence for one in found.values()])
    assert both.n_clusters == 5  # a, b, and three unknown ones
    assert found["train"].under(AFFINE).dependence is found["train"].dependence


def test_sessions_are_clusters_where_users_are_not_known():
    found = read(train=log(["s", "s"], column="context_session"))["train"]
    assert found.dependence.kind == "sessions"
    assert found.dependence.n_clusters == 1


def test_without_ids_each_interaction_is_independent():
    found = read(train=log(["a", "a"], column=""))["train"]
    assert isinstance(found, InteractionUnits)
    assert found.dependence == ALONE
    assert found.lists.lengths.tolist() == Lists.of_offsets(OFFSETS).lengths.tolist()


def test_counts_have_queries_as_units():
    counts = ClickStatistics.count(log(["a", "a"]), OFFSETS)
    found = read_units({"train": (counts, None)}, AFFINE)["train"]
    assert isinstance(found, QueryUnits)
    assert found.dependence == Dependence("queries")
