"""Guards: stored rankings mean what their weights say, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import DataError
from cltr.policies import PlackettLuce
from cltr.policies.query_rankings import QueryRankings
from cltr.policies.rank_weights import rank_weights
from cltr.types import Lists

LISTS = Lists.of_offsets(np.array([0, 4, 4, 6, 13]))
DCG = rank_weights("dcg", 3)


def found(chosen=None) -> QueryRankings:
    scores = np.random.default_rng(1).normal(size=13)
    return QueryRankings.of(PlackettLuce().expected_weights(scores, LISTS, DCG), LISTS, DCG, chosen)


def test_queries_that_are_not_chosen_have_none():
    chosen = np.array([True, True, False, True])
    rankings = found(chosen)
    assert rankings.known.tolist() == [True, False, False, True]  # the second has no documents
    weights = rankings.weights(LISTS, DCG)
    assert (weights[4:6] == 0).all()
    np.testing.assert_allclose(LISTS.sum(weights), [DCG.sum(), 0, 0, DCG.sum()])


def test_first_weights_by_counting():
    rankings = found()
    chosen = np.random.default_rng(2).random(13) < 0.4
    expected = np.zeros(4)
    rows = rankings.rows(LISTS)
    for owner, share, ranking in zip(rankings.owners, rankings.shares, rows, strict=True):
        hits = [k for k, row in enumerate(ranking) if row >= 0 and chosen[row]]
        expected[owner] += share * DCG[hits[0]] if hits else 0
    np.testing.assert_allclose(rankings.first_weights(LISTS, chosen, DCG), expected)
    assert expected.any()


def test_a_part_of_the_queries_is_their_rankings():
    rankings, lists = found(), Lists.of_offsets(np.array([0, 2, 9]))
    part = rankings.queries(2, 4)
    np.testing.assert_array_equal(part.weights(lists, DCG), rankings.weights(LISTS, DCG)[4:])


def test_more_ranks_than_are_stored_are_refused():
    with pytest.raises(DataError, match="have 3 ranks; 5 are asked"):
        found().weights(LISTS, rank_weights("dcg", 5))


def test_they_are_read_as_they_were_written():
    rankings = found()
    again = QueryRankings.parse(rankings.arrays(), LISTS)
    np.testing.assert_array_equal(again.weights(LISTS, DCG), rankings.weights(LISTS, DCG))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a: a["shares"].__imul__(0.5), "do not add up to 1"),
        (lambda a: a["places"].__iadd__(9), "its list does not have"),
        (lambda a: a.update(offsets=a["offsets"][:-1]), "of 3 queries, not of 4"),
        (lambda a: a.update(shares=a["shares"][:-1]), "numbers of rankings"),
        (lambda a: a.update(places=a["places"][:-1]), "numbers of rankings"),
    ],
)
def test_what_does_not_fit_the_lists_is_refused(change, reason):
    arrays = {name: value.copy() for name, value in found().arrays().items()}
    change(arrays)
    with pytest.raises(ValueError, match=reason):
        QueryRankings.parse(arrays, LISTS)


@st.composite
def mixtures(draw) -> tuple[np.ndarray, np.ndarray]:
    """Weights of a mixture of random rankings, longer or shorter than 2K, and rank weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, top_k = draw(st.integers(1, 60)), draw(st.integers(1, 8))
    w = draw(st.sampled_from([rank_weights("dcg", top_k), np.ones(top_k)]))
    rankings = draw(st.integers(1, 8))
    shares = (
        np.ones(rankings) / rankings
        if draw(st.booleans())
        else rng.dirichlet(w[:1].repeat(rankings))
    )
    weights = np.zeros(n)
    for share in shares:
        weights[rng.permutation(n)[:top_k]] += share * w[:n]
    return weights, w


def one_list(n: int) -> Lists:
    return Lists.of_offsets(np.array([0, n]))


@given(mixtures())
def test_law_rankings_have_the_weights_and_are_few(mixture):
    weights, w = mixture
    rankings = QueryRankings.of(weights, one_list(len(weights)), w)
    assert np.abs(rankings.weights(one_list(len(weights)), w) - weights).max() < 1e-12
    assert 1 <= len(rankings.shares) <= len(weights)


@given(mixtures(), st.integers(1, 50))
def test_law_documents_without_weight_change_nothing(mixture, more):
    weights, w = mixture
    if (weights > 0).sum() < len(w):  # then ranks need documents without weight
        return
    longer = np.concatenate([weights, np.zeros(more)])
    short = QueryRankings.of(weights, one_list(len(weights)), w)
    long = QueryRankings.of(longer, one_list(len(longer)), w)
    np.testing.assert_array_equal(short.places, long.places)
    np.testing.assert_allclose(short.shares, long.shares, rtol=0, atol=1e-12)


def test_equal_documents_come_in_the_order_of_the_list():
    rankings = QueryRankings.of(np.full(40, DCG.sum() / 40), one_list(40), DCG)
    assert rankings.places[0].tolist() == [0, 1, 2]
    weights = np.array([0.5, 0.5, 1.0, 1.0, 0.0, 0.0])  # one rank each, and one shared
    assert QueryRankings.of(weights, one_list(6), np.ones(3)).places[:, :3].tolist() == [
        [2, 3, 0],
        [1, 2, 3],
    ]


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
def test_rankings_of_100_000_documents(spread):
    n, w = 100_000, rank_weights("dcg", 10)
    weights = np.exp(spread * np.random.default_rng(3).normal(size=n))
    weights *= w.sum() / weights.sum()
    rankings = QueryRankings.of(weights, one_list(n), w)
    assert np.abs(rankings.weights(one_list(n), w) - weights).max() < 1e-12
    assert len(rankings.shares) <= n
