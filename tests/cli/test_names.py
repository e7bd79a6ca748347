"""Guards the names people type: each that is registered works once through the command line."""

import pytest

from cltr.experiment.config import ALIASES
from cltr.plugins import registry
from cltr.policies.rank_weights import METRICS

ONE_EPOCH = ["-o", "training.epochs=1"]


def names(role: str) -> list[str]:
    return registry().names(role)


def rewards_with_a_bound() -> list[str]:
    return [n for n in names("reward") if registry().find("reward", n).variance_factor is not None]


@pytest.mark.parametrize("name", names("estimator"))
def test_estimators(train, name):
    reward = rewards_with_a_bound()[0]
    assert train("--estimator", name, *ONE_EPOCH, reward=reward)["estimator"] == name


@pytest.mark.parametrize("alias", ALIASES)
def test_estimators_in_the_words_of_the_paper(cltr, train, alias):
    estimator, reward = ALIASES[alias]
    result = train("--estimator", alias, *ONE_EPOCH, reward=reward)
    assert (result["estimator"], result["reward"]) == (estimator, reward)


@pytest.mark.parametrize("name", names("reward"))
def test_rewards(train, name):
    assert train(*ONE_EPOCH, reward=name)["reward"] == name


@pytest.mark.parametrize("name", names("ranker"))
def test_rankers(train, name):
    result = train("--ranker", name, *ONE_EPOCH, reward="naive")
    assert result["ranker"] == name
    assert result["policy"] in {"plackett-luce", "gaussian", "deterministic"}


@pytest.mark.parametrize("name", names("scorer"))
def test_scorers(cltr, name):
    """Without the options of another scorer."""
    words = ["-n", "500", "--no-skyline", "-o", "production.epochs=1", *ONE_EPOCH]
    done = cltr("train", "--reward", "naive", "--scorer", name, *words)
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("name", names("click-model"))
def test_click_models_as_users(train, name):
    assert train("--users", name, *ONE_EPOCH, reward="naive")["users"] == name


@pytest.mark.parametrize("name", sorted(set(names("click-model")) - {"adversarial"}))
def test_click_models_as_assumed(train, name):
    result = train("--click-model", name, "--users", "pbm", *ONE_EPOCH, reward="naive")
    assert (result["click_model"], result["users"]) == (name, "pbm")


@pytest.mark.parametrize("name", METRICS)
def test_metrics(train, name):
    result = train("--metric", name, *ONE_EPOCH)
    assert result["metric"] == name
    assert (name in result["certificate"]) == (name != "dcg")


@pytest.mark.parametrize("words", [["--exposure", "counted"], ["--init", "random"]])
def test_choices(train, words):
    assert train(*words, *ONE_EPOCH)[words[0][2:]] == words[1]
