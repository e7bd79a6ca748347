"""Conformance of rewards."""

from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.interfaces import ClickModel, RewardFunction
from cltr.testing.demands import check_component, demand, demand_floats, unchanged
from cltr.testing.tiny_data import tiny_clicks
from cltr.types import ClickData, Floats


def check_reward(
    reward: RewardFunction, click_model: ClickModel | None = None, *, uses_labels: bool = False
) -> None:
    """One finite number per document, from clicks alone, higher with more clicks.

    Args:
        reward: the reward.
        click_model: that it is fitted with; one with position and trust bias by default.
        uses_labels: whether it is meant to look at true labels, and not at clicks.
    """
    check_component(reward)
    model = click_model or TrustBias()
    data = tiny_clicks(model)
    with _untouched(data):
        values = _mu(reward, data, model)
        unclipped = reward.mu(data)
    demand(isinstance(values, np.ndarray), f"mu is {type(values).__name__}, not an array")
    demand(values.shape == (data.dataset.n_documents,), "mu is not one number per document")
    demand_floats(values, (data.dataset.n_documents,), "mu")
    demand(bool(np.isfinite(unclipped).all()), "mu is not finite without propensity clip")
    other = tiny_clicks(model, seed=5)
    demand(
        reward.mu(other).shape == (other.dataset.n_documents,),
        "mu does not work on other queries than those it was fitted on",
    )
    nothing = tiny_clicks(model, n=1)
    demand(bool(np.isfinite(reward.mu(nothing)).all()), "mu is not finite where nothing was shown")
    demand(np.array_equal(values, _mu(reward, data, model)), "the same seed gives another mu")
    if not uses_labels:
        _check_clicks_decide(reward, data, model)
    if "propensities" in reward.assumes:
        demand(
            not np.array_equal(reward.mu(data), reward.mu(data, propensity_clip=1.0)),
            "it assumes propensities, but propensity_clip changes nothing",
        )


def _mu(reward: RewardFunction, data: ClickData, model: ClickModel) -> Floats:
    reward.fit(data, model, seed=3)
    return reward.mu(data, propensity_clip=0.1)


def _untouched(data: ClickData) -> AbstractContextManager[None]:
    statistics, exposure = data.statistics, data.exposure
    return unchanged(
        clicks=statistics.clicks,
        impressions=statistics.impressions,
        weights=exposure.weights,
        propensities=exposure.propensities,
        features=data.dataset.features,
        labels=data.dataset.labels,
    )


def _check_clicks_decide(reward: RewardFunction, data: ClickData, model: ClickModel) -> None:
    """Without labels it is the same, and more clicks are more reward."""
    hidden = replace(data, dataset=replace(data.dataset, labels=data.dataset.labels * np.nan))
    values = _mu(reward, data, model)
    demand(
        np.array_equal(values, _mu(reward, hidden, model)),
        "it looks at labels, which real logs do not have",
    )
    impressions = data.statistics.impressions
    shown = impressions.sum(-1) > 0
    some = np.arange(len(impressions)) % 2 == 0
    by_clicks = []
    for clicked in (some, ~some):
        clicks = impressions * clicked[:, None]
        changed = replace(data, statistics=replace(data.statistics, clicks=clicks))
        by_clicks.append(_mu(reward, changed, model))
    rise = np.where(some, by_clicks[0] - by_clicks[1], by_clicks[1] - by_clicks[0])[shown]
    demand(
        bool(rise.mean() > 0),
        "documents that are always clicked get less reward than if they were never clicked: the "
        "sign is wrong, or clicks are not used",
    )
