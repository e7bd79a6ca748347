"""The exact optimum: a linear program agrees, it is feasible, and its rankings have its weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from cltr.errors import DataError
from cltr.policies.optimum import PiecewiseGain, best_weights
from cltr.policies.query_rankings import QueryRankings
from cltr.policies.rank_weights import rank_weights
from cltr.types import Lists

SEEDS = st.integers(0, 2**32 - 1)


def case(seed: int) -> tuple[PiecewiseGain, Lists, np.ndarray]:
    """A short list with a banded gain; every other one has ties."""
    rng = np.random.default_rng(seed)
    n, top_k = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    w = [rank_weights("dcg", top_k), np.sort(rng.random(top_k))[::-1], np.ones(top_k)][seed % 3]
    ranks = padded(w, n)
    production = np.mean([rng.permutation(ranks) for _ in range(rng.integers(1, 5))], axis=0)
    rewards = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], n) if seed % 2 else rng.normal(size=n)
    low, high = rng.choice([0.0, 0.5, 1.0]), rng.choice([1.0, 2.0, 5.0])
    return (
        banded(production, rewards, low, high, rng.choice([0, 0.5]), rng.choice([0, 0.3])),
        (Lists.of_offsets(np.array([0, n]))),
        w,
    )


def banded(production, rewards, low, high, rollback, price) -> PiecewiseGain:
    """PRPO's gain with rollback, and a price on weight below production's."""
    up = rewards >= 0
    before = np.where(up, rewards, -rollback * rewards)
    behind = np.where(up, -rollback * rewards, rewards)
    return PiecewiseGain(
        np.stack([low * production, production, high * production], 1),
        np.stack([before + price, rewards + price, rewards, behind], 1),
        production,
    )


def padded(w: np.ndarray, n: int) -> np.ndarray:
    ranks = np.zeros(n)
    ranks[: min(n, len(w))] = w[:n]
    return ranks


def program(gain: PiecewiseGain, w: np.ndarray) -> float:
    """The maximum over doubly stochastic matrices, by a linear program."""
    n, pieces = gain.slopes.shape
    places, size = n * n, n * n + n * pieces
    rows, limits = [], []
    for d in range(n):
        stands, held, weight = np.zeros(size), np.zeros(size), np.zeros(size)
        stands[d * n : (d + 1) * n], held[d:places:n] = 1, 1
        weight[d * n : (d + 1) * n] = padded(w, n)
        weight[places + d * pieces : places + (d + 1) * pieces] = -1
        rows += [stands, held, weight]
        limits += [1, 1, 0]
    lengths = np.diff(gain.kinks, axis=-1, prepend=0)
    bounds = [(0, None)] * places
    for d in range(n):
        bounds += [(0, length) for length in lengths[d]] + [(0, None)]
    costs = np.concatenate([np.zeros(places), -gain.slopes.ravel()])
    return -linprog(costs, A_eq=np.array(rows), b_eq=limits, bounds=bounds).fun


@given(SEEDS)
def test_law_the_optimum_is_that_of_a_linear_program(seed):
    gain, lists, w = case(seed)
    found = best_weights(gain, lists, w)
    assert gain.value(found).sum() == pytest.approx(program(gain, w), abs=1e-9)


@given(SEEDS)
def test_law_the_optimum_is_a_policy(seed):
    gain, lists, w = case(seed)
    found = np.sort(best_weights(gain, lists, w))[::-1]
    ranks = padded(w, len(found))
    assert (np.cumsum(found) <= np.cumsum(ranks) + 1e-12).all()
    assert found.sum() == pytest.approx(ranks.sum(), abs=1e-12)
    assert found.min() >= 0


@given(SEEDS)
def test_law_rankings_have_the_weights(seed):
    gain, lists, w = case(seed)
    found = best_weights(gain, lists, w)
    mixture = QueryRankings.of(found, lists, w)
    assert np.abs(mixture.weights(lists, w) - found).max() < 1e-12
    assert mixture.shares.sum() == pytest.approx(1, abs=1e-12)
    assert (mixture.shares > 0).all()
    assert 1 <= len(mixture.shares) <= len(found)
    for ranking in mixture.places.tolist():
        shown = [place for place in ranking if place >= 0]
        assert len(set(shown)) == len(shown) == min(len(w), len(found))


@given(SEEDS)
def test_law_a_clip_of_1_returns_production(seed):
    gain, lists, w = case(seed)
    rewards = gain.slopes[:, 2]
    closed = banded(gain.production, rewards, 1.0, 1.0, 0.0, 0.0)
    assert np.abs(best_weights(closed, lists, w) - gain.production).max() < 1e-15


@given(SEEDS)
def test_law_no_weight_falls_below_a_floor(seed):
    gain, lists, w = case(seed)
    floor = np.maximum(gain.production - 0.2, 0.0)
    slopes = np.column_stack([np.full(len(floor), np.inf), gain.slopes[:, 2]])
    found = best_weights(PiecewiseGain(floor[:, None], slopes, gain.production), lists, w)
    assert (found >= floor - 1e-12).all()


def test_long_lists_have_few_rankings_and_the_right_weights():
    rng = np.random.default_rng(3)
    w, lists = rank_weights("dcg", 5), Lists.of_offsets(np.array([0, 300, 301, 301, 420]))
    production = np.concatenate(
        [np.mean([rng.permutation(padded(w, n)) for _ in range(40)], 0) for n in (300, 1, 119)]
    )
    gain = banded(production, rng.normal(size=420), 0.5, 2.0, 0.0, 0.0)
    found = best_weights(gain, lists, w)
    assert gain.value(found).sum() > gain.value(production).sum()
    mixture = QueryRankings.of(found, lists, w)
    assert (np.diff(mixture.offsets) <= lists.lengths).all()
    assert np.abs(mixture.weights(lists, w) - found).max() < 1e-12


def test_a_gain_that_is_not_concave_is_refused():
    with pytest.raises(DataError, match="not concave"):
        PiecewiseGain(np.array([[0.5]]), np.array([[0.0, 1.0]]), np.array([0.5]))


def test_rank_weights_that_rise_are_refused():
    gain = PiecewiseGain(np.zeros((2, 1)), np.zeros((2, 2)), np.array([0.5, 1.0]))
    with pytest.raises(DataError, match="rise from rank to rank"):
        best_weights(gain, Lists.of_offsets(np.array([0, 2])), np.array([0.5, 1.0]))


def test_same_bits_with_one_and_two_threads(run_python):
    """Of the optimum, of its rankings, of the budget and of exploring."""
    code = """
