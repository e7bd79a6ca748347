"""Guards off-policy values: right on average, clustered by query, with what they rest on."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.clicks.models import PositionBased, TrustBias
from cltr.errors import DataError
from cltr.evaluation.off_policy import off_policy_values, value_totals
from cltr.exposure.exposure import exposure_of
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
    values = off_policy_values(
        mixture(found), found, DCG, click_model=None, trained_on=found, seed=0
    )
    assert values["queries"] == 1
    assert values["difference"]["standard_error"] is None
    assert values["difference"]["low"] is None
    assert values["one_query_dominates"]


def test_differences_are_those_of_the_values_with_an_interval_around_them():
    found = rewards()
    values = off_policy_values(
        mixture(found), found, DCG, click_model=None, trained_on=found, seed=0
    )
    gained = values["policy"]["value"] - values["production"]["value"]
    assert values["difference"]["value"] == pytest.approx(gained)
    assert values["difference"]["low"] < gained < values["difference"]["high"]
    assert values["difference"]["target"] == "these queries"
    assert gained > 0


def test_queries_that_were_not_trained_on_are_new():
    found = rewards()
    far = replace(found.dataset, first_document=found.dataset.n_documents)
    elsewhere = replace(found, dataset=far)
    values = off_policy_values(
        mixture(found), found, DCG, click_model=None, trained_on=elsewhere, seed=0
    )
    assert values["difference"]["target"] == "new queries"


def test_a_policy_like_production_makes_full_use_of_the_log():
    found = rewards()
    near, far = (
        off_policy_values(
            mixture(found, moved=moved), found, DCG, click_model=None, trained_on=found, seed=0
        )
        for moved in (0.0, 8.0)
    )
    assert near["effective_interactions"] > far["effective_interactions"]
    assert near["effective_interactions"] <= found.n_interactions
    assert min(near["largest_weight"], far["largest_weight"]) > 1.0


def test_the_error_of_a_fitted_click_model_widens_intervals():
    """Against values under moved examination: the covariance here is one direction."""
    found, model = ips_rewards(), PositionBased()
    model.fit(found.statistics)
    step = np.zeros((2, 5))
    step[0, 1:] = 1e-4 * np.arange(1, 5)
    covariance = np.einsum("ai,bj->aibj", step, step)
    model.fitted = replace(model.fitted, covariance=covariance)
    told = {"trained_on": found, "seed": 0}
    before, after = (
        off_policy_values(mixture(found), found, DCG, click_model=one, **told)
        for one in (None, model)
    )
    served = mixture(found)
    weights = {"production": served.production.weights(DCG), "policy": served.weights(DCG)}
    weights["difference"] = weights["policy"] - weights["production"]
    rho, moved = found.exposure.propensities, served.production.weights(step[0])
    for who, each in weights.items():
        added = after[who]["standard_error"] ** 2 - before[who]["standard_error"] ** 2
        changes = each * found.values * (rho / (rho + moved) - 1.0)
        expected = found.query_weights @ found.dataset.lists.sum(changes)
        assert np.sqrt(added) == pytest.approx(abs(expected), rel=0.05)
        assert after[who]["low"] < before[who]["low"]
        assert after[who]["high"] > before[who]["high"]


def ips_rewards() -> Rewards:
    """Rewards that stand on the propensities of the mixture's production."""
    found = rewards()
    exposure = exposure_of(mixture(found).production, PositionBased(), DCG, source="exact")
    return replace(found, exposure=exposure)


@pytest.mark.parametrize(
    ("covariance", "reason"),
    [(None, "how well is not recorded"), (np.nan, "leave examination open")],
)
def test_without_the_error_of_a_fitted_click_model_there_is_no_interval(covariance, reason):
    found = ips_rewards()
    model = PositionBased()
    model.fit(found.statistics)
    if covariance is not None:
        covariance = np.full((2, 5, 2, 5), covariance)
    model.fitted = replace(model.fitted, covariance=covariance)
    values = off_policy_values(
        mixture(found), found, DCG, click_model=model, trained_on=found, seed=0
    )
    assert reason in values["difference"]["no_interval_because"]
    assert values["difference"]["low"] is None
    assert values["difference"]["standard_error"] is None
    assert values["difference"]["value"] > 0


def test_tiny_propensities_support_no_interval():
    found = ips_rewards()
    likely = np.ones(found.dataset.n_documents)
    likely[mixture(found, moved=8.0).weights(DCG).argmax()] = 1e-9
    exposure = found.exposure
    rarely = replace(
        exposure,
        propensities=exposure.propensities * likely,
        attention=exposure.attention * likely,
    )
    peaked = replace(found, exposure=rarely)
    values = off_policy_values(
        mixture(found, moved=8.0), peaked, DCG, click_model=None, trained_on=found, seed=0
    )
    assert "too few clicks decide" in values["policy"]["no_interval_because"]
    assert values["policy"]["high"] is None


def test_labels_have_no_clicks():
    found = replace(rewards(), statistics=None)
    with pytest.raises(DataError, match="need clicks"):
        off_policy_values(
            mixture(rewards()), found, DCG, click_model=None, trained_on=found, seed=0
        )
