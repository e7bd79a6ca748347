"""Guards the samplers: they draw from Plackett-Luce itself, however peaked, and count alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cltr.kernels import sampling
from cltr.policies import list_seeds, places_by_score, sample_rankings
from cltr.types import Lists
from tests import enumeration, strategies

SURE = 1e-4
"""A right sampler falls below this p-value once in ten thousand; seeds are fixed."""


def sample(scores, *, top_k: int, n: int, seed: int = 0) -> np.ndarray:
    """Rankings of one list, ``[samples, K]``."""
    rng, mask = np.random.default_rng(seed), np.ones((1, len(scores)), np.bool_)
    drawn = sample_rankings(np.array([scores]), mask, top_k=top_k, n_samples=n, rng=rng)
    return drawn[0]


def count(scores, offsets, displays, *, top_k: int, seed: int = 0) -> np.ndarray:
    """Rank counts of several lists, ``[docs, K]``."""
    scores, lists = np.asarray(scores, np.float64), Lists.of_offsets(np.asarray(offsets))
    out = np.full((len(scores), top_k), -1, np.int64)
    seeds = list_seeds(len(lists.lengths), np.random.default_rng(seed))
    orders = places_by_score(scores, lists)
    sampling.rank_counts(scores, orders, *lists, np.asarray(displays), top_k, seeds, out)
    return out


def count_copies(scores, *, copies: int, displays: int, top_k: int) -> np.ndarray:
    """Rank counts of many copies of one list, ``[copies, docs, K]``."""
    n = len(scores)
    flat = np.tile(scores, copies)
    counts = count(flat, np.arange(copies + 1) * n, np.full(copies, displays), top_k=top_k)
    return counts.reshape(copies, n, top_k)


def ragged(batch, displays, *, top_k: int, seed: int = 0) -> np.ndarray:
    """Rankings of several lists, so many of each, ``[interactions, K]`` flat indices."""
    displays = np.asarray(displays)
    out = np.full((int(displays.sum()), top_k), -7, np.int64)
    seeds = list_seeds(len(displays), np.random.default_rng(seed))
    rows, orders = np.cumsum(displays) - displays, places_by_score(batch.scores, batch.lists)
    sampling.ragged_rankings(batch.scores, orders, *batch.lists, displays, rows, top_k, seeds, out)
    return out


def p_value(observed: np.ndarray, chances: np.ndarray) -> float:
    """Chi-square of the common cells, and whether the rare ones came too often; the smaller."""
    expected = chances / chances.sum() * observed.sum()
    rare = expected < 10
    too_often = float(stats.poisson.sf(observed[rare].sum() - 1, expected[rare].sum()))
    observed, expected = observed[~rare], expected[~rare]
    if len(observed) < 2:
        return too_often
    fit = stats.chisquare(observed, expected / expected.sum() * observed.sum())
    return min(too_often, float(fit.pvalue))


def normal(n: int, scale: float) -> np.ndarray:
    return scale * np.random.default_rng(3).normal(size=n)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize(("n", "top_k"), [(5, 3), (4, 4), (3, 5), (6, 1)])
def test_whole_rankings_come_as_often_as_enumeration_says(scale, n, top_k):
    scores = normal(n, scale)
    depth = min(n, top_k)
    drawn = sample(scores, top_k=top_k, n=100_000)[:, :depth]
    chances = dict(enumeration.rankings(scores, top_k))
    codes = drawn @ n ** np.arange(depth)
    observed = [
        (codes == ranking @ n ** np.arange(depth)).sum() for ranking in map(np.array, chances)
    ]
    assert sum(observed) == len(drawn)
    assert p_value(np.array(observed), np.array(list(chances.values()))) > SURE


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("displays", [3, 50, 100_000])
def test_counts_come_as_often_as_enumeration_says(scale, displays):
    scores, top_k = normal(6, scale), 4
    copies = max(1, 100_000 // displays)
    counts = count_copies(scores, copies=copies, displays=displays, top_k=top_k).sum(0)
    chances = enumeration.rank_distribution(scores, top_k)
    for rank in range(top_k):
        assert p_value(counts[:, rank], chances[:, rank]) > SURE


@pytest.mark.parametrize("displays", [5, 40, 1000])
def test_counts_spread_as_those_of_rankings_drawn_one_by_one(displays):
    """Right means alone would not do: each count is a binomial over the displays."""
    scores, top_k = normal(4, 1.0), 3
    counts = count_copies(scores, copies=20_000, displays=displays, top_k=top_k)
    chances = enumeration.rank_distribution(scores, top_k)
    for document, rank in [(0, 0), (1, 1), (2, 2), (3, 1)]:
        binomial = stats.binom(displays, chances[document, rank])
        observed = np.bincount(counts[:, document, rank], minlength=displays + 1)
        assert p_value(observed, binomial.pmf(np.arange(displays + 1))) > SURE


def test_counts_agree_with_counted_rankings():
    scores, top_k, n = normal(30, 2.0), 5, 200_000
    drawn = sample(scores, top_k=top_k, n=n)
    counts = count(scores, [0, 30], [n], top_k=top_k)
    for rank in range(top_k):
        both = np.stack([np.bincount(drawn[:, rank], minlength=30), counts[:, rank]])
        both = both[:, both.sum(0) >= 20]
        assert stats.chi2_contingency(both).pvalue > SURE


def test_a_billion_displays_are_counted_exactly_binomially():
    n, copies, p = 10**9, 4000, 0.3
    counts = count_copies(np.log([p, 1 - p]), copies=copies, displays=n, top_k=1)[:, 0, 0]
    standard = (counts - n * p) / np.sqrt(n * p * (1 - p))
    assert stats.kstest(standard, "norm").pvalue > SURE


def test_ragged_rankings_come_as_often_as_enumeration_says():
    batch = strategies.Batch(np.concatenate([normal(4, 1.0), normal(3, 2.0)]), np.array([0, 4, 7]))
    displays = [40_000, 20_000]
    drawn = ragged(batch, displays, top_k=2)
    for query, first in enumerate([0, 40_000]):
        own = drawn[first : first + displays[query]]
        start, stop = batch.offsets[query : query + 2]
        chances = enumeration.rank_distribution(batch.scores[start:stop], 2)
        for rank in range(2):
            observed = np.bincount(own[:, rank] - start, minlength=stop - start)
            assert p_value(observed, chances[:, rank]) > SURE


@pytest.mark.parametrize("gap", [50.0, 300.0, 700.0, 5000.0])
def test_very_peaked_policies_are_ranked_by_score(gap):
    order = np.array([3, 0, 4, 1, 2])
    scores = np.empty(5)
    scores[order] = -gap * np.arange(5)
    assert (sample(scores, top_k=5, n=2000) == order).all()
    assert (count(scores, [0, 5], [10**6], top_k=5)[order] == 10**6 * np.eye(5)).all()


@pytest.mark.parametrize("gap", [50.0, 700.0])
def test_a_peak_of_two_leaves_the_rest_undisturbed(gap):
    """Behind two equal documents, two more at odds 2 : 1, whose rates are e^-gap of the first."""
    scores = np.array([0.0, 0.0, -gap + np.log(2), -gap])
    drawn = sample(scores, top_k=4, n=60_000)
    assert (drawn[:, :2] < 2).all()
    assert p_value(np.bincount(drawn[:, 0], minlength=2), np.array([1, 1])) > SURE
    assert p_value(np.bincount(drawn[:, 2] - 2, minlength=2), np.array([2, 1])) > SURE
    counts = count(scores, [0, 4], [60_000], top_k=4)
    assert (counts[:2, 2:] == 0).all()
    assert p_value(counts[2:, 2], np.array([2, 1])) > SURE


@given(batch=strategies.batches(), top_k=st.integers(1, 6), n=st.integers(0, 40))
def test_law_a_ranking_is_a_choice_without_repetition(batch, top_k, n):
    width = int(np.diff(batch.offsets).max())
    rows, mask = batch.padded(width)
    drawn = sample_rankings(rows, mask, top_k=top_k, n_samples=n, rng=np.random.default_rng(0))
    assert drawn.shape == (len(rows), n, top_k)
    for length, rankings in zip(np.diff(batch.offsets), drawn, strict=True):
        depth = min(length, top_k)
        assert (rankings[:, depth:] == -1).all()
        assert ((rankings[:, :depth] >= 0) & (rankings[:, :depth] < length)).all()
        assert all(len(set(ranking)) == depth for ranking in rankings[:, :depth])


@given(data=st.data(), batch=strategies.batches(), top_k=st.integers(1, 6))
def test_law_every_display_fills_every_rank_there_is(data, batch, top_k):
    lengths = np.diff(batch.offsets)
    displays = np.array([data.draw(st.integers(0, 500)) for _ in lengths])
    counts = count(batch.scores, batch.offsets, displays, top_k=top_k)
    for query, length in enumerate(lengths):
        own = counts[batch.offsets[query] : batch.offsets[query + 1]]
        depth = min(length, top_k)
        assert (own[:, :depth].sum(0) == (displays[query] if length else 0)).all()
        assert (own[:, depth:] == 0).all()
        assert (own >= 0).all()
        assert (own.sum(1) <= displays[query]).all()


@given(data=st.data(), batch=strategies.batches(), top_k=st.integers(1, 6))
def test_law_ragged_rankings_stay_in_their_list(data, batch, top_k):
    lengths = np.diff(batch.offsets)
    displays = np.array([data.draw(st.integers(0, 9)) if n else 0 for n in lengths])
    drawn = ragged(batch, displays, top_k=top_k)
    owner = np.repeat(np.arange(len(lengths)), displays)
    for query, ranking in zip(owner, drawn, strict=True):
        depth = min(lengths[query], top_k)
        own = range(batch.offsets[query], batch.offsets[query + 1])
        assert set(ranking[:depth]) <= set(own)
        assert len(set(ranking[:depth])) == depth
        assert (ranking[depth:] == -1).all()


def test_the_same_seed_draws_the_same_and_another_others():
    scores = normal(10, 1.0)
    once, twice, other = (sample(scores, top_k=5, n=100, seed=seed) for seed in (0, 0, 1))
    assert (once == twice).all()
    assert (once != other).any()


def test_equal_lists_are_drawn_independently():
    counts = count_copies(np.zeros(3), copies=2, displays=100_000, top_k=1)
    assert (counts[0] != counts[1]).any()


def test_same_bits_with_one_and_two_threads(run_python):
    code = """
import hashlib
import numpy as np
from cltr.kernels import sampling
from cltr.policies import list_seeds, places_by_score
from cltr.types import Lists
rng = np.random.default_rng(0)
lists = Lists.of_offsets(np.concatenate([[0], np.cumsum(rng.integers(1, 30, 100))]))
scores = rng.normal(size=int(lists.lengths.sum()))
orders, seeds = places_by_score(scores, lists), list_seeds(100, rng)
drawn = np.empty((100, 50, 5), np.int64)
sampling.rankings(scores, orders, *lists, 5, seeds, drawn)
counts = np.empty((len(scores), 5), np.int64)
sampling.rank_counts(scores, orders, *lists, np.full(100, 5000), 5, seeds, counts)
print(hashlib.sha256(drawn.tobytes() + counts.tobytes()).hexdigest())
"""
    one, two = (run_python(code, NUMBA_NUM_THREADS=threads) for threads in ("1", "2"))
    assert one == two
