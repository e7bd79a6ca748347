"""Guards the safe way from clicks to a verdict: what is learned, what is kept, what is said."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.data.demo import demo_dataset
from cltr.evaluation.verdict import canary_share
from cltr.experiment.config import CURRENT, resolve
from cltr.experiment.decide import decide
from cltr.experiment.experiment import Experiment
from cltr.experiment.plan import plan_training
from cltr.experiment.safe_run import run_safely
from cltr.health.outcome import HealthCheck
from tests.safety_tables.worlds import reordered, rotated

QUICK = {"version": CURRENT, "interactions": 20_000, "skyline": False, "reward": {"name": "ips"}}


@pytest.fixture(scope="module")
def dataset():
    return rotated(reordered(demo_dataset(), np.arange(150)), 0, 5)


def ran(dataset, **values):
    experiment = Experiment.simulated(
        resolve({**QUICK, "training": {"epochs": 8}, **values}), dataset=dataset
    )
    return run_safely(experiment, experiment.simulate())


def gain(found):
    metrics = found.outcome.judged["metrics"]
    return metrics["policy"]["ndcg@5"] / metrics["production"]["ndcg@5"] - 1


@pytest.mark.parametrize("values", [{}, {"click_model": {"name": "auto"}}], ids=["run", "log"])
def test_adversarial_clicks_leave_production_as_it_is(dataset, values):
    found = ran(dataset, users={"name": "adversarial"}, **values)
    assert found.precautions.plan == "stay"
    assert gain(found) == 0.0
    assert found.verdict.decision == "hold"
    assert "production is worse than a random order" in found.verdict.sentence


@pytest.mark.parametrize("users", ["pbm", "adversarial"])
def test_a_reward_that_nothing_tests_never_deploys_by_its_own_estimate(dataset, users):
    found = ran(dataset, users={"name": users}, reward={"name": "naive"})
    assert [check.name for check in found.precautions.checks] == ["clicks", "reward", "start"]
    assert found.precautions.plan == "narrow"
    assert found.verdict.decision in ("canary", "hold")


def test_judgements_need_no_click_model(dataset):
    found = ran(dataset, reward={"name": "labels"})
    assert found.precautions.plan == "learn"


def test_ordinary_clicks_are_learned_from(dataset):
    found = ran(dataset, users={"name": "pbm"}, click_model={"name": "auto"})
    assert found.precautions.plan != "stay"
    assert gain(found) > 0.02
    assert found.verdict.decision in ("deploy", "canary")
    assert found.experiment.components.click_model.fitted is not None


def test_a_bound_moves_less_than_no_bound(dataset):
    bound = ran(dataset, users={"name": "adversarial"}, on_doubt="bound")
    free = ran(dataset, users={"name": "adversarial"}, on_doubt="ignore")
    assert bound.precautions.plan == "narrow" and free.precautions.plan == "learn"
    assert [check.name for check in free.precautions.checks] == ["sign of the gain"]
    assert gain(free) < gain(bound) < 0


def test_random_clicks_are_not_learned_from(dataset):
    coin = {"name": "trust-bias", "examination": [1e-9] * 5, "trust": [0.3] * 5}
    found = ran(dataset, users=coin, click_model={"name": "auto"})
    assert found.verdict.decision == "hold" and gain(found) == 0.0
    assert "do not distinguish the documents of a query" in found.verdict.sentence


@pytest.mark.parametrize(
    ("outcome", "on_doubt", "guarantee", "plan"),
    [
        ("pass", "stay", "none", "learn"),
        ("inconclusive", "stay", "incentive", "narrow"),
        ("inconclusive", "stay", "none", "stay"),
        ("inconclusive", "ignore", "none", "learn"),
        ("fail", "stay", "enforced", "stay"),
        ("fail", "bound", "incentive", "narrow"),
        ("fail", "bound", "none", "stay"),
        ("fail", "ignore", "incentive", "learn"),
    ],
)
def test_plans(outcome, on_doubt, guarantee, plan):
    assert plan_training(outcome, on_doubt, guarantee) == plan


def judged(value, low, high, loss=0.4):
    difference = {"value": value, "low": low, "high": high}
    return {
        "off_policy": {"difference": difference, "n_interactions": 1000},
        "certificate": {"test": {"worst_case": {"ndcg@5": {"loss": loss}}}, "train": None},
    }


UNCLEAR = HealthCheck("overlap", "inconclusive", 0.6, "Production hides much.")
FAILED = HealthCheck("production", "fail", -0.3, "Production is worse.", "Look.")


@pytest.mark.parametrize(
    ("numbers", "checks", "stayed", "decision", "share"),
    [
        ((0.2, 0.1, 0.3), [], False, "deploy", 1.0),
        ((0.2, -0.1, 0.5), [], False, "canary", 0.05),
        ((0.2, 0.1, 0.3), [UNCLEAR], False, "canary", 0.05),
        ((-0.1, -0.3, 0.1), [], False, "hold", 0.0),
        ((-0.2, -0.3, -0.1), [], False, "reject", 0.0),
        ((0.2, 0.1, 0.3), [FAILED], True, "hold", 0.0),
    ],
)
def test_verdicts(numbers, checks, stayed, decision, share):
    verdict = decide(judged(*numbers), checks, stayed=stayed, top_k=5)
    assert (verdict.decision, verdict.share) == (decision, pytest.approx(share))
    if decision == "canary":
        assert "5.00% of the requests" in verdict.sentence
        assert "NDCG then falls by at most 2.0 points" in verdict.sentence
    if stayed:
        assert verdict.sentence.startswith("Keep production. Production is worse.")
        assert verdict.reasons == ("Production is worse. Look.",)


def test_a_canary_of_a_harmless_policy_takes_all_requests():
    assert canary_share(0.02) == canary_share(0.0) == 1.0


def test_files_without_a_version_keep_their_meaning():
    old, new = resolve({}), resolve({"version": CURRENT})
    assert (old.on_doubt, new.on_doubt) == ("ignore", "stay")
    assert old.estimator.options["clip"] == "100/N" and "clip" not in new.estimator.options
    assert resolve({"log": "x.h5"}).click_model.name == "trust-bias"
    assert resolve({"log": "x.h5", "version": CURRENT}).click_model.name == "auto"
    assert resolve({"version": CURRENT}).click_model.name == "trust-bias"


def ran_on(dataset, change, **values):
    """A run whose clicks are changed before anything looks at them."""
    config = resolve({**QUICK, "training": {"epochs": 8}, **values})
    experiment = Experiment.simulated(config, dataset=dataset)
    clicks = {split: change(part) for split, part in experiment.simulate().items()}
    return run_safely(experiment, clicks)


@pytest.mark.parametrize("values", [{}, {"click_model": {"name": "auto"}}], ids=["run", "log"])
def test_without_clicks_production_is_kept(dataset, values):
    found = ran_on(
        dataset, lambda part: replace(part, clicks=0 * part.clicks), users={"name": "pbm"}, **values
    )
    assert found.verdict.decision == "hold" and gain(found) == 0.0
    assert "There are no clicks in 20,000 training interactions." in found.verdict.sentence


@pytest.mark.parametrize("values", [{}, {"click_model": {"name": "auto"}}], ids=["run", "log"])
def test_from_one_query_nothing_is_learned(dataset, values):
    def one(part):
        busiest = np.arange(len(part.displays)) == part.displays.argmax()
        return part.of_queries(busiest)

    found = ran_on(dataset, one, users={"name": "pbm"}, **values)
    assert found.verdict.decision == "hold" and gain(found) == 0.0
    assert "on 1 query: nothing can be learned about other queries" in found.verdict.sentence


@pytest.mark.parametrize("values", [{}, {"click_model": {"name": "auto"}}], ids=["run", "log"])
def test_where_nothing_is_relevant_production_is_kept(dataset, values):
    nothing = replace(dataset, labels=0 * dataset.labels)
    found = ran_on(nothing, lambda part: part, users={"name": "trust-bias"}, **values)
    assert found.verdict.decision == "hold" and found.precautions.plan == "stay"
    assert "do not distinguish the documents of a query" in found.verdict.sentence