import hashlib
import numpy as np
from cltr.objectives.prpo import PRPO
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.budget import spend_budget
from cltr.policies.exploring import explore_weights
from cltr.policies.optimum import PiecewiseGain, best_weights
from cltr.policies.query_rankings import QueryRankings
from cltr.types import Lists
rng = np.random.default_rng(0)
offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 100))])
scores, rewards = rng.normal(size=(2, offsets[-1]))
lists, w = Lists.of_offsets(offsets), np.array([1.0, 0.6, 0.5, 0.4, 0.3])
production = PlackettLuce().expected_weights(scores, lists, w)
best = best_weights(PiecewiseGain.of(PRPO(clip=0.5), production, rewards), lists, w)
mixture = QueryRankings.of(best, lists, w)
spent = spend_budget(rewards, production, lists, w, budget=0.05).weights
sorted_weights = Deterministic().expected_weights(scores, lists, w)
explored = explore_weights(sorted_weights, lists, w, max_loss=0.01)
found = (best, mixture.places, mixture.shares, spent, explored)
print(hashlib.sha256(b"".join(one.tobytes() for one in found)).hexdigest())
"""
    one, two = (run_python(code, NUMBA_NUM_THREADS=threads) for threads in ("1", "2"))
    assert len(one.strip()) == 64
    assert one == two
