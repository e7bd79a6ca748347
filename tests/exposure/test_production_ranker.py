"""Guards what is known of production: by scores, by counts, and scores that match its counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks.models import PositionBased, TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.errors import DataError, UsageError
from cltr.evaluation.certificate import blend_for_loss, certificate
from cltr.evaluation.metrics import measure
from cltr.exposure.exposure import exact_exposure, exposure_of
from cltr.exposure.production_ranker import (
    Production,
    count_rank_distribution,
    matching_scores,
    misfit,
)
from cltr.logs.log_lists import lists_of_log
from cltr.objectives.plain import Plain
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import CountedPolicy, Mixture, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.testing import tiny_dataset
from cltr.types import ClickStatistics, Lists

DATA = tiny_dataset(20)
SCORES = DATA.features[:, 1].astype(np.float64)
DCG = rank_weights("dcg", 4)
RANKS = PlackettLuce().rank_distribution(SCORES, DATA.lists, 4)


def simulated(n, *, split="train", seed=0) -> ClickStatistics:
    part, rows = DATA.part(split), DATA.documents_of(split)
    rng = np.random.default_rng(seed)
    return simulate_statistics(part, SCORES[rows], PositionBased(), n=n, top_k=4, rng=rng)


def test_counts_of_splits_that_share_lists_are_added():
    """Two displays in training, one in validation: shown once each at ranks 1 and 2, then at 1."""
    offsets = np.array([0, 2])
    lists = lists_of_log(offsets, np.array(["q"]), np.array(["a", "b"]))
    train = ClickStatistics(
        np.array([[1, 1], [1, 1]]), np.zeros((2, 2), int), np.array([2]), offsets
    )
    valid = ClickStatistics(
        np.array([[1, 0], [0, 1]]), np.zeros((2, 2), int), np.array([1]), offsets
    )
    found = count_rank_distribution(lists, {"train": train, "valid": valid})
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])


def test_counts_of_a_data_set_lie_on_their_splits():
    parts = {split: simulated(50_000, split=split) for split in ("train", "valid")}
    found = count_rank_distribution(DATA, parts)
    logged = DATA.documents_of("valid").stop
    np.testing.assert_allclose(found[:logged], RANKS[:logged], atol=0.05)
    assert (found[logged:] == 0).all()


def test_weights_by_counts_are_those_of_the_policy_that_was_counted():
    counted = CountedPolicy(DATA, RANKS)
    scored = ScoredPolicy(DATA, SCORES, PlackettLuce())
    np.testing.assert_allclose(counted.weights(DCG), scored.weights(DCG), atol=1e-9)
    np.testing.assert_allclose(counted.weights(DCG[:2]), scored.weights(DCG[:2]), atol=1e-9)
    with pytest.raises(UsageError, match="known for 4 ranks; use a smaller --top-k"):
        counted.weights(np.ones(5))


def test_exposure_of_is_that_of_scores():
    exact = exact_exposure(SCORES, DATA.lists, PlackettLuce(), TrustBias(), DCG)
    logged = exposure_of(CountedPolicy(DATA, RANKS), TrustBias(), DCG, source="logged")
    for name in ("weights", "propensities", "attention"):
        np.testing.assert_allclose(getattr(logged, name), getattr(exact, name), atol=1e-9)
    assert logged.source == "logged"


def test_queries_that_were_never_logged_are_not_known():
    ranks = RANKS.copy()
    ranks[: DATA.offsets[3]] = 0.0
    policy = CountedPolicy(DATA, ranks)
    assert policy.known.tolist() == [False] * 3 + [True] * 17
    assert ScoredPolicy(DATA, SCORES, PlackettLuce()).known.all()


def test_a_certificate_is_about_queries_on_which_production_is_known():
    ranks = RANKS.copy()
    ranks[: DATA.offsets[3]] = 0.0
    new = ScoredPolicy(DATA, SCORES + 1.0 * DATA.features[:, 2], PlackettLuce())
    some = Mixture(new, CountedPolicy(DATA, ranks), np.ones(20))
    late = DATA.queries(3, 20)
    rows = slice(int(DATA.offsets[3]), None)
    alone = Mixture(
        ScoredPolicy(late, new.scores[rows], PlackettLuce()),
        CountedPolicy(late, RANKS[rows]),
        np.ones(17),
    )
    for name, value in certificate(some, DCG, Plain()).items():
        if name != "worst_case":
            assert value == pytest.approx(certificate(alone, DCG, Plain())[name])
    assert blend_for_loss(some, DCG, ndcg_loss=0.01) == pytest.approx(
        blend_for_loss(alone, DCG, ndcg_loss=0.01)
    )
    value = measure(some.production, top_k=4, queries=some.known)["ndcg@4"]
    assert value == pytest.approx(measure(alone.production, top_k=4)["ndcg@4"])


def test_production_without_anything_known_is_refused():
    with pytest.raises(DataError, match="nothing is known about production"):
        Production(None).on(DATA, "train")
    with pytest.raises(DataError, match="use --init random"):
        Production(None).start(DATA, 4)


# Scores that match what was shown.


@given(st.integers(0, 1000), st.floats(0.1, 3.0))
def test_matching_scores_are_those_of_the_policy_that_was_counted(seed, scale):
    rng = np.random.default_rng(seed)
    lists = Lists.of_offsets(np.array([0, 6, 8, 20]))
    scores = scale * rng.normal(size=20)
    ranks = PlackettLuce().rank_distribution(scores, lists, 3)
    found = matching_scores(ranks, lists, steps=300)
    wanted = ranks @ rank_weights("dcg", 3)
    reached = PlackettLuce().expected_weights(found, lists, rank_weights("dcg", 3))
    np.testing.assert_allclose(reached, wanted, atol=0.01)


def test_matching_scores_follow_a_fixed_order():
    """A list that never changed: scores fall with the rank, and what was not shown comes last."""
    ranks = np.eye(5, 3)
    found = matching_scores(ranks, Lists.of_offsets(np.array([0, 5])))
    assert (np.diff(found[:4]) < 0).all()
    assert found[3] == pytest.approx(found[4])
    assert np.isfinite(found).all()


def test_the_start_is_the_scores_if_they_are_known():
    np.testing.assert_array_equal(Production(SCORES).start(DATA, 4), SCORES)
    scaled = Production(SCORES, rank_distribution=RANKS).start(DATA, 4)
    np.testing.assert_allclose(scaled, SCORES, rtol=0.2, atol=1e-9)
    found = Production(None, rank_distribution=RANKS).start(DATA, 4)
    reached = PlackettLuce().expected_weights(found, DATA.lists, DCG)
    np.testing.assert_allclose(reached, RANKS @ DCG, atol=0.02)


# Do scores explain a log?


def test_misfit_is_zero_for_the_policy_that_served_and_large_for_another():
    statistics, rows = simulated(20_000), DATA.documents_of("train")
    assert misfit(RANKS[rows], statistics) < 0.01
    other = PlackettLuce().rank_distribution(-SCORES, DATA.lists, 4)[rows]
    assert misfit(other, statistics) > 0.2


def test_misfit_by_hand():
    """Ten displays of the first document where chances are even: half, less what chance leaves."""
    part = ClickStatistics(
        np.array([[10], [0]]), np.zeros((2, 1), int), np.array([10]), np.array([0, 2])
    )
    chance = 2 * np.sqrt(2 / np.pi * 10 * 0.25)
    assert misfit(np.full((2, 1), 0.5), part) == pytest.approx((10 - chance) / 20)
