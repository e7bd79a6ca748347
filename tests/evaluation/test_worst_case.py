"""Guards the certificate: no metric falls by more than it says, whatever is relevant.

All relevances of small lists are enumerated, graded ones too, for sampled, sorted and mixed
policies, cut at K, with short lists and with traffic. And each bound is attained: it gives nothing
away.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.evaluation.certificate import Basis, worst_case
from cltr.evaluation.metrics import MetricOptions, measure
from cltr.objectives.ratios import ratio_extremes
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.on_dataset import CountedPolicy, Mixture, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses, top_sums, worst_of
from cltr.types import Dataset, Lists

GRADES = (0.0, 1.0, 3.0)
ROUNDING = 1e-6
"""Expected weights are exact to 1e-7 of the largest rank weight."""


def judged(labels, lengths) -> Dataset:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    return Dataset(
        np.zeros((n, 1), np.float32),
        np.asarray(labels, float),
        offsets,
        np.arange(len(lengths)).astype(str),
        np.arange(n).astype(str),
    )


def policies(seed: int, dataset: Dataset) -> Mixture:
    """Sampled or sorted, mixed by a share of each query."""
    rng = np.random.default_rng(seed)
    kinds = [PlackettLuce(), Deterministic()]
    old, new = (
        ScoredPolicy(dataset, 3 * rng.normal(size=dataset.n_documents), kinds[rng.integers(2)])
        for _ in range(2)
    )
    return Mixture(new, old, rng.choice([0.0, 0.3, 1.0], size=dataset.n_queries))


def ndcg(policy, top_k, **options) -> np.ndarray:
    """NDCG of each query."""
    queries = range(policy.dataset.n_queries)
    chosen = np.eye(len(queries), dtype=bool)
    name = f"ndcg@{top_k}"
    return np.array(
        [
            measure(policy, top_k=top_k, options=MetricOptions(**options), queries=chosen[q])[name]
            for q in queries
        ]
    )


def with_labels(found: Mixture, labels: np.ndarray) -> Mixture:
    data = judged(labels, found.dataset.lists.lengths)
    new = ScoredPolicy(data, found.new.scores, found.new.policy)
    return Mixture(
        new, ScoredPolicy(data, found.production.scores, found.production.policy), found.share
    )


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 4))
def test_law_ndcg_falls_by_no_more_than_certified(seed, n, top_k):
    """One list of up to five documents, every grade of every document."""
    found = policies(seed, judged(np.zeros(n), [n]))
    weights = rank_weights("dcg", top_k)
    told = worst_case(found, weights, metric="dcg", basis=Basis())
    bound, dcg_bound = told[f"ndcg@{top_k}"], told[f"dcg@{top_k}"]
    new, old = found.weights(weights), found.production.weights(weights)
    largest = {"loss": 0.0, "at_most_1": 0.0, "at_most_3": 0.0}
    for grades in product(GRADES, repeat=n):
        gains = np.array(grades)
        relevant = int((gains > 0).sum())
        ideal = np.sort(gains)[::-1][:top_k] @ weights[: min(n, top_k)]
        fallen = float((old - new) @ gains) / ideal if ideal else 0.0
        dcg_fallen = float((old - new) @ gains) / max(GRADES)
        for name, most in (("loss", n), ("at_most_1", 1), ("at_most_3", 3)):
            if relevant <= most:
                assert fallen <= bound[name] + ROUNDING
                assert dcg_fallen <= dcg_bound[name] + ROUNDING
                largest[name] = max(largest[name], fallen)
    for name, value in largest.items():
        assert value == pytest.approx(bound[name], abs=ROUNDING)  # attained


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_law_the_printed_metric_falls_by_no_more_than_certified(seed, top_k):
    """Several queries of different lengths, by the function that prints NDCG."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, size=4)
    empty = judged(np.zeros(lengths.sum()), lengths)
    found = policies(seed, empty)
    labels = rng.choice([0.0, 0.0, 1.0, 2.0, 4.0], size=lengths.sum())
    here = with_labels(found, labels)
    weights = rank_weights("dcg", top_k)
    traffic = rng.dirichlet(np.ones(4) * 0.3)
    for gain in ("linear", "exponential"):
        by_query = [ndcg(policy, top_k, gain=gain) for policy in (here.production, here)]
        fallen = by_query[0] - by_query[1]
        for basis in (Basis(), Basis(traffic=traffic)):
            told = worst_case(here, weights, metric="dcg", basis=basis)[f"ndcg@{top_k}"]
            shares = np.full(4, 0.25) if basis.traffic is None else traffic
            assert shares @ fallen <= told["loss"] + ROUNDING
            assert fallen.max() <= told["largest_query"] + ROUNDING


