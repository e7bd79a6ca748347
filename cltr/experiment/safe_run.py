"""A run with its precautions: fit, check, learn as the checks allow, look again, decide."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from cltr.evaluation.verdict import Verdict
from cltr.experiment.alerts import misfit_of
from cltr.experiment.decide import decide
from cltr.experiment.experiment import Clicks, Experiment
from cltr.experiment.other_models import check_sign, gains_by_model
from cltr.experiment.outcome import Outcome
from cltr.experiment.precautions import Precautions, fit_click_model, take_precautions
from cltr.health.effective import check_policy_sample
from cltr.health.outcome import HealthCheck, worst
from cltr.training.loop import TrainingState


@dataclass(frozen=True)
class SafeRun:
    """What a run gives, and what to do with it."""

    experiment: Experiment
    """With its click model."""
    precautions: Precautions
    outcome: Outcome
    verdict: Verdict
    others: tuple[dict[str, Any], ...] = ()
    """The gain under other click models."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "other_click_models": list(self.others),
            **self.precautions.plain(),
            **self.outcome.judged,
            "verdict": self.verdict.decision,
            "advice": self.verdict.plain(),
        }


def run_safely(
    experiment: Experiment,
    clicks: Clicks,
    *,
    skyline: bool = False,
    state: TrainingState | None = None,
    on_epoch: Callable[[TrainingState], None] = lambda state: None,
) -> SafeRun:
    """From clicks to a policy and a verdict; production is the policy where the checks fail.

    Args:
        experiment: whose click model may be ``auto``.
        clicks: by split.
        skyline: whether to train on true labels for comparison.
        state: resume training from here.
        on_epoch: called after the start and after every epoch.
    """
    experiment, choice = fit_click_model(experiment, clicks)
    rewards = experiment.reward(clicks)
    taken = take_precautions(experiment, rewards, choice)
    outcome = experiment.but(plan=taken.plan).run(
        clicks, rewards=rewards, skyline=skyline, state=state, on_epoch=on_epoch
    )
    others = _other_gains(experiment, clicks, taken, outcome)
    taken, outcome = _look_again(experiment, taken, outcome, others)
    top_k = experiment.config.top_k
    verdict = decide(outcome.judged, taken.checks, stayed=taken.plan == "stay", top_k=top_k)
    return SafeRun(experiment, taken, outcome, verdict, tuple(others))


def _other_gains(
    experiment: Experiment, clicks: Clicks, taken: Precautions, outcome: Outcome
) -> list[dict[str, Any]]:
    """The gain under other click models, where it can be wrong under that of the run."""
    config, components = experiment.config, experiment.components
    if taken.plan == "stay" or "click model" not in components.reward.assumes:
        return []
    misfit = misfit_of(components, outcome.rewards)
    if config.log or config.on_doubt != "ignore" or (misfit and misfit["rejected"]):
        return gains_by_model(experiment, outcome, clicks)
    return []


def _look_again(
    experiment: Experiment, taken: Precautions, outcome: Outcome, others: list[dict[str, Any]]
) -> tuple[Precautions, Outcome]:
    """Keep production where other click models say surely that the policy is worse."""
    later = list(_later_checks(experiment, taken, outcome, others))
    taken = replace(taken, checks=(*taken.checks, *later))
    if worst(later) != "fail" or experiment.config.on_doubt != "stay":
        return taken, outcome
    kept = experiment.but(plan="stay").learn(outcome.rewards)
    served = experiment.serve(kept.model)
    judged = experiment.judge(served, rewards=outcome.rewards)
    skyline = outcome.judged.get("metrics", {}).get("skyline")
    if skyline is not None:
        judged["metrics"]["skyline"] = skyline
    return replace(taken, plan="stay"), Outcome(kept, outcome.rewards, judged, served)


def _later_checks(
    experiment: Experiment, taken: Precautions, outcome: Outcome, others: list[dict[str, Any]]
) -> Iterator[HealthCheck]:
    """What is asked about a learned policy."""
    found, reward = outcome.judged["off_policy"], experiment.components.reward
    clicks = found["equal_clicks"]
    if taken.checks and taken.plan != "stay" and "click model" in reward.assumes and clicks:
        yield check_policy_sample(clicks)
    if others:
        name = experiment.components.click_model.name
        yield check_sign(name, found["difference"], others)
