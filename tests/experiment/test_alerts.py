"""Guards what is said first: impossible values, a worse policy, a sign that is not certain."""

import numpy as np
import pytest

from cltr.evaluation.advice import impossible_values, limit_sentence, worse_than_production
from cltr.experiment import simulate_log, train_run
from cltr.experiment.other_models import check_sign
from tests import small


def values(production=1.0, policy=1.2, low=0.1, high=0.3):
    return {
        "split": "test",
        "n_interactions": 500,
        "production": {"value": production},
        "policy": {"value": policy},
        "difference": {"value": (low + high) / 2, "low": low, "high": high, "confidence": 0.95},
    }


def test_a_negative_value_is_impossible():
    (line,) = impossible_values(values(production=-0.9), {})
    assert line.startswith(
        "The estimates are not usable: the value of production comes out at -0.9"
    )
    assert not list(impossible_values(values(), {}))
    assert len([*impossible_values(values(production=-0.9, policy=-0.8), {})]) == 2


def test_equal_values_are_said_once():
    (line,) = impossible_values(values(production=-0.90001, policy=-0.90002), {})
    assert "the value of production and of the new policy comes out at -0.9000" in line


@pytest.mark.parametrize(("mean", "said"), [(0.5, 0), (1.9, 0), (2.1, 1), (-2.1, 1)])
def test_a_mean_relevance_far_outside_is_impossible(mean, said):
    """Pins the threshold."""
    assert len(list(impossible_values(None, {"train": mean}))) == said


@pytest.mark.parametrize(("high", "said"), [(-0.01, 1), (0.01, 0), (None, 0)])
def test_a_policy_that_is_surely_worse_is_said_to_be_so(high, said):
    found = values(low=-0.3, high=-0.01)
    found["difference"]["high"] = high
    assert len(list(worse_than_production(found))) == said


def test_a_sign_that_depends_on_the_click_model_is_told():
    one = {"click_model": "pbm, fitted", "value": -0.2}
    check = check_sign("trust-bias", {"value": 0.3}, [one])
    line = check.sentence
    assert "+0.3000 with the click model 'trust-bias', but -0.2000 with 'pbm, fitted'" in line
    assert check.outcome == "inconclusive"
    assert check_sign("trust-bias", {"value": 0.3}, [one | {"high": -0.01}]).outcome == "fail"
    assert check_sign("trust-bias", {"value": -0.3}, [one]).outcome == "pass"


def test_where_production_is_not_known_no_number_is_made_up():
    line = limit_sentence("none", "plain", {"test": None, "train": None})
    assert "is not known" in line
    assert not any(letter.isdigit() for letter in line)


def test_a_run_on_a_log_tells_the_gain_under_fitted_models(tmp_path):
    users = {"name": "pbm"}
    simulate_log.simulate(small.config(users=users, interactions=20_000), out=tmp_path / "log.h5")
    result = train_run.train(small.config(log=str(tmp_path / "log.h5")), out=tmp_path / "run")
    names = [one["click_model"] for one in result["other_click_models"]]
    assert set(names) <= {"pbm, fitted", "trust-bias, fitted"}
    assert names
    for one in result["other_click_models"]:
        assert np.isfinite(one["value"])
        assert one["low"] <= one["value"] <= one["high"]


def test_a_simulated_run_with_the_right_model_needs_no_others(tmp_path):
    result = train_run.train(small.config(), out=tmp_path / "run")
    assert result["other_click_models"] == []
    assert result["alerts"] == []
