"""Each health check says the right thing of simulated users whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.clicks.choose_model import choose_click_model
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.clicks.scores import hold_out_statistics
from cltr.clicks.simulation import simulate_statistics
from cltr.health.checkup import examine, no_model
from cltr.health.click_model import check_attention, check_identified, largest_rise
from cltr.health.evidence import check_clicks, check_overlap, check_possible, check_signal
from cltr.health.outcome import HealthCheck, with_outcome, worst
from cltr.health.production import check_production
from cltr.plugins import registry
from cltr.types import ClickStatistics
from tests.health.logs import DETERMINISTIC, Coin, draw

SESSION_MODELS = ("dbn", "cascade", "ubm")


def users_named(name):
    if name == "adversarial":
        return Adversarial(TrustBias())
    return registry().find("click-model", name)()


def examined(users, model=None, **how):
    """Outcomes by name, with the click model that is chosen for the log unless one is given."""
    log = draw(users, **how)
    chosen = model or choose_click_model(log.clicks["train"]).model
    return {check.name: check for check in examine(chosen, log.rewards(chosen))}


@pytest.mark.parametrize("name", ["pbm", "trust-bias", *SESSION_MODELS])
def test_fitted_models_of_ordinary_users_fail_no_check(name):
    found = examined(users_named(name), n=50_000, n_queries=200)
    assert not with_outcome(found.values(), "fail"), worst(found.values())
    assert found["production"].outcome == "pass"
    assert found["attention"].outcome == "pass"
    assert found["signal"].outcome == "pass"


def test_users_as_given_pass_every_check():
    found = examined(TrustBias(), TrustBias(), n=50_000, n_queries=200)
    assert {check.outcome for check in found.values()} == {"pass"}


@pytest.mark.parametrize("seed", range(3))
def test_adversarial_clicks_are_seen_with_a_fitted_model(seed):
    found = examined(users_named("adversarial"), n=50_000, n_queries=200, seed=seed)
    assert found["click model"].outcome == "pass"  # reversed relevance is a valid click model
    assert found["production"].outcome == "fail"
    assert found["production"].number < 0
    assert found["attention"].outcome == "fail"


def test_adversarial_clicks_are_seen_with_the_given_model():
    found = examined(users_named("adversarial"), TrustBias(), n=50_000, n_queries=200)
    assert found["production"].outcome == "fail"
    assert found["click model"].outcome == "fail"
    assert "--click-model auto" in found["click model"].advice


def test_a_given_model_of_other_users_fails():
    found = examined(PositionBased(), TrustBias(), n=50_000, n_queries=200)
    assert found["click model"].outcome == "fail"


def test_random_clicks_carry_no_signal():
    found = examined(Coin(), n=50_000, n_queries=200)
    assert list(found) == ["clicks", "signal"]
    assert found["signal"].outcome == "fail"
    assert abs(found["signal"].number) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_random_clicks_carry_no_signal_whatever_model_is_given(seed):
    """A wrong click model explains equal rates by rank as documents that differ."""
    found = examined(Coin(), TrustBias(), n=50_000, n_queries=200, seed=seed)
    assert list(found) == ["clicks", "signal"]
    assert found["signal"].outcome == "fail"


def test_labels_of_0_carry_no_signal():
    log = draw(TrustBias())
    irrelevant = replace(log.datasets["train"], labels=0 * log.datasets["train"].labels)
    from cltr.clicks.simulation import simulate_statistics

    clicks = simulate_statistics(
        irrelevant,
        log.scores["train"],
        TrustBias(),
        n=50_000,
        top_k=5,
        rng=np.random.default_rng(0),
    )
    check = check_signal(*hold_out_statistics(clicks, share=0.5), TrustBias().affine(5))
    assert check.outcome == "fail"


def test_random_clicks_pass_as_signal_in_one_log_of_twenty():
    passed = 0
    for seed in range(60):
        log = draw(Coin(), n=2_000, n_queries=40, seed=seed).clicks["train"]
        halves = hold_out_statistics(log, share=0.5, seed=seed)
        passed += check_signal(*halves, PositionBased(eta=0).affine(5)).outcome == "pass"
    assert passed <= 8  # 3 are expected; more than 8 has probability 0.003


def test_a_query_with_most_of_the_traffic_does_not_decide():
    """Products of clicks by traffic, instead of correlations, would miss the signal here."""
    missed = 0
    for seed in range(10):
        parts = [
            draw(PositionBased(), n=n, n_queries=q, seed=seed).clicks["train"]
            for n, q in ((20_000, 1), (4_000, 60))
        ]
        joined = ClickStatistics(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("impressions", "clicks", "displays")
            ),
            np.concatenate([parts[0].offsets, parts[0].offsets[-1] + parts[1].offsets[1:]]),
        )
        halves = hold_out_statistics(joined, share=0.5, seed=seed)
        missed += check_signal(*halves, PositionBased().affine(5)).outcome != "pass"
    assert missed == 0


def test_no_clicks():
    log = draw(PositionBased(), n=500).clicks["train"]
    nothing = ClickStatistics(log.impressions, 0 * log.clicks, log.displays, log.offsets)
    (check,) = no_model("nothing could be fitted", nothing)
    assert check.outcome == "fail"
    assert check.sentence == "There are no clicks in 500 training interactions."


def test_one_query():
    check = check_clicks(draw(PositionBased(), n=5_000, n_queries=1).clicks["train"])
    assert check.outcome == "fail"
    assert "on 1 query: nothing can be learned about other queries" in check.sentence


def test_deterministic_production_is_not_identified():
    log = draw(PositionBased(), sharpness=DETERMINISTIC)
    model = PositionBased()
    model.fit(log.clicks["train"])
    assert check_identified(model, log.clicks["train"]).outcome == "fail"
    assert check_identified(PositionBased(), log.clicks["train"]).outcome == "pass"  # it is given
    rewards = log.rewards(PositionBased())
    check = check_production([rewards["valid"]])
    assert check.outcome == "inconclusive"
    assert "almost always got the same list" in check.sentence
    counted = replace(rewards["train"].exposure, source="counted")
    overlap = check_overlap(counted, log.clicks["train"], best_examination=1.0)
    assert overlap.outcome == "inconclusive"
    assert overlap.number == pytest.approx(7 / 12, abs=0.05)  # five of twelve are ever shown


def test_a_weak_production_is_inconclusive_or_passes_by_chance_alone():
    model, outcomes = PositionBased(), []
    for seed in range(20):
        log = draw(model, n=5_000, n_queries=50, skill=0.0, seed=seed)
        outcomes.append(check_production([log.rewards(model)["valid"]]).outcome)
    assert outcomes.count("inconclusive") >= 14  # 18 are expected


def test_attention_that_rises():
    rising = TrustBias(examination=(0.2, 0.3, 0.4, 0.5, 0.6), trust=(0.1, 0.2, 0.3, 0.3, 0.3))
    check = check_attention(rising, 5)
    assert check.outcome == "fail"
    assert check.number == pytest.approx(0.6)
    slightly = PositionBased(examination=(0.5, 0.4, 0.5, 0.3, 0.2))
    assert check_attention(slightly, 5).outcome == "inconclusive"
    hardly = check_attention(PositionBased(examination=(0.5, 0.4, 0.42, 0.3, 0.2)), 5)
    assert hardly.outcome == "pass" and "rises by 0.02, within the error" in hardly.sentence
    falling = check_attention(PositionBased(examination=(0.5, 0.4, 0.3, 0.2, 0.1)), 5)
    assert falling.sentence.endswith("it does not rise.")
    assert largest_rise(np.array([1.0, 0.5, 0.6, 0.2])) == pytest.approx(0.1)


def test_few_swaps_hardly_identify_position_bias():
    log = draw(PositionBased(), n=120, n_queries=30)
    model = PositionBased()
    model.fit(log.clicks["train"])
    assert check_identified(model, log.clicks["train"]).outcome == "inconclusive"


def test_impossible_rewards():
    rewards = draw(TrustBias()).rewards(TrustBias())["valid"]
    assert check_possible(rewards).outcome == "pass"
    negative = replace(rewards, values=-rewards.values)
    assert check_possible(negative).outcome == "fail"
    assert "a value cannot be negative" in check_possible(negative).sentence
    assert check_possible(replace(rewards, values=9 * rewards.values)).outcome == "fail"


def test_a_value_that_chance_made_negative_is_not_called_impossible():
    """Nobody wants anything: estimates lie around 0, on either side."""
    log = draw(TrustBias(), n=2_000)
    nothing = {split: replace(data, labels=0 * data.labels) for split, data in log.datasets.items()}
    outcomes = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scores = log.scores["valid"]
        clicks = simulate_statistics(
            nothing["valid"], scores, TrustBias(), n=2_000, top_k=5, rng=rng
        )
        found = replace(log, clicks={"valid": clicks}).rewards(TrustBias())["valid"]
        outcomes.append(check_possible(found))
    failed = [check for check in outcomes if check.outcome == "fail"]
    assert 2 <= len(failed) <= 10  # one half is expected
    assert sum("impossible" in check.sentence for check in failed) <= 2
    assert any(
        "do not show that users want what production shows" in one.sentence for one in failed
    )


def test_worst_outcome_and_plain_form():
    checks = [HealthCheck("a", "pass", float("nan"), "x"), HealthCheck("b", "fail", 1, "y")]
    assert worst(checks) == "fail" and worst([]) == "pass"
    assert checks[0].plain() == {
        "name": "a",
        "outcome": "pass",
        "number": None,
        "sentence": "x",
        "advice": "",
    }
