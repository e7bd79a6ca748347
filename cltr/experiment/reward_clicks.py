"""Relevance estimates from the clicks of each part of a log."""

from collections.abc import Mapping

from cltr.errors import CltrError
from cltr.experiment.components import Components
from cltr.experiment.config import RunConfig
from cltr.experiment.seeds import seed_for
from cltr.types import ClickData, Rewards


def reward_clicks(
    config: RunConfig, components: Components, data: Mapping[str, ClickData]
) -> dict[str, Rewards]:
    """Fit the reward to the training clicks, and estimate relevance on every part.

    Propensities are clipped on training clicks alone. A reward may know nothing of queries that it
    was not fitted to: then there are no estimates for the test part.

    Args:
        config: of the run.
        components: of the run.
        data: clicks and exposure by part of the log.
    """
    reward, train = components.reward, data["train"]
    reward.fit(train, components.click_model, seed=seed_for(config.seed, "reward"))
    limit = min(1.0, config.propensity_clip(train.statistics.n_interactions))
    rewards = {}
    for split, part in data.items():
        try:
            values = reward.mu(part, propensity_clip=limit if split == "train" else 0.0)
        except CltrError:
            if split != "test":
                raise
            continue
        shares = part.statistics.query_weights
        rewards[split] = Rewards(
            part.dataset, values, part.exposure, shares, reward.name, part.statistics, split
        )
    return rewards
