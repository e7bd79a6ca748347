"""Guards: stored rankings mean what their weights say, and damaged ones are refused."""

import numpy as np
import pytest

from cltr.errors import DataError, UnsupportedError
from cltr.policies import PlackettLuce
from cltr.policies.query_rankings import MOST_DOCUMENTS, QueryRankings
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


def test_a_list_that_would_take_hours_is_refused():
    lists = Lists.of_offsets(np.array([0, 2, MOST_DOCUMENTS + 3]))
    weights = np.full(lists.starts[1] + lists.lengths[1], 0.5)
    with pytest.raises(UnsupportedError, match=r"a query has 10,001 documents; .* at most 10,000"):
        QueryRankings.of(weights, lists, np.ones(1))
    short = QueryRankings.of(weights, lists, np.ones(1), np.array([True, False]))
    assert short.known.tolist() == [True, False]
