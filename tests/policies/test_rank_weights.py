"""Guards metrics: weights by rank, and NDCG as others compute it and as enumeration says."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import nDCG

from cltr.clicks.models import TrustBias
from cltr.errors import UnknownNameError, UnsupportedError
from cltr.evaluation.metrics import expected_ndcg, ideal_weights
from cltr.interfaces import ClickModel
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.rank_weights import METRICS, rank_weights
from cltr.types import Lists
from tests import enumeration, strategies


class Chain(ClickModel):
    """Not affine, so it has no clicks to weigh ranks by."""

    name = "chain"

    def probabilities(self, relevance, context):
        return relevance * np.cumprod(1 - relevance, axis=-1)


@st.composite
def judged(draw, *, max_docs=7):
    """A few lists with grades 0 to 4 and scores that have no ties."""
    lengths = draw(st.lists(st.integers(1, max_docs), min_size=1, max_size=4))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = int(offsets[-1])
    scores = np.array(draw(st.permutations(range(n))), dtype=np.float64) / 3
    grades = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return scores, np.array(grades, dtype=np.float64), Lists.of_offsets(offsets)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("dcg", [1.0, 1 / np.log2(3), 0.5]),
        ("precision", [1 / 3, 1 / 3, 1 / 3]),
        ("reciprocal-rank", [1.0, 1 / 2, 1 / 3]),
        ("clicks", [0.35 + 0.65, 0.53 + 0.26, 0.55 + 0.15]),
    ],
)
def test_rank_weights_are_the_formula(metric, expected):
    np.testing.assert_allclose(rank_weights(metric, 3, TrustBias()), expected, rtol=1e-15)


def test_every_metric_has_weights_for_every_cut():
    for metric in METRICS:
        for top_k in range(1, 6):
            weights = rank_weights(metric, top_k, TrustBias())
            assert weights.shape == (top_k,)
            assert (weights > 0).all()


def test_an_unknown_metric_says_which_there_are():
    with pytest.raises(UnknownNameError) as caught:
        rank_weights("dgc", 3)
    assert str(caught.value) == (
        "no metric named 'dgc'; there are: dcg, clicks, precision, reciprocal-rank. "
        "Did you mean 'dcg'?"
    )


def test_clicks_need_a_model_that_is_affine():
    with pytest.raises(UnsupportedError, match="click model 'chain' gives no examination"):
        rank_weights("clicks", 3, Chain())


@given(batch=strategies.batches())
def test_sums_by_list_also_where_lists_are_empty(batch):
    sums = batch.lists.sum(batch.scores)
    parts = np.split(batch.scores, batch.offsets[1:-1])
    assert sums.dtype == np.float64
    np.testing.assert_allclose(sums, [part.sum() for part in parts], atol=1e-12)


@given(data=judged(), top_k=st.integers(1, 6))
def test_ndcg_of_a_ranking_agrees_with_ir_measures(data, top_k):
    scores, labels, lists = data
    found = expected_ndcg(
        Deterministic().expected_weights(scores, lists, rank_weights("dcg", top_k)),
        labels,
        lists,
        top_k=top_k,
    )
    qrels, run = [], []
    for document, query in enumerate(lists.owners):
        qrels.append(ir_measures.Qrel(str(query), str(document), int(labels[document])))
        run.append(ir_measures.ScoredDoc(str(query), str(document), float(scores[document])))
    theirs = ir_measures.iter_calc([nDCG @ top_k], qrels, run)
    expected = {int(one.query_id): one.value for one in theirs}
    assert len(expected) == len(found)
    np.testing.assert_allclose(found, [expected[q] for q in range(len(found))], atol=1e-12)


@given(data=judged(max_docs=5), top_k=st.integers(1, 5))
def test_expected_ndcg_is_the_mean_over_all_rankings(data, top_k):
    scores, labels, lists = data
    ranks = rank_weights("dcg", top_k)
    weights = PlackettLuce(accuracy=1e-10).expected_weights(scores, lists, ranks)
    found = expected_ndcg(weights, labels, lists, top_k=top_k)
    for q, (start, length) in enumerate(zip(*lists, strict=True)):
        part = slice(start, start + length)
        grades = labels[part]
        ideal = np.sort(grades)[::-1][:top_k] @ ranks[:length]

        def ndcg(ranking, grades=grades, ideal=ideal):
            reached = sum(grades[d] * ranks[k] for k, d in enumerate(ranking))
            return reached / ideal if ideal > 0 else 0.0

        expected = enumeration.expectation(scores[part].tolist(), top_k, ndcg)
        assert found[q] == pytest.approx(float(expected), abs=1e-7)


@given(data=judged())
def test_the_ideal_ranking_has_ndcg_1_and_no_policy_more(data):
    scores, labels, lists = data
    ranks = rank_weights("dcg", 3)
    relevant = lists.sum(labels) > 0
    best = expected_ndcg(ideal_weights(labels, lists, ranks), labels, lists, top_k=3)
    np.testing.assert_allclose(best, relevant.astype(float), atol=1e-12)
    policy = PlackettLuce().expected_weights(scores, lists, ranks)
    assert (expected_ndcg(policy, labels, lists, top_k=3) <= 1 + 1e-6).all()


def test_a_query_without_a_relevant_document_counts_0():
    lists = Lists.of_offsets(np.array([0, 2, 4]))
    weights = np.array([1.0, 0.5, 1.0, 0.5])
    found = expected_ndcg(weights, np.array([0.0, 0.0, 0.0, 3.0]), lists, top_k=2)
    np.testing.assert_allclose(found, [0.0, 0.5])
