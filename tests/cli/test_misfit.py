"""Guards what ``cltr train`` says when clicks contradict the click model: true for every method.

Each sentence is checked against the numbers of the same run, for estimators of every guarantee and
for users as assumed and otherwise.
"""

import json
import re

import h5py
import pytest

from cltr.plugins import registry

USERS = ("trust-bias", "pbm", "adversarial", "dbn")
ESTIMATORS = ("plain", "prpo", "band", "safe")
WORDS = {
    "none": "Nothing limits how far the policy moves",
    "incentive": "does not reward moves beyond its clip, but nothing enforces it",
    "enforced": "What is served keeps the bound of",
}


def train_with(train, estimator, users, **words):
    flags = ("--users", users, "--estimator", estimator, "-n", "20000", "--on-doubt", "ignore")
    return train(*flags, reward="ips", **words)


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_advice_says_what_the_estimator_guarantees_and_the_run_computed(
    train, estimator, users
):
    result = train_with(train, estimator, users)
    guarantee = registry().find("estimator", estimator).guarantee
    worst = {
        split: result["certificate"][split]["worst_case"]["ndcg@5"]["loss"]
        for split in ("test", "train")
    }
    for line in result["warnings"]:
        assert "'trust-bias'" in line
        assert "'ips'" in line
        assert WORDS[guarantee] in line
        told = re.findall(r"([\d.]+) points \((test|train)\)", line)
        assert "at worst, NDCG@5 falls by" in line
        assert {split: float(points) for points, split in told} == {
            split: pytest.approx(100 * loss, abs=0.051) for split, loss in worst.items()
        }
        assert not re.search(r"use (--estimator )?prpo|bounds what that can cost", line)
    if users == "adversarial":
        assert result["warnings"]
    # No metric falls by more than the run says.
    for split, prefix in (("test", ""), ("train", "train_")):
        metrics = result["metrics"]
        fallen = metrics["production"][f"{prefix}ndcg@5"] - metrics["policy"][f"{prefix}ndcg@5"]
        assert fallen <= worst[split] + 1e-6


def test_the_warning_stands_first_in_the_result_and_when_judged_again(train, cltr):
    flags = ("--users", "adversarial", "-n", "20000", "--on-doubt", "ignore")
    result = train(*flags, "--out", "run")
    (line,) = result["warnings"]
    text = " ".join(cltr("evaluate", "run").stdout.split())
    assert line[:60] in text
    assert text.index(line[:60]) < text.index("change against")


def test_the_right_model_is_not_warned_of(train):
    assert train("-n", "20000")["warnings"] == []
    assert train("--users", "adversarial", "-n", "20000", reward="naive")["warnings"] == []


def test_a_blend_is_told_with_its_own_worst_case(train, cltr):
    """The sentence is about what is served now, not about what was trained."""
    train("--users", "adversarial", "-n", "20000", "--out", "run")
    text = " ".join(cltr("evaluate", "run", "--blend-to-loss", "0%").stdout.split())
    told = [float(points) for points in re.findall(r"([\d.]+) points \((?:test|train)\)", text)]
    assert told and max(told) == 0.0


def test_warnings_of_version_01_are_not_repeated(train, cltr, here):
    train("--users", "adversarial", "-n", "20000", "--out", "run")
    path = here / "run" / "result.json"
    result = json.loads(path.read_text())
    del result["misfit"], result["alerts"]
    path.write_text(json.dumps(result | {"warnings": ["prpo bounds what that can cost"]}))
    text = " ".join(cltr("evaluate", "run").stdout.split())
    assert "prpo bounds what that can cost" not in text
    assert "made by version 0.1" in text


def test_a_fitted_model_is_tested_and_one_from_an_old_file_is_not(cltr, train, here):
    assert cltr("simulate", "-n", "20000", "--out", "log.h5").exit_code == 0
    done = cltr("fit", "--log", "log.h5", "--click-model", "trust-bias", "--out", "model.h5")
    assert done.exit_code == 0, done.stderr
    words = ("--log", "log.h5", "--click-model", "fitted:model.h5", "--on-doubt", "ignore")
    assert train(*words)["warnings"] == []
    with h5py.File(here / "model.h5", "r+") as file:
        del file["compared"]
    (line,) = train(*words)["warnings"]
    assert "did not test the click model 'trust-bias': " in line
    assert "fit pbm or trust-bias again with cltr fit" in line
