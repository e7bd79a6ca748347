"""Guards exploring a log: what is served keeps its certificate, and what its log supports."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cltr.errors import DataError
from cltr.experiment.explore_log import explore_log
from cltr.exposure.logging_policy import LoggingPolicy, find_logging_policy
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.types import ClickStatistics
from tests import small
from tests.exposure.test_logging_policy import statistics

TOP_K = 3


@pytest.fixture(params=["sorted", "sampled"])
def log(request):
    dataset = small.dataset()
    scores = np.random.default_rng(3).normal(size=dataset.n_documents)
    policy = Deterministic() if request.param == "sorted" else PlackettLuce()
    parts = statistics(dataset, policy.rank_distribution(scores, dataset.lists, TOP_K))
    return dataset, parts, find_logging_policy(dataset, parts, scores=scores)


@pytest.mark.parametrize("limit", [0.01, 0.2])
def test_the_certificate_of_what_is_served_is_kept(log, limit):
    dataset, parts, policy = log
    found = explore_log(dataset, parts, policy, max_loss=limit)
    weights = rank_weights("dcg", TOP_K)
    alone = np.repeat(dataset.lists.lengths < 2, dataset.lists.lengths)  # production as it is
    served = np.where(alone, policy.chances @ weights, 0.0)
    for rankings, shares in zip(found.rankings, found.shares, strict=True):
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)
        for ranking, share in zip(rankings, shares, strict=True):
            assert len(set(ranking.tolist())) == len(ranking)
            served[ranking] += share * weights[: len(ranking)]
    losses = ndcg_losses(served, policy.chances @ weights, dataset.lists, weights)
    assert (losses <= limit + 1e-9).all()
    np.testing.assert_allclose(found.losses, losses, atol=1e-12)
    assert found.loss == pytest.approx(found.log.query_weights @ losses)
    np.testing.assert_allclose(found.chances @ weights, served, atol=1e-12)


def test_overlap_grows_with_the_limit(log):
    dataset, parts, policy = log
    found = [explore_log(dataset, parts, policy, max_loss=limit) for limit in (0.01, 0.2)]
    overlaps = [found[0].overlap(policy.chances), *(one.overlap(one.chances) for one in found)]
    for less, more in pairwise(overlaps):
        assert more.least_shown > less.least_shown
        assert more.random_order > less.random_order
        assert more.candidates_shown >= less.candidates_shown - 1e-12


def test_a_fixed_ranking_supports_no_random_order(log):
    dataset, parts, policy = log
    if policy.known_by != "sorted scores":
        pytest.skip("production that changes")
    found = explore_log(dataset, parts, policy, max_loss=0.05)
    before, after = found.overlap(policy.chances), found.overlap(found.chances)
    assert before.random_order == 0.0
    assert before.hidden > 0.2
    longer = dataset.lists.lengths[dataset.lists.lengths > 1]
    assert before.candidates_shown == pytest.approx(np.minimum(longer, TOP_K).sum() / longer.sum())
    assert after.hidden == pytest.approx(0.0, abs=1e-12)
    assert after.candidates_shown > before.candidates_shown


def test_the_rule_serves_what_was_certified(log):
    dataset, parts, policy = log
    found = explore_log(dataset, parts, policy, max_loss=0.1)
    rule = found.rule()
    names = dataset.document_ids.astype(str)
    longest = int(np.argmax(dataset.lists.lengths))
    query = str(dataset.query_ids[longest])
    rows = slice(*dataset.offsets[longest : longest + 2])
    scores = dict.fromkeys(names[rows].tolist(), 0.0)
    stored = {one.documents for one in rule.rankings[query]}
    for number in range(50):
        served = rule.serve(f"r{number}", query, new=scores, production=scores)
        assert served.arm == "new"
        assert served.shown in stored
    other = rule.serve("r", "never seen", new={"a": 1, "b": 2}, production={"a": 1, "b": 2})
    assert other.arm == "production"


def test_weights_that_no_policy_has_keep_production():
    """Rankings that do not keep the limit are not served."""
    dataset = small.dataset()
    rng = np.random.default_rng(0)
    scores = rng.normal(size=dataset.n_documents)
    chances = Deterministic().rank_distribution(scores, dataset.lists, TOP_K)
    longest = int(np.argmax(dataset.lists.lengths))
    rows = slice(*dataset.offsets[longest : longest + 2])
    wrong = chances.copy()
    wrong[rows] = 0.0
    wrong[rows.start, :] = 1.0  # one document at all ranks: propensities that lie
    known = np.ones(dataset.n_queries, np.bool_)
    parts = statistics(dataset, chances)
    policy = LoggingPolicy(wrong, known, "propensities")
    found = explore_log(dataset, parts, policy, max_loss=0.05)
    assert (found.losses <= 0.05 + 1e-9).all()
    assert not found.explored[longest]
    assert found.explored.sum() == (dataset.lists.lengths > 1).sum() - 1


def test_lists_of_one_document_are_refused():
    dataset = small.dataset(6)
    single = dataset.lists.lengths * 0 + 1
    offsets = np.concatenate([[0], np.cumsum(single)])
    short = replace(
        dataset,
        features=dataset.features[: offsets[-1]],
        labels=dataset.labels[: offsets[-1]],
        document_ids=dataset.document_ids[: offsets[-1]],
        offsets=offsets,
    )
    chances = np.zeros((short.n_documents, 1))
    chances[:] = 1.0
    parts = {
        part: ClickStatistics(
            np.ones((n := short.part(part).n_documents, 1), np.int64),
            np.zeros((n, 1), np.int64),
            np.ones(n, np.int64),
            short.part(part).offsets,
        )
        for part in ("train", "valid", "test")
    }
    with pytest.raises(DataError, match="nothing to explore"):
        explore_log(short, parts, find_logging_policy(short, parts), max_loss=0.01)
