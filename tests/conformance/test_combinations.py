"""Guards that everything goes with everything: each reward, estimator and ranker, by name."""

import functools

import numpy as np
import pytest

from cltr.errors import CltrError, UnsupportedError, UsageError
from cltr.experiment.components import build, compose
from cltr.experiment.config import resolve
from cltr.experiment.experiment import Experiment
from cltr.interfaces import RewardFunction
from cltr.plugins import registry
from cltr.testing import tiny_dataset

DATA = tiny_dataset()
REWARDS, ESTIMATORS, RANKERS, CLICK_MODELS = (
    registry().names(role) for role in ("reward", "estimator", "ranker", "click-model")
)


class Remembered(RewardFunction):
    """What a reward found, so that it is fitted once and not for every combination."""

    name = "remembered"

    def __init__(self, reward: RewardFunction, values: dict[int, np.ndarray]) -> None:
        super().__init__()
        self.name, self.variance_factor = reward.name, reward.variance_factor
        self.values = values

    def mu(self, data, *, propensity_clip=0.0):
        return self.values[data.dataset.first_document]


def config(**values):
    chosen = {
        "interactions": 2000,
        "skyline": False,
        "reward": {"name": "naive"},
        "scorer": {"name": "linear"},
        "training": {"epochs": 2, "learning_rate": 0.05, "batch_queries": 2},
        "production": {"epochs": 2, "learning_rate": 0.05},
    }
    return resolve({**chosen, **values})


@functools.cache
def production():
    return Experiment.simulated(config(), dataset=DATA).production


@functools.cache
def clicks(users: str = "trust-bias"):
    return experiment(config(users={"name": users})).simulate()


def experiment(chosen, components=None) -> Experiment:
    return Experiment(chosen, components or compose(chosen), DATA, production())


@functools.cache
def fitted(name: str) -> Remembered:
    run = experiment(config(reward={"name": name}))
    rewards = run.reward(clicks())
    values = {part.dataset.first_document: part.values for part in rewards.values()}
    assert len(values) == 3
    return Remembered(run.components.reward, values)


def refused(estimator: str, ranker: str) -> str | None:
    """Why the ranker does not take the estimator; None if it does."""
    choice = config(estimator={"name": estimator}, ranker={"name": ranker}, reward={"name": "dr"})
    try:
        compose(choice)
    except UnsupportedError as error:
        return str(error)
    return None


def run(reward: str, estimator: str, ranker: str) -> dict:
    """All numbers of a run, with the last weights, which training was stopped at."""
    chosen = config(ranker={"name": ranker})
    choice = config(estimator={"name": estimator}).estimator
    remembered = fitted(reward)
    components = compose(chosen).replace(
        reward=remembered,
        estimator=build("estimator", choice, reward=remembered),
    )
    outcome = experiment(chosen, components).run(clicks())
    learned, judged = outcome.learned, outcome.judged
    weights = {key: value.tolist() for key, value in learned.state.weights.items()}
    return {
        **judged,
        "weights": weights,
        "history": learned.state.history,
        "clip_fraction": learned.clip_fraction,
    }


def takes(estimator: str, reward: str) -> bool:
    """Whether the estimator takes the reward: all do, but for those that need a variance bound."""
    return estimator != "safe" or registry().find("reward", reward).variance_factor is not None


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("reward", REWARDS)
def test_every_combination_trains(reward, estimator, ranker):
    if not takes(estimator, reward):
        with pytest.raises(UnsupportedError) as caught:
            run(reward, estimator, ranker)
        assert str(caught.value) == (
            "estimator 'safe' needs a reward that declares a variance bound, not "
            f"'{reward}', which has none; choose a reward with a variance_factor, such as "
            "ips or dr, or another estimator"
        )
        return
    if (reason := refused(estimator, ranker)) is not None:
        assert (ranker, estimator) == ("optimum", "safe")
        assert "depends on all queries together" in reason
        return
    result = run(reward, estimator, ranker)
    assert all(np.isfinite(record["valid_value"]) for record in result["history"])
    assert all(np.isfinite(values).all() for values in result["weights"].values())
    start = {key: value.tolist() for key, value in production().model.state().items()}
    assert result["weights"] != start
    for who in ("production", "policy"):
        assert 0 <= result["metrics"][who]["ndcg@5"] <= 1
    for split in ("train", "test"):
        certificate = result["certificate"][split]
        assert 0 <= certificate["ratio_min"] <= 1 + 1e-6
        assert 0 <= certificate["worst_loss_1"] <= certificate["worst_loss_3"]
        assert certificate["worst_loss_3"] <= certificate["worst_loss"] <= 1
    assert run(reward, estimator, ranker) == result


@pytest.mark.parametrize("click_model", CLICK_MODELS)
@pytest.mark.parametrize("reward", REWARDS)
def test_every_reward_corrects_for_a_click_model_or_says_why_not(reward, click_model):
    chosen = config(
        reward={"name": reward}, click_model={"name": click_model}, users={"name": "pbm"}
    )
    if click_model == "adversarial":
        with pytest.raises(UsageError, match="use --users adversarial"):
            compose(chosen)
        return
    run = experiment(chosen)
    try:
        found = run.reward(clicks())
    except CltrError as error:
        assert "\n" not in str(error)
        assert run.components.click_model.affine(5) is None
    else:
        assert all(np.isfinite(part.values).all() for part in found.values())


@pytest.mark.parametrize("users", CLICK_MODELS)
def test_every_click_model_can_be_the_users(users):
    """Or says that it only fits."""
    try:
        found = clicks(users)
    except UnsupportedError as error:
        assert f"'{users}'" in str(error)
    else:
        assert found["train"].n_interactions == 2000
        assert 0 < found["train"].clicks.sum() < found["train"].impressions.sum()
