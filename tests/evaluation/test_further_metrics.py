"""Guards ERR and RBP: by enumeration of rankings, for every policy, and in results."""

import numpy as np
import pytest

from cltr import testing
from cltr.evaluation.further_metrics import ExpectedReciprocalRank, RankBiasedPrecision
from cltr.evaluation.metrics import MetricOptions, measure
from cltr.policies import Deterministic, Gaussian, PlackettLuce
from cltr.policies.on_dataset import CountedPolicy, Mixture, ScoredPolicy
from cltr.types import Dataset
from tests import enumeration

GRADES = [[2.0, 0.0, 4.0, 1.0], [0.0, 0.0, 3.0], [0.0, 0.0], [1.0]]
TOP_K = 3


def judged(grades: list[list[float]]) -> Dataset:
    """Lists with these grades, without features."""
    lengths = [len(one) for one in grades]
    labels = np.array([grade for one in grades for grade in one])
    return Dataset(
        features=np.zeros((len(labels), 1), np.float32),
        labels=labels,
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        query_ids=np.arange(len(lengths)).astype(str),
        document_ids=np.arange(len(labels)).astype(str),
        splits={"train": (0, len(lengths))},
    )


def scored(policy, seed: int = 0) -> ScoredPolicy:
    data = judged(GRADES)
    scores = np.random.default_rng(seed).normal(size=data.n_documents)
    return ScoredPolicy(data, scores, policy)


def by_enumeration(policy: ScoredPolicy, value_of) -> list[float]:
    """Of every query: the mean of a function of the ranked grades over all rankings."""
    data, found = policy.dataset, []
    for first, last in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        rows = slice(int(first), int(last))
        total = 0.0
        for ranking, chance in enumeration.rankings(policy.scores[rows], TOP_K):
            total += chance * value_of(data.labels[rows][list(ranking)])
        found.append(total)
    return found


def err(grades) -> float:
    stops = (2.0**grades - 1) / 2.0**4
    goes_on = np.concatenate([[1.0], np.cumprod(1 - stops)[:-1]])
    return float((goes_on * stops / np.arange(1, len(stops) + 1)).sum())


def rbp(grades, p: float = 0.8) -> float:
    return float(((1 - p) * p ** np.arange(len(grades)) * grades / 4).sum())


@pytest.mark.parametrize("seed", range(3))
def test_rbp_equals_enumeration(seed):
    policy = scored(PlackettLuce(accuracy=1e-9), seed)
    found = RankBiasedPrecision().values(policy, top_k=TOP_K)
    np.testing.assert_allclose(found, by_enumeration(policy, rbp), atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_err_is_near_enumeration(seed):
    policy = scored(PlackettLuce(), seed)
    found = ExpectedReciprocalRank(draws=4000).values(policy, top_k=TOP_K)
    np.testing.assert_allclose(found, by_enumeration(policy, err), atol=5 * 0.5 / np.sqrt(4000))


def test_err_of_sorted_rankings_is_exact():
    policy = scored(Deterministic())
    order = [np.argsort(-part) for part in np.split(policy.scores, policy.dataset.offsets[1:-1])]
    grades = np.split(policy.dataset.labels, policy.dataset.offsets[1:-1])
    expected = [err(one[ranks][:TOP_K]) for one, ranks in zip(grades, order, strict=True)]
    found = ExpectedReciprocalRank(draws=1).values(policy, top_k=TOP_K)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_what_a_policy_does_not_know_is_none():
    data = judged(GRADES)
    counted = CountedPolicy(data, np.full((data.n_documents, TOP_K), 0.3))
    assert ExpectedReciprocalRank().values(counted, top_k=TOP_K) is None
    assert ExpectedReciprocalRank().values(scored(Gaussian()), top_k=TOP_K) is None
    assert RankBiasedPrecision().values(counted, top_k=TOP_K) is not None


def test_they_are_reported_beside_the_others_also_of_a_mixture():
    new, old = scored(PlackettLuce(), 1), scored(PlackettLuce(), 2)
    share = np.array([1.0, 0.5, 0.25, 0.0])
    metric = RankBiasedPrecision()
    found = measure(Mixture(new, old, share), top_k=TOP_K, further=[metric])
    values = [metric.values(one, top_k=TOP_K) for one in (new, old)]
    expected = (share * values[0] + (1 - share) * values[1]).mean()
    assert found["rbp@3"] == pytest.approx(expected)
    assert "ndcg@3" in found


@pytest.mark.parametrize("metric", [ExpectedReciprocalRank(), RankBiasedPrecision()])
def test_conforms(metric):
    testing.check_metric(metric)


@pytest.mark.parametrize(
    "given", ["rbp", ["rbp"], [{"name": "rbp"}], ["rbp", {"name": "rbp", "persistence": 0.9}]]
)
def test_metrics_are_named_alone_or_with_options(given):
    chosen = MetricOptions.parse({"metrics": given}, owner="evaluation").metrics
    assert {one.name for one in chosen} == {"rbp"}
    assert chosen[-1].options in ({}, {"persistence": 0.9})
