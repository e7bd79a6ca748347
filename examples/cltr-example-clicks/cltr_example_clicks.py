"""A third-party plugin for cltr: one click model, one reward, one module."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cltr.hookspecs import hookimpl
from cltr.interfaces import ClickModel, RewardFunction
from cltr.options import Options
from cltr.types import Affine, ClickData, Floats


class DeviceBias(ClickModel):
    r"""Position bias that depends on the device: phones show less at a time.

    .. math:: P(C=1 | d, k, \text{device}) = k^{-\eta_\text{device}} R_d

    The device is a context column of the log. Corrections use the average over devices.
    """

    name = "device-bias"

    class Options(Options):
        """Bias by device, and who comes with which."""

        desktop: float = Field(0.5, ge=0, description="eta on desktops; larger is more bias.")
        phone: float = Field(2.0, ge=0, description="eta on phones; larger is more bias.")
        phones: float = Field(0.6, ge=0, le=1, description="share of the users who have a phone.")

    options: "DeviceBias.Options"

    def draw_context(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"device": np.where(rng.random(n) < self.options.phones, "phone", "desktop")}

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        eta = np.where(context["device"] == "phone", self.options.phone, self.options.desktop)
        ranks = np.arange(1, relevance.shape[-1] + 1)
        return np.where(np.isnan(relevance), 0.0, ranks ** -eta[:, None] * relevance)

    def affine(self, top_k: int) -> Affine:
        ranks = np.arange(1, top_k + 1)
        phones = self.options.phones
        examination = phones * ranks**-self.options.phone
        examination = examination + (1 - phones) * ranks**-self.options.desktop
        return Affine(examination, np.zeros(top_k))


class Smoothed(RewardFunction):
    r"""Clicks over examination, pulled towards a prior while a document has few displays.

    .. math:: \mu_d = \frac{\sum_i (c_i - \beta_{k_i}) + s\,m}{\sum_i \alpha_{k_i} + s}

    with strength s and prior mean m, the mean over all documents shown.
    """

    name = "smoothed"

    class Options(Options):
        """The prior."""

        strength: float = Field(
            5.0, gt=0, description="displays that the prior is worth; larger trusts clicks less."
        )

    options: "Smoothed.Options"

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        del seed
        self.affine = click_model.affine(data.statistics.top_k)
        corrected, examined = self._totals(data)
        self.prior = corrected.sum() / max(examined.sum(), 1.0)

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        del propensity_clip
        corrected, examined = self._totals(data)
        strength = self.options.strength
        return np.asarray((corrected + strength * self.prior) / (examined + strength))

    def _totals(self, data: ClickData) -> tuple[Floats, Floats]:
        examination, trust = self.affine
        impressions = data.statistics.impressions
        corrected = data.statistics.clicks.sum(-1) - impressions @ trust
        return corrected, impressions @ examination


@hookimpl
def cltr_click_models() -> list[type[Any]]:
    """Offer ``--click-model device-bias`` and ``--users device-bias``."""
    return [DeviceBias]


@hookimpl
def cltr_rewards() -> list[type[Any]]:
    """Offer ``--reward smoothed``."""
    return [Smoothed]
