"""Guards the certificate: each number is what it promises, over every relevance there could be."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.evaluation.certificate import certify, worst_losses
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.objectives.ratios import ratio_extremes
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.types import Lists
from tests import strategies

RANKS = rank_weights("dcg", 3)
KEYS = {
    "ratio_min",
    "ratio_min_p05",
    "ratio_min_p25",
    "ratio_min_p50",
    "ratio_max",
    "worst_loss",
    "worst_loss_1",
    "worst_loss_3",
    "documents_outside",
    "queries_outside",
}


@st.composite
def weight_pairs(draw, max_docs=6):
    """Weights and logging weights of a few lists, some of them 0, lists possibly empty."""
    batch = draw(strategies.batches(max_lists=3, max_docs=max_docs))
    n = len(batch.scores)
    weight = st.one_of(st.just(0.0), strategies.floats(1e-3, 1.0))
    weights = np.array(draw(st.lists(weight, min_size=n, max_size=n)))
    logging_weights = np.array(draw(st.lists(weight, min_size=n, max_size=n)))
    return weights, logging_weights, batch.lists


@st.composite
def policies(draw):
    """Exact weights of two Plackett-Luce policies on the same lists."""
    batch = draw(strategies.batches(max_lists=3, max_docs=6))
    other = draw(strategies.scores(len(batch.scores)))
    policy = PlackettLuce()
    lists = batch.lists
    return (
        policy.expected_weights(other, lists, RANKS),
        policy.expected_weights(batch.scores, lists, RANKS),
        lists,
    )


def by_list(lists: Lists, *arrays: np.ndarray):
    """Each list's part of every array."""
    for start, length in zip(*lists, strict=True):
        yield tuple(array[start : start + length] for array in arrays)


@given(pair=weight_pairs(), at_most=st.sampled_from([None, 1, 3]))
def test_worst_loss_is_the_maximum_over_all_relevance_vectors(pair, at_most):
    weights, logging_weights, lists = pair
    found = worst_losses(weights, logging_weights, lists, at_most=at_most)
    for q, (new, old) in enumerate(by_list(lists, weights, logging_weights)):
        most = max(
            np.dot(relevance, old - new)
            for relevance in product((0, 1), repeat=len(new))
            if at_most is None or sum(relevance) <= at_most
        )
        expected = most / old.sum() if old.sum() > 0 else 0.0
        assert found[q] == pytest.approx(expected, abs=1e-12)


@given(pair=weight_pairs(), relevance=st.data())
def test_no_graded_relevance_loses_more_than_worst_loss(pair, relevance):
    weights, logging_weights, lists = pair
    graded = relevance.draw(strategies.arrays(len(weights), 0.0, 1.0))
    loss = lists.sum((logging_weights - weights) * graded)
    total = lists.sum(logging_weights)
    assert (loss <= worst_losses(weights, logging_weights, lists) * total + 1e-12).all()


@given(pair=policies())
def test_worst_loss_of_policies_is_half_their_distance(pair):
    weights, logging_weights, lists = pair
    total = lists.sum(logging_weights)
    distance = lists.sum(np.abs(weights - logging_weights))
    expected = np.divide(distance, 2 * total, out=np.zeros(len(total)), where=total > 0)
    found = worst_losses(weights, logging_weights, lists)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@given(pair=weight_pairs())
def test_ratio_extremes_are_the_smallest_and_largest_ratio(pair):
    weights, logging_weights, lists = pair
    low, high = ratio_extremes(weights, logging_weights, lists)
    for q, (new, old) in enumerate(by_list(lists, weights, logging_weights)):
        ratios = [
            (1.0 if n == 0 else np.inf) if o == 0 else n / o for n, o in zip(new, old, strict=True)
        ]
        assert low[q] == min(ratios, default=1.0)
        assert high[q] == max(ratios, default=1.0)


