"""Guards what holds for every list: padding, order, seeds, threads, extreme scores, centring."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltr.documents import Batch
from cltr.interfaces import Objective
from cltr.objectives.plain import Plain
from cltr.policies import PlackettLuce
from cltr.types import Exposure, Lists
from cltr_plrank import Placement, PLRank, PLRank1, PLRank2, Reinforce, StochasticRank
from cltr_plrank.plrank import centre

RANKERS = [
    PLRank(samples=20),
    PLRank1(samples=20),
    PLRank2(samples=20),
    Placement(samples=20),
    Reinforce(samples=20),
    StochasticRank(samples=20),
    StochasticRank(samples=20, noise="gaussian", sigma=0.5),
]
SEVERAL = settings(deadline=None, max_examples=25, derandomize=True)
every_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=str)


@st.composite
def lists(draw):
    """Scores and signed slopes of one list, from flat to very peaked, and any rank weights."""
    n, top_k = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    scale = draw(st.sampled_from([0.1, 2.0, 30.0, 300.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return scale * rng.normal(size=n), rng.normal(size=n), rng.uniform(-1, 1, size=top_k)


def batch(scores, slopes, rank_weights, *, width=None):
    """One list as a padded batch of one row, under the plain estimator."""
    n = len(scores)
    width = width or n
    rows = np.full((4, 1, width), 0.0)
    rows[0] = -np.inf
    rows[0, 0, :n], rows[1, 0, :n] = scores, slopes
    mask = np.arange(width)[None] < n
    rows[2] = PlackettLuce().expected_weights(rows[0], Lists.of_mask(mask), rank_weights)
    unused = rows[3]
    objective = Objective(Plain(), rows[2], Exposure(unused, unused, unused), rows[1])
    return Batch(rows[0], mask, rank_weights), objective


def gradient(ranker, problem, seed=0, **options):
    return ranker.gradient(*batch(*problem, **options), np.random.default_rng(seed))[0]


@every_ranker
@SEVERAL
@given(problem=lists())
def test_padding_changes_nothing(ranker, problem):
    n = len(problem[0])
    padded = gradient(ranker, problem, width=n + 3)
    np.testing.assert_allclose(padded[:n], gradient(ranker, problem), rtol=1e-12, atol=1e-15)
    assert not padded[n:].any()


@every_ranker
@SEVERAL
@given(problem=lists())
def test_finite_however_peaked(ranker, problem):
    found = gradient(ranker, problem)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("ranker", [PLRank1(samples=5), Placement(), Reinforce()], ids=str)
@SEVERAL
@given(problem=lists())
def test_log_probabilities_move_no_list_as_a_whole(ranker, problem):
    """A shift of all scores changes no probability, so each ranking's gradient sums to 0."""
    assert abs(gradient(ranker, problem).sum()) < 1e-9


@pytest.mark.parametrize("ranker", RANKERS[:-1], ids=str)
@SEVERAL
@given(problem=lists(), seed=st.integers(0, 100))
def test_permuting_documents_permutes_the_gradient(ranker, problem, seed):
    """Draws go by falling score, so the same seed draws the same documents."""
    scores, slopes, rank_weights = problem
    moved = np.random.default_rng(seed).permutation(len(scores))
    permuted = gradient(ranker, (scores[moved], slopes[moved], rank_weights))
    np.testing.assert_allclose(permuted, gradient(ranker, problem)[moved], rtol=1e-9, atol=1e-12)


@every_ranker
def test_same_seed_same_numbers(ranker):
    rng = np.random.default_rng(1)
    problem = rng.normal(size=6), rng.normal(size=6), np.array([1.0, 0.5, 0.3])
    first = gradient(ranker, problem, seed=5)
    np.testing.assert_array_equal(first, gradient(ranker, problem, seed=5))
    assert (first != gradient(ranker, problem, seed=6)).any()


