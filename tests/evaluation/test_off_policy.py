"""Guards off-policy values: right on average, clustered by query, with what they rest on."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.clicks.models import TrustBias
from cltr.errors import DataError
from cltr.evaluation.off_policy import off_policy_values, value_totals
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import Mixture, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.testing import tiny_clicks
from cltr.types import Rewards

DCG = rank_weights("dcg", 5)


def rewards(n: int = 2000, seed: int = 0) -> Rewards:
    data = tiny_clicks(TrustBias(), n=n, seed=seed)
    return Rewards(
        data.dataset,
        data.dataset.relevance,
        data.exposure,
        data.statistics.query_weights,
        "truth",
        data.statistics,
    )


def mixture(found: Rewards, *, moved: float = 1.0) -> Mixture:
    dataset = found.dataset
    scores = np.random.default_rng(1).normal(size=dataset.n_documents)
    old = ScoredPolicy(dataset, scores, PlackettLuce())
    new = ScoredPolicy(dataset, scores + moved * dataset.relevance, PlackettLuce())
    return Mixture(new, old, np.ones(dataset.n_queries))


def test_the_value_is_the_weighted_sum():
    found = rewards()
    weights = np.random.default_rng(2).random(found.dataset.n_documents)
    by_query = found.dataset.lists.sum(weights * found.values)
    assert value_totals(weights, found).value == pytest.approx(found.query_weights @ by_query)


def test_queries_that_did_not_come_do_not_count():
    found = rewards()
    first = np.arange(found.dataset.n_queries) == 0
    alone = found.of_queries(first)
    assert alone.n_interactions == found.statistics.displays[0]
    weights = np.ones(found.dataset.n_documents)
    expected = found.dataset.lists.sum(found.values)[0]
    assert value_totals(weights, alone).value == pytest.approx(expected)


def test_a_single_query_has_no_interval():
    found = rewards().of_queries(np.arange(rewards().dataset.n_queries) == 0)
    values = off_policy_values(mixture(found), found, DCG, trained_on=found, seed=0)
    assert values["queries"] == 1
    assert values["difference"]["standard_error"] is None
    assert values["difference"]["low"] is None
    assert values["one_query_dominates"]


def test_differences_are_those_of_the_values_with_an_interval_around_them():
    found = rewards()
    values = off_policy_values(mixture(found), found, DCG, trained_on=found, seed=0)
    gained = values["policy"]["value"] - values["production"]["value"]
    assert values["difference"]["value"] == pytest.approx(gained)
    assert values["difference"]["low"] < gained < values["difference"]["high"]
    assert values["difference"]["target"] == "these queries"
    assert gained > 0


def test_queries_that_were_not_trained_on_are_new():
    found = rewards()
    far = replace(found.dataset, first_document=found.dataset.n_documents)
    elsewhere = replace(found, dataset=far)
    values = off_policy_values(mixture(found), found, DCG, trained_on=elsewhere, seed=0)
    assert values["difference"]["target"] == "new queries"


def test_a_policy_like_production_makes_full_use_of_the_log():
    found = rewards()
    near, far = (
        off_policy_values(mixture(found, moved=moved), found, DCG, trained_on=found, seed=0)
        for moved in (0.0, 8.0)
    )
    assert near["effective_interactions"] > far["effective_interactions"]
    assert near["effective_interactions"] <= found.n_interactions
    assert min(near["largest_weight"], far["largest_weight"]) > 1.0


def test_labels_have_no_clicks():
    found = replace(rewards(), statistics=None)
    with pytest.raises(DataError, match="need clicks"):
        off_policy_values(mixture(rewards()), found, DCG, trained_on=found, seed=0)
