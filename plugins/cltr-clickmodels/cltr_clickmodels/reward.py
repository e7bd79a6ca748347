r"""The click-model reward: relevance as the assumed click model sees it."""

import numpy as np

from cltr.errors import UnsupportedError
from cltr.interfaces import ClickModel, RewardFunction
from cltr.types import Affine, ClickData, Floats

STEPS = 100


class ClickModelReward(RewardFunction):
    r"""The relevance that makes the clicks most likely under the assumed click model.

    :math:`\mu_d` maximises :math:`\sum_k c_{dk} \log(\alpha_k \mu + \beta_k) +
    (n_{dk} - c_{dk}) \log(1 - \alpha_k \mu - \beta_k)` over [0, 1]; 0 if never shown.
    """

    name = "click-model"

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        del seed
        self._affine = click_model.affine(data.statistics.top_k)

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        del propensity_clip
        if not hasattr(self, "_affine"):
            raise UnsupportedError(f"reward '{self.name}' knows no click model yet; call fit first")
        return _likeliest(data, self._affine)


def _likeliest(data: ClickData, affine: Affine) -> Floats:
    """EM over whether each impression was relevant; the click probabilities stay."""
    clicks, impressions = data.statistics.clicks, data.statistics.impressions
    relevant = np.clip(affine.examination + affine.trust, 1e-9, 1 - 1e-9)
    irrelevant = np.clip(affine.trust, 1e-9, 1 - 1e-9)
    shown = np.maximum(impressions.sum(-1), 1)
    relevance = np.full(len(clicks), 0.5)
    for _ in range(STEPS):
        odds = relevance[:, None]
        clicked = odds * relevant / (odds * relevant + (1 - odds) * irrelevant)
        skipped = odds * (1 - relevant) / (odds * (1 - relevant) + (1 - odds) * (1 - irrelevant))
        expected = clicks * clicked + (impressions - clicks) * skipped
        relevance = expected.sum(-1) / shown
    return relevance
