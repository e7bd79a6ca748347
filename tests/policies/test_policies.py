"""Guards the policies' public face: rank distributions, order by score, flat and padded alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import NotFiniteError, UsageError
from cltr.policies import (
    Deterministic,
    Gaussian,
    PlackettLuce,
    list_seeds,
    places_by_score,
    ranks_by_score,
    sample_rankings,
)
from cltr.types import Lists
from tests import enumeration, strategies

DCG = 1 / np.log2(np.arange(2, 7))
POLICIES = [PlackettLuce(), Deterministic()]


@pytest.mark.parametrize("scale", [0.1, 1.0, 6.0, 20.0])
@pytest.mark.parametrize(("n", "top_k"), [(1, 3), (2, 1), (3, 5), (5, 3), (5, 5)])
def test_rank_distribution_equals_enumeration(scale, n, top_k):
    scores = scale * np.random.default_rng(n).normal(size=n)
    lists = Lists.of_offsets(np.array([0, n]))
    found = PlackettLuce(accuracy=1e-9).rank_distribution(scores, lists, top_k)
    np.testing.assert_allclose(found, enumeration.rank_distribution(scores, top_k), atol=1e-9)


@given(batch=strategies.batches(), top_k=st.integers(1, 6), policy=st.sampled_from(POLICIES))
def test_law_every_rank_is_filled_once_and_no_document_twice(batch, top_k, policy):
    ranks = policy.rank_distribution(batch.scores, batch.lists, top_k)
    assert ranks.shape == (len(batch.scores), top_k)
    for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        filled = np.arange(top_k) < stop - start
        np.testing.assert_allclose(ranks[start:stop].sum(0), filled, atol=1e-6)
        assert (ranks[start:stop].sum(1) <= 1 + 1e-6).all()


@given(
    batch=strategies.batches(),
    rank_weights=strategies.rank_weights(),
    policy=st.sampled_from(POLICIES),
)
def test_law_weights_are_the_mean_weight_of_the_rank(batch, rank_weights, policy):
    ranks = policy.rank_distribution(batch.scores, batch.lists, len(rank_weights))
    weights = policy.expected_weights(batch.scores, batch.lists, rank_weights)
    np.testing.assert_allclose(weights, ranks @ rank_weights, atol=1e-6)


def test_scores_of_any_number_type_and_layout_will_do():
    scores = np.array([[1.0, 0.5, 0.25], [0.0, 2.0, -np.inf]])
    lists = Lists.of_mask(np.isfinite(scores))
    expected = PlackettLuce().expected_weights(scores, lists, DCG)
    fortran = np.asfortranarray(scores)
    np.testing.assert_array_equal(PlackettLuce().expected_weights(fortran, lists, DCG), expected)
    single = scores.astype(np.float32)
    np.testing.assert_array_equal(PlackettLuce().expected_weights(single, lists, DCG), expected)
    assert expected.shape == scores.shape


def test_no_documents_have_no_weights():
    nothing = Lists.of_offsets(np.array([0, 0, 0]))
    for policy in POLICIES:
        assert policy.expected_weights(np.zeros(0), nothing, DCG).shape == (0,)
        assert policy.rank_distribution(np.zeros(0), nothing, 3).shape == (0, 3)


def test_nearly_deterministic_scores_come_near_the_deterministic_policy():
    scores, lists = np.array([0.1, 0.3, 0.2, 0.0]), Lists.of_offsets(np.array([0, 4]))
    peaked = PlackettLuce().expected_weights(400 * scores, lists, DCG)
    np.testing.assert_allclose(
        peaked, Deterministic().expected_weights(scores, lists, DCG), atol=1e-6
    )


def test_deterministic_breaks_ties_in_the_order_of_the_list():
    scores, lists = np.array([1.0, 2.0, 2.0, 1.0]), Lists.of_offsets(np.array([0, 4]))
    np.testing.assert_allclose(
        Deterministic().expected_weights(scores, lists, DCG[:3]), [DCG[2], DCG[0], DCG[1], 0]
    )


@given(batch=strategies.batches())
def test_law_ranks_and_places_are_each_others_inverse(batch):
    ranks = ranks_by_score(batch.scores, batch.lists)
    places = places_by_score(batch.scores, batch.lists)
    for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        own = batch.scores[start:stop]
        expected = np.argsort(-own, kind="stable")
        np.testing.assert_array_equal(places[start:stop], expected)
        np.testing.assert_array_equal(ranks[start:stop][expected], np.arange(stop - start))


def test_padding_ranks_behind_everything():
    scores = np.array([[1.0, 2.0, -np.inf], [0.0, -np.inf, -np.inf]])
    ranks = ranks_by_score(scores, Lists.of_mask(np.isfinite(scores)))
    assert ranks[0, :2].tolist() == [1, 0]
    assert ranks[1, 0] == 0
    assert (ranks[~np.isfinite(scores)] > 10**9).all()
    weights = Deterministic().expected_weights(scores, Lists.of_mask(np.isfinite(scores)), DCG)
    assert (weights[~np.isfinite(scores)] == 0).all()


@pytest.mark.parametrize("gap", [50.0, 300.0, 700.0, 5000.0, 1e9])
def test_scores_however_far_apart_are_ranked(gap):
    order = np.array([3, 0, 4, 1, 2])
    scores, lists = np.zeros(5), Lists.of_offsets(np.array([0, 5]))
    scores[order] = -gap * np.arange(5)
    weights = PlackettLuce().expected_weights(scores, lists, DCG)
    np.testing.assert_allclose(weights[order], DCG, atol=1e-7)
    gradient = PlackettLuce().gradient(scores, np.arange(5.0), lists, DCG)
    np.testing.assert_allclose(gradient, 0, atol=1e-7)


def test_behind_a_wide_gap_odds_are_what_they_were():
    scores, lists = np.array([-900.0, 0.0, -900.0 + np.log(3)]), Lists.of_offsets(np.array([0, 3]))
    second = PlackettLuce().rank_distribution(scores, lists, 2)[:, 1]
    np.testing.assert_allclose(second, [1 / 4, 0, 3 / 4], atol=1e-7)


@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_a_score_of_minus_infinity_comes_last(backend):
    scores = np.array([0.0, -np.inf, np.log(3), -np.inf])
    policy, lists = PlackettLuce(backend=backend), Lists.of_offsets(np.array([0, 4]))
    ranks = policy.rank_distribution(scores, lists, 4)
    np.testing.assert_allclose(ranks[0], [1 / 4, 3 / 4, 0, 0], atol=1e-7)
    np.testing.assert_allclose(ranks[1], [0, 0, 1 / 2, 1 / 2], atol=1e-7)
    assert np.isfinite(policy.gradient(scores, np.ones(4), lists, DCG)).all()


@pytest.mark.parametrize("neighbour", [[0.0, -np.inf, -np.inf], [0.0, -700.0, 1.0]])
def test_a_list_does_not_depend_on_its_neighbours(neighbour):
    own = np.array([0.3, 1.0, -2.0, 0.1])
    alone = PlackettLuce().expected_weights(own, Lists.of_offsets(np.array([0, 4])), DCG)
    n = len(neighbour)
    lists = Lists.of_offsets(np.array([0, n, n + 4]))
    beside = PlackettLuce().expected_weights(np.array([*neighbour, *own]), lists, DCG)
    assert np.array_equal(beside[n:], alone)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e20])
@pytest.mark.parametrize("policy", [PlackettLuce(), PlackettLuce(backend="torch"), Gaussian()])
def test_scores_that_are_no_numbers_reach_no_kernel(policy, bad):
    scores, lists = np.array([0.3, bad, -2.0]), Lists.of_offsets(np.array([0, 3]))
    with pytest.raises(NotFiniteError, match="1 of 3 scores is not finite"):
        policy.expected_weights(scores, lists, DCG)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e20])
def test_nor_are_rankings_drawn_from_them(bad):
    scores, mask = np.array([[0.3, bad, -np.inf]]), np.array([[True, True, False]])
    rng = np.random.default_rng(0)
    with pytest.raises(NotFiniteError, match="1 of 2 scores is not finite"):
        sample_rankings(scores, mask, top_k=2, n_samples=4, rng=rng)


@pytest.mark.parametrize("accuracy", [0.0, 0.5, float("nan")])
def test_an_accuracy_that_is_none_is_refused(accuracy):
    with pytest.raises(UsageError, match="accuracy"):
        PlackettLuce(accuracy=accuracy)


def test_without_ranks_nothing_is_gained():
    lists, none = Lists.of_offsets(np.array([0, 2])), np.empty(0)
    for policy in (*POLICIES, Gaussian()):
        assert not policy.expected_weights(np.zeros(2), lists, none).any()
    assert not PlackettLuce().gradient(np.zeros(2), np.ones(2), lists, none).any()


def test_seeds_are_one_per_list_and_of_the_generator():
    one, same, other = (list_seeds(50, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert len(set(one.tolist())) == 50
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize("base", [PlackettLuce, Deterministic, Gaussian])
def test_a_class_that_changes_expected_weights_changes_those_of_several_metrics(base):
    class Doubled(base):
        def expected_weights(self, scores, lists, rank_weights):
            return 2 * super().expected_weights(scores, lists, rank_weights)

    class DoubledAgain(Doubled):
        pass

    scores, lists = np.array([0.5, 0.1, 0.2]), Lists.of_offsets(np.array([0, 3]))
    for policy in (Doubled(), DoubledAgain()):
        for rank, found in enumerate(policy.several_weights(scores, lists, list(np.eye(3)))):
            expected = 2 * base().expected_weights(scores, lists, np.eye(3)[rank])
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(policy.rank_distribution(scores, lists, 3).sum(-1), 2.0)
