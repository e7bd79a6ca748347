"""Click models that read down the list, and the reward that a click model gives."""

from typing import Any

from cltr.hookspecs import hookimpl


@hookimpl
def cltr_click_models() -> list[type[Any]]:
    """Offer the models by name: ``--click-model cascade``, ``--users cascade``."""
    from cltr_clickmodels.cascade import Cascade

    return [Cascade]


@hookimpl
def cltr_rewards() -> list[type[Any]]:
    """Offer the reward by name: ``--reward click-model``."""
    from cltr_clickmodels.reward import ClickModelReward

    return [ClickModelReward]
