"""Guards metrics on judgements: as others compute them, and as enumeration of rankings says."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, P, R, nDCG

from cltr.errors import NotFiniteError
from cltr.evaluation.judgement import require_finite
from cltr.evaluation.metrics import MetricOptions, measure
from cltr.interfaces import Policy
from cltr.policies import Deterministic, Gaussian, PlackettLuce
from cltr.policies.on_dataset import CountedPolicy, Mixture, ScoredPolicy
from cltr.testing import tiny_dataset
from cltr.types import Dataset
from tests import enumeration

TOP_K = 3


def judged(grades: list[list[float]]) -> Dataset:
    """Lists with these grades, without features."""
    lengths = [len(one) for one in grades]
    labels = np.array([grade for one in grades for grade in one], dtype=np.float64)
    return Dataset(
        features=np.zeros((len(labels), 1), np.float32),
        labels=labels,
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        query_ids=np.array([f"q{i}" for i in range(len(lengths))]),
        document_ids=np.array([f"d{i}" for i in range(len(labels))]),
        splits={"train": (0, len(lengths))},
    )


@st.composite
def scored(draw, *, max_docs=6):
    """A few lists with grades 0 to 3, scores without ties, and scores of a policy."""
    grades = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=max_docs), min_size=1, max_size=3)
    )
    data = judged(grades)
    order = draw(st.permutations(range(data.n_documents)))
    return data, np.array(order, dtype=np.float64) / 2


@given(data=scored(), top_k=st.integers(1, 5))
def test_law_a_ranking_is_judged_as_ir_measures_does(data, top_k):
    dataset, scores = data
    queries = [f"q{owner}" for owner in dataset.lists.owners]
    qrels = [
        ir_measures.Qrel(query, document, int(grade))
        for query, document, grade in zip(
            queries, dataset.document_ids, dataset.labels, strict=True
        )
    ]
    run = [
        ir_measures.ScoredDoc(query, document, float(value))
        for query, document, value in zip(queries, dataset.document_ids, scores, strict=True)
    ]
    measures = {
        "ndcg": nDCG(dcg="log2") @ top_k,
        "precision": P @ top_k,
        "recall": R @ top_k,
        "mrr": RR @ top_k,
    }
    theirs = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    ours = measure(ScoredPolicy(dataset, scores, Deterministic()), top_k=top_k)
    for name, one in measures.items():
        assert ours[f"{name}@{top_k}"] == pytest.approx(theirs[one], abs=1e-9), name


@given(data=scored(max_docs=5), top_k=st.integers(1, 4))
def test_law_under_plackett_luce_they_are_means_over_all_rankings(data, top_k):
    dataset, scores = data
    ours = measure(ScoredPolicy(dataset, scores, PlackettLuce(1e-11)), top_k=top_k)
    expected = {"precision": [], "recall": [], "mrr": [], "average_rank": []}
    for first, last in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        relevant = dataset.labels[first:last] >= 1

        def value(ranking, name, relevant=relevant):
            hits = relevant[np.array(ranking)]
            shown = hits[:top_k]
            return {
                "precision": shown.sum() / top_k,
                "recall": shown.sum() / max(relevant.sum(), 1),
                "mrr": 1 / (1 + shown.argmax()) if shown.any() else 0.0,
                "average_rank": (np.flatnonzero(hits) + 1).mean() if hits.any() else 0.0,
            }[name]

        for name, values in expected.items():
            if name == "average_rank" and not relevant.any():
                continue
            values.append(
                enumeration.expectation(
                    scores[first:last],
                    int(last - first),
                    lambda ranking, name=name, value=value: value(ranking, name),
                )
            )
    for name, values in expected.items():
        key = name if name == "average_rank" else f"{name}@{top_k}"
        if not values:
            assert ours[key] is None
        else:
            assert ours[key] == pytest.approx(np.mean(values), abs=1e-8), name


def test_expected_ranks_of_a_gaussian_policy_are_those_of_its_samples():
    data = judged([[1, 0, 2, 0], [0, 1]])
    scores = np.array([0.3, -0.4, 1.0, 0.2, 0.5, 0.1])
    policy = Gaussian(sigma=0.7)
    found = policy.expected_ranks(scores, data.lists, np.arange(6))
    noise = np.random.default_rng(0).normal(scale=0.7, size=(40_000, 6))
    noisy = scores + noise
    for first, last in ((0, 4), (4, 6)):
        ranks = (-noisy[:, first:last]).argsort(1).argsort(1) + 1
        assert found[first:last] == pytest.approx(ranks.mean(0), abs=0.03)


def test_gain_is_linear_or_exponential():
    data, scores = judged([[1, 3, 0]]), np.array([3.0, 2.0, 1.0])
    policy = ScoredPolicy(data, scores, Deterministic())
    linear, exponential = (
        measure(policy, top_k=TOP_K, options=MetricOptions(gain=gain))
        for gain in ("linear", "exponential")
    )
    second = 1 / np.log2(3)
    assert linear["dcg@3"] == pytest.approx(1 + 3 * second)
    assert linear["ndcg@3"] == pytest.approx((1 + 3 * second) / (3 + second))
    assert exponential["dcg@3"] == pytest.approx(1 + 7 * second)
    assert exponential["ndcg@3"] == pytest.approx((1 + 7 * second) / (7 + second))


@pytest.mark.parametrize(("empty", "expected"), [("zero", 0.5), ("skip", 1.0), ("one", 1.0)])
def test_queries_without_relevant_documents(empty, expected):
    data = judged([[1, 0], [0, 0]])
    policy = ScoredPolicy(data, np.array([2.0, 1.0, 2.0, 1.0]), Deterministic())
    found = measure(policy, top_k=2, options=MetricOptions(empty=empty))
    for name in ("ndcg@2", "recall@2", "mrr@2"):
        assert found[name] == pytest.approx(expected)
    assert found["precision@2"] == 0.25
    assert found["average_rank"] == 1.0


def test_equal_scores_in_order_or_in_any_order():
    data = judged([[0, 1, 0, 0]])
    policy = ScoredPolicy(data, np.array([1.0, 1.0, 1.0, 0.0]), Deterministic())
    ordered = measure(policy, top_k=2)
    shared = measure(policy, top_k=2, options=MetricOptions(ties="expected"))
    assert (ordered["dcg@2"], ordered["average_rank"]) == (pytest.approx(1 / np.log2(3)), 2.0)
    assert shared["dcg@2"] == pytest.approx((1 + 1 / np.log2(3)) / 3)
    assert shared["average_rank"] == pytest.approx(2.0)
    assert shared["recall@2"] == pytest.approx(2 / 3)


def test_what_is_relevant_starts_where_it_is_told():
    data = judged([[1, 2, 0]])
    policy = ScoredPolicy(data, np.array([3.0, 2.0, 1.0]), Deterministic())
    found = measure(policy, top_k=2, options=MetricOptions(relevant_from=2))
    assert (found["mrr@2"], found["precision@2"], found["average_rank"]) == (0.5, 0.5, 2.0)


def test_a_mixture_is_judged_by_its_parts():
    data = judged([[1, 0, 2], [0, 1, 0, 1]])
    rng = np.random.default_rng(1)
    new, old = (ScoredPolicy(data, rng.normal(size=7), PlackettLuce()) for _ in range(2))
    blend = Mixture(new, old, np.full(data.n_queries, 0.25))
    mixed, first, second = (measure(policy, top_k=3) for policy in (blend, new, old))
    for name, value in mixed.items():
        assert value == pytest.approx(0.25 * first[name] + 0.75 * second[name])


def test_what_counts_do_not_tell_is_unknown():
    data = judged([[1, 0, 2]])
    counted = CountedPolicy(data, np.eye(3))
    found = measure(counted, top_k=2)
    assert found["precision@2"] == 0.5
    assert found["mrr@2"] is None
    assert found["average_rank"] is None


def test_only_the_given_queries_count():
    data = judged([[1, 0], [0, 1]])
    policy = ScoredPolicy(data, np.array([2.0, 1.0, 2.0, 1.0]), Deterministic())
    found = measure(policy, top_k=2, queries=np.array([False, True]))
    assert found["mrr@2"] == 0.5


class Reversed(Policy):
    """The policy of a plugin: documents from the lowest score to the highest."""

    name = "reversed"

    def expected_weights(self, scores, lists, rank_weights):
        return Deterministic().expected_weights(-scores, lists, rank_weights)

    def first_weights(self, scores, lists, chosen, rank_weights):
        return Deterministic().first_weights(-scores, lists, chosen, rank_weights)

    def expected_ranks(self, scores, lists, rows):
        return Deterministic().expected_ranks(-scores, lists, rows)


def test_the_policy_of_a_plugin_has_all_metrics():
    data = tiny_dataset(8).part("train")
    scores = data.features[:, 0].astype(np.float64)
    found = measure(ScoredPolicy(data, scores, Reversed()), top_k=3)
    assert found == measure(ScoredPolicy(data, -scores, Deterministic()), top_k=3)
    assert all(value is not None for value in found.values())


def test_what_a_policy_does_not_know_is_none():
    class Silent(Reversed):
        first_weights, expected_ranks = Policy.first_weights, Policy.expected_ranks

    data = tiny_dataset(8).part("train")
    found = measure(ScoredPolicy(data, data.labels, Silent()), top_k=3)
    assert [name for name, value in found.items() if value is None] == ["mrr@3", "average_rank"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("path", "what"),
    [
        (("metrics", "policy", "ndcg@5"), "ndcg@5 of policy"),
        (("off_policy", "difference", "value"), "off-policy value of difference"),
        (("certificate", "test", "worst_loss"), "certificate on test queries"),
    ],
)
def test_a_result_that_is_no_number_is_an_error(path, what, bad):
    judged = {"metrics": {"policy": {"mrr@5": None}}, "certificate": {"train": None}}
    require_finite(judged)
    table = judged
    for key in path[:-1]:
        table = table.setdefault(key, {})
    table[path[-1]] = bad
    with pytest.raises(NotFiniteError, match=f"the {what} is {bad}"):
        require_finite(judged)