@given(pair=policies(), draw=st.data())
def test_utility_is_at_least_ratio_min_times_that_of_production(pair, draw):
    """For every relevance that is not negative, in each query and over any mix of queries."""
    weights, logging_weights, lists = pair
    relevance = draw.draw(strategies.arrays(len(weights), 0.0, 10.0))
    shares = draw.draw(strategies.arrays(len(lists.lengths), 0.0, 1.0))
    new, old = (lists.sum(w * relevance) for w in (weights, logging_weights))
    low, _ = ratio_extremes(weights, logging_weights, lists)
    assert (new >= low * old - 1e-9).all()
    ratio_min = certify(weights, logging_weights, lists, estimator=Plain())["ratio_min"]
    assert shares @ new >= ratio_min * (shares @ old) - 1e-9


@given(pair=policies(), share=strategies.floats(0.0, 1.0))
def test_a_mixture_keeps_one_minus_its_share_and_scales_the_loss(pair, share):
    weights, logging_weights, lists = pair
    mixed = (1 - share) * logging_weights + share * weights
    low, _ = ratio_extremes(mixed, logging_weights, lists)
    assert (low >= 1 - share - 1e-9).all()
    np.testing.assert_allclose(
        worst_losses(mixed, logging_weights, lists),
        share * worst_losses(weights, logging_weights, lists),
        atol=1e-9,
    )


@given(pair=policies())
def test_production_itself_can_lose_nothing(pair):
    _, logging_weights, lists = pair
    found = certify(logging_weights, logging_weights, lists, estimator=PRPO(clip=1.0))
    assert (found["ratio_min"], found["ratio_max"]) == (1.0, 1.0)
    assert found["worst_loss"] == found["worst_loss_1"] == found["worst_loss_3"] == 0.0
    assert found["documents_outside"] in (0.0, None)


def test_a_certificate_by_hand():
    """Two queries of two documents: one as production has it, one turned around."""
    lists = Lists.of_offsets(np.array([0, 2, 4]))
    logging_weights = np.array([1.0, 0.5, 1.0, 0.5])
    weights = np.array([1.0, 0.5, 0.5, 1.0])
    found = certify(weights, logging_weights, lists, estimator=PRPO(clip=0.8))
    assert set(found) == KEYS
    assert found["ratio_min"] == 0.5
    assert found["ratio_max"] == 2.0
    assert found["ratio_min_p50"] == 0.75
    assert found["ratio_min_p05"] == pytest.approx(0.5 + 0.05 * 0.5)
    assert found["worst_loss"] == pytest.approx((0 + 0.5 / 1.5) / 2)
    assert found["worst_loss_1"] == found["worst_loss_3"] == found["worst_loss"]
    assert found["documents_outside"] == 0.5
    assert found["queries_outside"] == 0.5


def test_queries_count_as_often_as_they_come():
    lists = Lists.of_offsets(np.array([0, 2, 4]))
    logging_weights = np.array([1.0, 0.5, 1.0, 0.5])
    weights = np.array([1.0, 0.5, 0.5, 1.0])
    found = certify(
        weights, logging_weights, lists, estimator=Plain(), query_weights=np.array([0.1, 0.9])
    )
    assert found["worst_loss"] == pytest.approx(0.9 * 0.5 / 1.5)
    assert found["documents_outside"] is None
    assert found["queries_outside"] is None


def test_no_queries_no_risk():
    nothing = Lists.of_offsets(np.array([0]))
    found = certify(np.zeros(0), np.zeros(0), nothing, estimator=PRPO(clip=0.5))
    assert set(found) == KEYS
    assert found["worst_loss"] == 0.0


def test_a_document_that_production_never_shows_has_no_finite_ratio():
    lists = Lists.of_offsets(np.array([0, 2]))
    low, high = ratio_extremes(np.array([0.4, 0.6]), np.array([1.0, 0.0]), lists)
    assert (low[0], high[0]) == (0.4, np.inf)
