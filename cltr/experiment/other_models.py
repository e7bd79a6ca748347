"""Does the sign of the gain depend on the click model?

The gain of a policy is estimated under an assumed click model. Here the affine click models that
can be fitted to counts are fitted to the training clicks, and the same gain is estimated with each
of them, on the same test clicks. If the sign differs between them, the log does not tell whether
the policy is better.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cltr.clicks.choose_model import AFFINE
from cltr.errors import CltrError
from cltr.evaluation.gain_bounds import estimated_gain, gain_upper
from cltr.evaluation.off_policy import off_policy_values
from cltr.evaluation.part import Fold, Weights
from cltr.experiment.components import Components, build
from cltr.experiment.config import AUTO
from cltr.experiment.experiment import Clicks, Experiment
from cltr.experiment.outcome import Outcome
from cltr.experiment.run_log import cut_clicks
from cltr.experiment.seeds import seed_for
from cltr.health.outcome import HealthCheck
from cltr.interfaces import ClickModel
from cltr.training.threads import by_threads
from cltr.types import ClickData, Rewards


def gains_by_model(
    experiment: Experiment, outcome: Outcome, clicks: Clicks
) -> list[dict[str, Any]]:
    """The gain on test clicks under each click model that can be fitted to the training clicks.

    A model that did not converge, or cannot be fitted, is left out.

    Args:
        experiment: of the run.
        outcome: what was learned, what is served, and the clicks that its value rests on.
        clicks: of the run, by split.
    """
    experiment.progress.stage("other click models")
    reported = outcome.rewards.get("test", outcome.rewards["valid"])
    own = experiment.components.click_model
    models = list(_fitted(experiment, cut_clicks(clicks, experiment.config.top_k)))
    others = [model for model in models if model is not own]
    under = [(own, reported)] if own in models else []
    under += _rewards_under(others, experiment, reported, clicks)
    found = []
    for click_model, rewards in sorted(under, key=lambda one: models.index(one[0])):
        values = off_policy_values(
            outcome.served[reported.split],
            rewards,
            experiment.rank_weights,
            click_model=click_model,
            trained_on=outcome.rewards["train"],
            seed=seed_for(experiment.config.seed, "held-out"),
        )
        found.append({"click_model": f"{click_model.name}, fitted", **values["difference"]})
    return found


def _rewards_under(
    models: Sequence[ClickModel], experiment: Experiment, reported: Rewards, clicks: Clicks
) -> Iterator[tuple[ClickModel, Rewards]]:
    """What the reported clicks say under other click models; of other clicks nobody asks.

    A click model that the reward cannot use is left out.
    """
    needed = {split: clicks[split] for split in ("train", reported.split)}
    seen = [experiment.but(components=_with(model, experiment)) for model in models]
    data = [other.observe(needed) for other in seen]
    at_once = by_threads if experiment.components.reward.fits_in_threads else map
    can_use = at_once(_fit_reward, list(zip(seen, data, strict=True)))
    for other, parts, usable in zip(seen, data, can_use, strict=True):
        part = parts[reported.split]
        try:
            values = other.components.reward.mu(part) if usable else None
        except CltrError:
            continue
        if values is not None:
            rewards = replace(reported, values=values, exposure=part.exposure)
            yield other.components.click_model, rewards


def _with(click_model: ClickModel, experiment: Experiment) -> Components:
    """The components with another click model, and with a reward that is not fitted yet."""
    reward = build("reward", experiment.config.reward)
    return experiment.components.replace(click_model=click_model, reward=reward)


def _fit_reward(given: tuple[Experiment, Mapping[str, ClickData]]) -> bool:
    """Fit the reward to the training clicks; whether it can use the click model."""
    other, data = given
    seed = seed_for(other.config.seed, "reward")
    try:
        other.components.reward.fit(data["train"], other.components.click_model, seed=seed)
    except CltrError:
        return False
    return True


def candidate_gains_by_model(
    others: Mapping[str, Sequence[Fold]],
    all_weights: Sequence[Weights],
    *,
    confidence: float,
    seed: int,
) -> list[dict[str, Any]]:
    """The gain of a candidate under other click models, and upper bounds of those below 0.

    Args:
        others: folds of the same clicks, by click model.
        all_weights: of candidate and production, fold by fold.
        confidence: of each upper bound, one-sided.
        seed: of the shuffle of the interactions.
    """
    found = []
    for name, folds in others.items():
        under = [replace(one, fold=fold) for one, fold in zip(all_weights, folds, strict=True)]
        value = estimated_gain(under).value
        high = gain_upper(under, confidence=confidence, seed=seed) if value < 0 else None
        known = high is not None and high.no_bound_because is None
        bound = high.bound if high is not None and known else None
        found.append({"click_model": name, "value": value, "high": bound})
    return found


def _fitted(experiment: Experiment, clicks: Clicks) -> Iterator[ClickModel]:
    """Affine click models whose fit to the training clicks has converged.

    The run's own is one of them, and not fitted again, if it was chosen by such fits.
    """
    own, chosen = experiment.components.click_model, experiment.config.click_model.name == AUTO
    for kind in AFFINE:
        if chosen and type(own) is kind and own.fitted is not None:
            yield own
            continue
        model = kind()
        try:
            parameters = model.fit(clicks["train"], experiment.logging["train"].dataset)
        except CltrError:
            continue
        if parameters.convergence.converged:
            yield model


def check_sign(
    assumed: str, difference: Mapping[str, Any], others: list[dict[str, Any]]
) -> HealthCheck:
    """Whether fitted click models agree with that of the run on the sign of the gain.

    Args:
        assumed: the click model of the run.
        difference: the gain under it.
        others: of :func:`gains_by_model`, at least one.

    Example:
        >>> other = {"click_model": "pbm, fitted", "value": -0.1, "high": -0.05}
        >>> check_sign("trust-bias", {"value": 0.3}, [other]).outcome
        'fail'
    """
    told = "; ".join(f"{one['value']:+.4f} with '{one['click_model']}'" for one in others)
    gain = f"{difference['value']:+.4f} with the click model '{assumed}'"
    apart = [one for one in others if one["value"] * difference["value"] < 0]
    least = min(one["value"] for one in others)
    if not apart:
        sentence = f"Fitted click models agree on the sign of the gain: {gain}, {told}."
        return HealthCheck("sign of the gain", "pass", least, sentence)
    surely = any((one.get("high") or 0.0) < 0 for one in apart)
    return HealthCheck(
        "sign of the gain",
        "fail" if surely else "inconclusive",
        least,
        "The log does not tell whether the new policy is better: the estimated gain is "
        f"{gain}, but {told}.",
    )