@given(st.integers(0, 10_000))
def test_law_queries_left_out_of_the_mean_are_bounded_by_the_largest(seed):
    """With empty="skip" the mean over the others can exceed the mean of the bounds."""
    rng = np.random.default_rng(seed)
    lengths = np.full(4, 4)
    found = policies(seed, judged(np.zeros(16), lengths))
    labels = rng.choice([0.0, 0.0, 0.0, 1.0], size=16)
    here = with_labels(found, labels)
    weights = rank_weights("dcg", 3)
    told = worst_case(here, weights, metric="dcg", basis=Basis(empty="skip"))["ndcg@3"]
    skip = MetricOptions(empty="skip")
    values = [measure(one, top_k=3, options=skip)["ndcg@3"] for one in (here.production, here)]
    if None not in values:
        assert values[0] - values[1] <= told["loss"] + ROUNDING
    assert told["loss"] == told["largest_query"]


def test_skipping_empty_queries_breaks_the_mean_of_the_bounds():
    """Why the largest query is printed there: one query loses all, the other is empty."""
    data = judged([1.0, 0.0, 0.0, 0.0], [2, 2])
    old = ScoredPolicy(data, np.array([1.0, 0.0, 1.0, 0.0]), Deterministic())
    new = ScoredPolicy(data, np.array([0.0, 1.0, 1.0, 0.0]), Deterministic())
    served = Mixture(new, old, np.ones(2))
    skip = MetricOptions(empty="skip")
    fallen = np.diff([measure(one, top_k=1, options=skip)["ndcg@1"] for one in (served, old)])[0]
    mean = worst_case(served, np.ones(1), metric="dcg", basis=Basis())["ndcg@1"]["loss"]
    assert fallen == 1.0 > mean == 0.5


@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_law_a_mixture_has_exactly_its_share_of_every_loss(seed, share):
    data = judged(np.zeros(9), [5, 4])
    found = policies(seed, data)
    whole = Mixture(found.new, found.production, np.ones(2))
    part = Mixture(found.new, found.production, np.full(2, share))
    weights = rank_weights("dcg", 3)
    first, second = (worst_case(one, weights, metric="dcg", basis=Basis()) for one in (whole, part))
    for metric in ("ndcg@3", "dcg@3"):
        for name, loss in first[metric].items():
            assert second[metric][name] == pytest.approx(share * loss, abs=1e-12)


@given(st.integers(0, 10_000))
def test_law_relative_loss_of_a_query_is_at_most_what_its_most_demoted_document_lost(seed):
    rng = np.random.default_rng(seed)
    found = policies(seed, judged(np.zeros(5), [5]))
    weights = rank_weights("dcg", 3)
    new, old = found.weights(weights), found.production.weights(weights)
    kept = ratio_extremes(new, old, found.dataset.lists)[0][0]
    for _ in range(20):
        relevance = rng.random(5) * (rng.random(5) < 0.5)
        assert new @ relevance >= kept * (old @ relevance) - ROUNDING


def test_the_basis_is_named_and_unknown_queries_are_left_out():
    data = judged(np.zeros(6), [3, 3])
    chances = np.array([[1.0], [0.0], [0.0], [0.0], [0.0], [0.0]])
    new = ScoredPolicy(data, np.arange(6.0), Deterministic())
    served = Mixture(new, CountedPolicy(data, chances), np.ones(2))
    basis = Basis("counted", traffic=np.array([1.0, 0.0]))
    told = worst_case(served, np.ones(1), metric="dcg", basis=basis)
    assert (told["exposure"], told["query_weights"], told["queries"]) == ("counted", "traffic", 1)
    assert told["ndcg@1"]["loss"] == 1.0


def test_by_hand():
    """Documents at ranks 1, 2, 3 are reversed: the first loses 1 - 0.5, the second nothing."""
    lists, w = Lists.of_offsets(np.array([0, 3])), rank_weights("dcg", 3)
    new, old = w[::-1], w
    assert ndcg_losses(new, old, lists, w) == pytest.approx([(1 - 0.5) / 1])
    assert worst_of(top_sums(new, old, lists), lists, None) == pytest.approx([0.5])
    assert ndcg_losses(new, old, lists, w, at_most=1) == pytest.approx([0.5])


def test_nothing_moved_is_no_loss():
    found = policies(3, judged(np.zeros(7), [3, 4]))
    same = Mixture(found.new, found.new, np.ones(2))
    told = worst_case(same, rank_weights("dcg", 3), metric="dcg", basis=Basis())
    assert set(told["ndcg@3"].values()) == {0.0}
    assert told["kept_of_most_demoted"] == 1.0


@pytest.mark.parametrize("at_most", [1, 2, 3, 50])
def test_at_most_so_many_relevant_documents_count(at_most):
    lists = Lists.of_offsets(np.cumsum([0, 2, 0, 5, 1, 3]))
    losses = np.random.default_rng(0).random(11)
    counted = np.split(losses, [2, 2, 7, 8])
    expected = [one[:at_most].max(initial=0.0) for one in counted]
    np.testing.assert_array_equal(worst_of(losses, lists, at_most), expected)
