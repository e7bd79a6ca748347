"""Guards who served a log: sorted, sampled, by records, propensities or counts."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.errors import DataError
from cltr.exposure.logging_policy import find_logging_policy, whole_log
from cltr.policies import Deterministic, PlackettLuce
from cltr.types import ClickStatistics
from tests import small

TOP_K = 3


@pytest.fixture
def dataset():
    return small.dataset()


def statistics(dataset, chances, n=400):
    """Counts of as many displays of every query as its chances say, by part."""
    found = {}
    for part in ("train", "valid", "test"):
        rows, lists = dataset.documents_of(part), dataset.part(part)
        shown = np.round(n * chances[rows]).astype(np.int64)
        displays = np.full(lists.n_queries, n)
        found[part] = ClickStatistics(shown, shown * 0, displays, lists.offsets)
    return found


@pytest.fixture
def scores(dataset):
    return np.random.default_rng(3).normal(size=dataset.n_documents)


def test_rankings_sorted_by_scores_are_told_from_sampled_ones(dataset, scores):
    for policy, name in ((Deterministic(), "sorted scores"), (PlackettLuce(), "sampled scores")):
        chances = policy.rank_distribution(scores, dataset.lists, TOP_K)
        found = find_logging_policy(dataset, statistics(dataset, chances), scores=scores)
        assert found.known_by == name
        assert found.known.all()
        np.testing.assert_array_equal(found.chances, chances)
        assert found.deterministic(dataset) == float(name == "sorted scores")


def test_scores_that_do_not_explain_the_log_are_not_used(dataset, scores):
    chances = Deterministic().rank_distribution(scores, dataset.lists, TOP_K)
    found = find_logging_policy(dataset, statistics(dataset, chances), scores=-scores)
    assert found.known_by == "counts"
    assert "do not explain" in found.rejected
    np.testing.assert_allclose(found.chances, chances)


def test_counts_are_known_where_queries_came(dataset, scores):
    chances = Deterministic().rank_distribution(scores, dataset.lists, TOP_K)
    parts = statistics(dataset, chances)
    part = parts["train"]
    rows = slice(0, part.offsets[1])
    shown = part.impressions.copy()
    shown[rows] = 0
    displays = part.displays.copy()
    displays[0] = 0
    parts["train"] = replace(part, impressions=shown, displays=displays)
    found = find_logging_policy(dataset, parts)
    assert found.known_by == "counts"
    assert not found.known[dataset.splits["train"][0]]
    assert found.known.sum() == dataset.n_queries - 1


def test_records_come_first(dataset, scores):
    chances = PlackettLuce().rank_distribution(scores, dataset.lists, TOP_K)
    parts = statistics(dataset, Deterministic().rank_distribution(scores, dataset.lists, TOP_K))
    found = find_logging_policy(dataset, parts, scores=scores, propensities=chances, computed=True)
    assert found.known_by == "records"
    np.testing.assert_array_equal(found.chances, chances)


def test_propensities_that_leave_out_documents_are_not_used(dataset, scores):
    chances = PlackettLuce().rank_distribution(scores, dataset.lists, TOP_K)
    parts = statistics(dataset, chances)
    whole = find_logging_policy(dataset, parts, propensities=chances)
    assert whole.known_by == "propensities"
    partly = np.where(chances < 0.2, 0.0, chances)
    found = find_logging_policy(dataset, parts, propensities=partly)
    assert found.known_by == "counts"
    assert "leave out" in found.rejected


def test_all_parts_are_one(dataset, scores):
    chances = Deterministic().rank_distribution(scores, dataset.lists, TOP_K)
    whole = whole_log(dataset, statistics(dataset, chances, n=7))
    assert whole.n_interactions == 7 * dataset.n_queries
    np.testing.assert_array_equal(whole.impressions, 7 * chances)


def test_an_empty_log_is_refused(dataset):
    nothing = statistics(dataset, np.zeros((dataset.n_documents, TOP_K)), n=0)
    with pytest.raises(DataError, match="no interactions"):
        find_logging_policy(dataset, nothing)
