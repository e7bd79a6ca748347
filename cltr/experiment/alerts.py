"""What a result must say first: what cannot be true, and what the clicks contradict.

Every sentence is built from declared guarantees and from numbers of this run.
"""

from collections.abc import Mapping
from typing import Any

from cltr.clicks.misfit import judge_clicks
from cltr.evaluation.advice import impossible_values, limit_sentence, worse_than_production
from cltr.experiment.components import Components
from cltr.types import Rewards


def alerts_of(rewards: Mapping[str, Rewards], judged: Mapping[str, Any]) -> list[str]:
    """What cannot be true of the estimates, and whether held-out clicks are against the policy.

    Args:
        rewards: of the run.
        judged: of :meth:`cltr.experiment.experiment.Experiment.judge`.
    """
    off_policy = judged.get("off_policy")
    means = {split: _mean_shown(part) for split, part in rewards.items()}
    return [*impossible_values(off_policy, means), *worse_than_production(off_policy)]


def _mean_shown(rewards: Rewards) -> float:
    """Mean reward over impressions."""
    if rewards.statistics is None:
        return 0.0
    shown = rewards.statistics.impressions.sum(-1)
    return float(shown @ rewards.values / max(shown.sum(), 1)) if shown.any() else 0.0


def misfit_of(components: Components, rewards: Mapping[str, Rewards]) -> dict[str, Any] | None:
    """What validation clicks say of the click model; None if the reward does not rely on it.

    Args:
        components: of the run.
        rewards: the validation clicks are asked.
    """
    held_out = rewards["valid"].statistics
    if "click model" not in components.reward.assumes or held_out is None:
        return None
    verdict = judge_clicks(components.click_model, held_out)
    if verdict is None:
        return None
    return {
        "tested": verdict.tested,
        "rejected": verdict.rejected,
        "p_value": verdict.p_value,
        "size": verdict.size,
        "standard_error": verdict.standard_error,
        "finding": str(verdict) if verdict.tested else verdict.finding,
    }


def warnings_of(
    components: Components,
    misfit: Mapping[str, Any] | None,
    certificate: Mapping[str, Any],
    *,
    log: str = "",
) -> list[str]:
    """A sentence if held-out clicks contradict the click model that the reward relies on.

    Args:
        components: of the run.
        misfit: of :func:`misfit_of`.
        certificate: of what is served now.
        log: the log of the run; empty if clicks were simulated.
    """
    model, reward, estimator = components.click_model, components.reward, components.estimator
    if misfit is None:
        return []
    if not misfit["tested"]:
        return [f"The clicks did not test the click model '{model.name}': {misfit['finding']}."]
    if not misfit["rejected"]:
        return []
    limit = limit_sentence(estimator.guarantee, estimator.name, certificate)
    remedy = (
        f"Fit a click model to this log: cltr fit --log {log}"
        if log
        else "Choose a click model that describes these users (--click-model)."
    )
    return [
        f"The clicks contradict the click model '{model.name}', on which the reward "
        f"'{reward.name}' relies: {misfit['finding']}. {limit} {remedy}"
    ]
