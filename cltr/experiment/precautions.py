"""What a run finds out about its clicks before training, and what it does about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cltr.clicks.bias import affine_of
from cltr.clicks.choose_model import ModelChoice, choose_click_model
from cltr.clicks.models import PositionBased
from cltr.experiment.components import build
from cltr.experiment.config import AUTO
from cltr.experiment.experiment import Clicks, Experiment
from cltr.experiment.plan import Plan, plan_training
from cltr.experiment.run_log import cut_clicks
from cltr.experiment.seeds import seed_for
from cltr.experiment.start_check import Start, examine_start
from cltr.health.checkup import examine, no_model
from cltr.health.click_model import untested_reward
from cltr.health.evidence import check_clicks
from cltr.health.outcome import HealthCheck, worst
from cltr.types import Rewards


@dataclass(frozen=True)
class Precautions:
    """The click model of a run, the health of its clicks, and what follows."""

    checks: tuple[HealthCheck, ...] = ()
    plan: Plan = "learn"
    choice: ModelChoice | None = None
    """How the click model was chosen; None if it was given."""
    start: Start | None = None
    """Where training starts; None if nobody asked, since a check had failed before."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "checks": [check.plain() for check in self.checks],
            "plan": self.plan,
            "click_model_notes": [] if self.choice is None else self.choice.sentences,
            "click_model_choice": None if self.choice is None else self.choice.plain(),
            "start": None if self.start is None else self.start.plain(stays=self.plan == "stay"),
        }


def fit_click_model(
    experiment: Experiment, clicks: Clicks
) -> tuple[Experiment, ModelChoice | None]:
    """The experiment with the click model that its training clicks support, where none is named.

    If no model can be fitted, examination 1/k stands in for it, and the checks say so.

    Args:
        experiment: whose click model may be ``auto``.
        clicks: by split; only the training clicks are looked at.
    """
    if experiment.config.click_model.name != AUTO:
        return experiment, None
    experiment.progress.stage("click model")
    train = cut_clicks(clicks, experiment.config.top_k)["train"]
    choice = choose_click_model(train, seed=seed_for(experiment.config.seed, "held-out"))
    reward = build("reward", experiment.config.reward)
    components = experiment.components.replace(
        click_model=choice.model or PositionBased(),
        reward=reward,
        estimator=build("estimator", experiment.config.estimator, reward=reward),
    )
    return experiment.but(components=components), choice


def take_precautions(
    experiment: Experiment, rewards: Mapping[str, Rewards], choice: ModelChoice | None
) -> Precautions:
    """Examine the clicks, and plan what to do.

    Args:
        experiment: with its click model.
        rewards: of training and validation clicks.
        choice: of :func:`fit_click_model`.
    """
    if experiment.config.on_doubt == "ignore":
        return Precautions(choice=choice)
    experiment.progress.stage("health checks")
    checks, start = _checks(experiment, rewards, choice), None
    guarantee, on_doubt = experiment.components.estimator.guarantee, experiment.config.on_doubt
    if plan_training(worst(checks), on_doubt, guarantee) != "stay":
        start = examine_start(experiment, rewards)
        checks.append(start.check)
    plan = plan_training(worst(checks), on_doubt, guarantee)
    return Precautions(tuple(checks), plan, choice, start)


def _checks(
    experiment: Experiment, rewards: Mapping[str, Rewards], choice: ModelChoice | None
) -> list[HealthCheck]:
    statistics = rewards["train"].statistics
    model, reward = experiment.components.click_model, experiment.components.reward
    assert statistics is not None
    if choice is not None and choice.model is None:
        return no_model(choice.sentences[0], statistics)
    if "judgements" in reward.assumes:
        return [check_clicks(statistics)]
    if "click model" not in reward.assumes:
        return [check_clicks(statistics), untested_reward(reward.name)]
    if affine_of(model, experiment.config.top_k) is None:
        sentence = f"The click model '{model.name}' is not affine, so it was not tested."
        untested = HealthCheck("click model", "inconclusive", None, sentence)
        return [check_clicks(statistics), untested]
    return examine(model, rewards, seed=seed_for(experiment.config.seed, "held-out"))
