"""Guards what users would get: shares of new policy and production, and what a blend promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.evaluation.certificate import blend_for_loss
from cltr.evaluation.certificate import certificate as certify_served
from cltr.evaluation.metrics import expected_ndcg, measure
from cltr.interfaces import Enforced
from cltr.objectives.plain import Plain
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.on_dataset import Mixture, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.testing import tiny_dataset
from tests import strategies

TOP_K = 3
DCG = rank_weights("dcg", TOP_K)
PRECISION = rank_weights("precision", TOP_K)
DATASET = tiny_dataset()
SHORT_LISTS = DATASET.lists.lengths < 5


class HalfForShortLists(Plain, Enforced):
    """Serves production half of the time where lists are short: the law in a testable form."""

    name = "half"

    def served_share(self, weights, logging_weights, lists):
        return np.where(lists.lengths < 5, 0.5, 1.0)


class StricterByPrecision(Plain, Enforced):
    """Serves the less, the flatter the metric: 1/3 for precision's weights, 1 for others."""

    name = "stricter"

    def served_share(self, weights, logging_weights, lists):
        flat = weights.max() <= 1 / 3 + 1e-6
        return np.full(len(lists.lengths), 1 / 3 if flat else 1.0)


def scored(seed: int, policy=None) -> ScoredPolicy:
    scores = np.random.default_rng(seed).normal(size=DATASET.n_documents)
    return ScoredPolicy(DATASET, scores, policy or PlackettLuce())


def served(estimator=None, *, metrics=(DCG,), blend=1.0, seed=1) -> Mixture:
    return Mixture.of(estimator or Plain(), scored(seed), scored(0), metrics=metrics, blend=blend)


def ndcg(policy) -> float:
    return measure(policy, top_k=TOP_K)[f"ndcg@{TOP_K}"]


def certificate(found: Mixture, rank_weights=DCG) -> dict:
    return certify_served(found, rank_weights, Plain())


def test_weights_are_those_of_the_policy():
    ranking = scored(1, Deterministic())
    expected = Deterministic().expected_weights(ranking.scores, DATASET.lists, DCG)
    np.testing.assert_array_equal(ranking.weights(DCG), expected)


def test_all_of_the_new_policy_is_served_unless_someone_objects():
    found = served()
    assert (found.share == 1.0).all()
    np.testing.assert_array_equal(found.weights(DCG), found.new.weights(DCG))


def test_a_share_by_query_mixes_that_query_alone():
    found = served(HalfForShortLists())
    assert 0 < SHORT_LISTS.sum() < len(SHORT_LISTS)
    short = np.repeat(SHORT_LISTS, DATASET.lists.lengths)
    new, old, mixed = (x.weights(DCG) for x in (found.new, found.production, found))
    np.testing.assert_allclose(mixed[short], (0.5 * new + 0.5 * old)[short], rtol=1e-12)
    np.testing.assert_allclose(mixed[~short], new[~short], rtol=1e-12)


def test_the_strictest_metric_decides_for_all():
    lax, strict = (served(StricterByPrecision(), metrics=m) for m in ((DCG,), (DCG, PRECISION)))
    assert (lax.share == 1.0).all()
    assert (strict.share == 1 / 3).all()
    expected = 2 / 3 * strict.production.weights(DCG) + 1 / 3 * strict.new.weights(DCG)
    np.testing.assert_allclose(strict.weights(DCG), expected, rtol=1e-12)


def test_a_blend_comes_on_top_of_the_shares():
    found = served(HalfForShortLists(), blend=0.5)
    np.testing.assert_allclose(found.share, np.where(SHORT_LISTS, 0.25, 0.5))


@pytest.mark.parametrize("blend", [0.0, 0.3, 1.0])
def test_ndcg_of_a_mixture_is_the_mixture_of_ndcgs(blend):
    found = served(blend=blend)
    old = ndcg(found.production)
    new = ndcg(found.new)
    mixed = ndcg(found)
    assert mixed == pytest.approx((1 - blend) * old + blend * new, rel=1e-12)
    assert old != new


def test_ndcg_is_the_mean_over_queries_whatever_their_length():
    one = scored(1)
    by_query = expected_ndcg(one.weights(DCG), DATASET.labels, DATASET.lists, top_k=TOP_K)
    assert ndcg(one) == pytest.approx(by_query.mean())


def test_no_queries_have_ndcg_0():
    nothing = DATASET.queries(0, 0)
    assert ndcg(ScoredPolicy(nothing, np.zeros(0), PlackettLuce())) == 0.0


def test_the_certificate_is_of_what_is_served():
    whole, half = served(), served(blend=0.5)
    first, second = certificate(whole, DCG), certificate(half, DCG)
    assert second["worst_loss"] == pytest.approx(first["worst_loss"] / 2)
    assert second["ratio_min"] == pytest.approx((1 + first["ratio_min"]) / 2)
    losses = np.maximum(whole.production.weights(DCG) - whole.new.weights(DCG), 0)
    total = DATASET.lists.sum(whole.production.weights(DCG))
    assert first["worst_loss"] == pytest.approx((DATASET.lists.sum(losses) / total).mean())


@given(limit=strategies.floats(0.0, 1.0), seed=st.integers(1, 5))
def test_a_blend_keeps_its_promise_and_gives_nothing_away(limit, seed):
    before = served(seed=seed)
    loss, after = (
        certificate(found, DCG)["worst_case"][f"ndcg@{TOP_K}"]["loss"]
        for found in (before, served(seed=seed, blend=blend_for_loss(before, DCG, ndcg_loss=limit)))
    )
    blend = blend_for_loss(before, DCG, ndcg_loss=limit)
    assert 0.0 <= blend <= 1.0
    assert after <= limit + 1e-12
    assert after == pytest.approx(min(limit, loss), abs=1e-12)


def test_a_blend_to_no_loss_is_production():
    before = served()
    blend = blend_for_loss(before, DCG, ndcg_loss=0.0)
    assert blend == 0.0
    mixed = served(blend=blend)
    np.testing.assert_array_equal(mixed.weights(DCG), before.production.weights(DCG))


def test_several_rank_weights_are_computed_together_and_remembered():
    asked = []

    class Counting(PlackettLuce):
        def several_weights(self, scores, lists, rank_weights):
            asked.append(len(rank_weights))
            return super().several_weights(scores, lists, rank_weights)

    policy = scored(0, Counting())
    policy.weights(DCG)
    dcg, precision, again = policy.several_weights([DCG, PRECISION, PRECISION])
    assert asked == [1, 1]
    assert dcg is policy.weights(DCG)
    assert again is precision is policy.weights(PRECISION)
    np.testing.assert_array_equal(precision, scored(0).weights(PRECISION))
    assert len(policy.several_weights(list(np.eye(6)))) == 6  # more than are remembered
    assert asked == [1, 1, 6]


def test_what_is_remembered_is_no_part_of_a_larger_table():
    policy = scored(0)
    for answer in policy.several_weights([DCG, PRECISION]):
        assert answer.base is None
    assert policy.weights(DCG).base is None
