"""Which policy production is taken to be, where training starts, and how far apart the two are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cltr.checks.repetition import deterministic_share
from cltr.evaluation.certificate import worst_case
from cltr.evaluation.off_policy import off_policy_values
from cltr.experiment.experiment import Experiment
from cltr.experiment.initial_model import start_model
from cltr.experiment.seeds import seed_for
from cltr.health.outcome import HealthCheck
from cltr.health.production import MOSTLY_FIXED
from cltr.looks import POINT
from cltr.types import Rewards

SOURCES = {
    "exact": "Production samples rankings from its scores (Plackett-Luce)",
    "logged": "Production is known by its logged propensities",
    "counted": "Production is known by what the log counted",
}
"""Which policy production is, by how its exposure is known."""


@dataclass(frozen=True)
class Start:
    """Where training starts."""

    production: str
    """Which policy production is taken to be, in a sentence."""
    sentence: str
    """Where training starts, and how far from production at worst."""
    loss: float
    """Points of NDCG, as a share, by which the start may be worse, whatever users find relevant."""
    check: HealthCheck

    def plain(self, *, stays: bool) -> dict[str, Any]:
        """For JSON; a run that stays with production starts nowhere."""
        told = {"production": self.production}
        return told if stays else {**told, "sentence": self.sentence, "worst_case_loss": self.loss}


def examine_start(experiment: Experiment, rewards: Mapping[str, Rewards]) -> Start:
    """Measure the start, where it cannot be production itself.

    Args:
        experiment: with its click model.
        rewards: of training and validation clicks.
    """
    told = _production(rewards["train"])
    way, exact = _way(experiment)
    if exact:
        sentence = f"Training starts at production itself: {way}."
        return Start(told, sentence, 0.0, HealthCheck("start", "pass", 0.0, sentence))
    loss, gain = _measure(experiment, rewards)
    sentence = (
        f"Training starts at {way}. NDCG@{experiment.config.top_k} of this start is at most "
        f"{100 * loss:.1f} points below production's ({POINT}), whatever users find relevant."
    )
    return Start(told, sentence, loss, _check(loss, gain, sentence))


def _production(train: Rewards) -> str:
    source = train.exposure.source
    told = SOURCES[source]
    assert train.statistics is not None
    fixed = deterministic_share(train.statistics)
    if source != "exact" and fixed > MOSTLY_FIXED:
        told += (
            f". It is taken to be deterministic: {fixed:.0%} of the interactions are with queries "
            "that almost always got the same list. Training needs a policy that samples, so it "
            "cannot start at production itself"
        )
    return f"{told}."


def _way(experiment: Experiment) -> tuple[str, bool]:
    """Where training starts, and whether that is production itself."""
    production, scorer = experiment.production, experiment.components.scorer
    if experiment.config.init == "random":
        return "random weights, as --init random asks", False
    if production.model is not None and production.scorer == scorer.name:
        return "a copy of its network", True
    if production.rank_distribution is None:
        return "its scores, to which the model adds 0 at first", True
    if production.scores is not None:
        return (
            "rankings that are sampled from production's scores, scaled so that they come closest "
            "to what was shown",
            False,
        )
    return "a model that was fitted to show what production showed", False


def _measure(
    experiment: Experiment, rewards: Mapping[str, Rewards]
) -> tuple[float, Mapping[str, Any]]:
    """The worst-case loss of the start on training queries, and its gain by validation clicks."""
    config, valid = experiment.config, rewards["valid"]
    model = start_model(
        config, experiment.dataset, experiment.production, experiment.components.scorer
    )
    served = experiment.serve(model)
    worst = worst_case(
        served["train"],
        experiment.reported_weights["dcg"],
        metric="dcg",
        basis=experiment.bases(rewards)["train"],
    )
    values = off_policy_values(
        served[valid.split],
        valid,
        experiment.rank_weights,
        click_model=experiment.corrected_for,
        trained_on=rewards["train"],
        seed=seed_for(config.seed, "held-out"),
    )
    return float(worst[f"ndcg@{config.top_k}"]["loss"]), values["difference"]


def _check(loss: float, gain: Mapping[str, Any], sentence: str) -> HealthCheck:
    """Inconclusive where clicks say surely that the start is worse than production."""
    high = gain.get("high")
    if high is None or high >= 0:
        return HealthCheck("start", "pass", loss, sentence)
    return HealthCheck(
        "start",
        "inconclusive",
        loss,
        f"The start is worse than production by validation clicks: {gain['value']:+.4f} DCG a "
        f"request (95% interval {gain['low']:+.4f} to {high:+.4f}).",
        "Give production's scores of all documents (--production).",
    )