@every_ranker
def test_number_of_threads_does_not_matter(ranker):
    import numba

    rng = np.random.default_rng(2)
    scores, slopes = rng.normal(size=(2, 9, 12))
    given_batch = Batch(scores, np.ones(scores.shape, bool), np.array([1.0, 0.5, 0.3]))
    exposure = Exposure(slopes, slopes, slopes)
    objective = Objective(Plain(), np.ones(scores.shape), exposure, slopes)

    def run(threads):
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        try:
            return ranker.gradient(given_batch, objective, np.random.default_rng(0))
        finally:
            numba.set_num_threads(before)

    np.testing.assert_array_equal(run(1), run(numba.config.NUMBA_NUM_THREADS))


@every_ranker
def test_empty_list_and_empty_batch(ranker):
    problem = np.zeros(0), np.zeros(0), np.array([1.0, 0.5])
    assert not gradient(ranker, problem, width=2).any()


def chance_of(document, scores, ranked):
    """Softmax among the documents that are not ranked, in logarithms."""
    left = [s for d, s in enumerate(scores) if d not in ranked]
    highest = max(left)
    total = math.fsum(math.exp(s - highest) for s in left)
    return math.exp(scores[document] - highest) / total


def pl_rank_by_hand(scores, labels, rank_weights, ranking):
    """PL-Rank-2's formula for one ranking (SIGIR'21, Eq. 25)."""
    depth = len(ranking)
    earned = [rank_weights[k] * labels[ranking[k]] for k in range(depth)]
    result = []
    for d in range(len(scores)):
        rank = ranking.index(d) if d in ranking else depth
        total = math.fsum(earned[rank + 1 :])
        for k in range(min(rank + 1, depth)):
            later = math.fsum(earned[k:])
            total += chance_of(d, scores, ranking[:k]) * (rank_weights[k] * labels[d] - later)
        result.append(total)
    return np.array(result)


@pytest.mark.parametrize("ranker", [PLRank(centre="none"), PLRank2(centre="none")], ids=str)
@SEVERAL
@given(problem=lists(), data=st.data())
def test_exact_to_rounding_however_peaked(ranker, problem, data):
    """The shared sums must not lose the small documents behind a large one, nor the reverse."""
    scores, slopes, rank_weights = problem
    depth = min(len(scores), len(rank_weights))
    drawn = data.draw(
        st.lists(st.permutations(range(len(scores))), min_size=1, max_size=4).map(
            lambda orders: [order[:depth] for order in orders]
        )
    )
    rankings = np.full((1, len(drawn), len(rank_weights)), -1)
    rankings[0, :, :depth] = drawn
    found = ranker.estimate(*batch(*problem), rankings)[0]
    by_hand = [pl_rank_by_hand(scores, slopes, rank_weights, ranking) for ranking in drawn]
    np.testing.assert_allclose(found, np.mean(by_hand, 0), rtol=1e-9, atol=1e-12)


@SEVERAL
@given(problem=lists())
def test_pl_rank_2_is_pl_rank_and_placement_is_pl_rank_1(problem):
    np.testing.assert_allclose(
        gradient(PLRank2(samples=9), problem), gradient(PLRank(samples=9), problem), atol=1e-9
    )
    np.testing.assert_array_equal(
        gradient(Placement(samples=9, baseline="none"), problem),
        gradient(PLRank1(samples=9, centre="none"), problem),
    )


@SEVERAL
@given(problem=lists(), shift=st.floats(-5, 5))
def test_centred_estimates_ignore_a_shift_of_all_labels(problem, shift):
    scores, slopes, rank_weights = problem
    for ranker in (PLRank(samples=9), PLRank1(samples=9, centre="mean")):
        shifted = gradient(ranker, (scores, slopes + shift, rank_weights))
        np.testing.assert_allclose(shifted, gradient(ranker, problem), atol=1e-8)


def test_centre_without_weight_leaves_labels_alone():
    np.testing.assert_array_equal(centre(np.array([[1.0, 2.0]]), np.zeros((1, 2))), [[1.0, 2.0]])
