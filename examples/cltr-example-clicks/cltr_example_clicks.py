"""A third-party plugin for cltr: one click model, one reward, one module."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cltr.clicks.affine_fit import fit_cells, infer_cells
from cltr.clicks.counts import CellCounts
from cltr.clicks.fit_tools import FitOptions, Parameters
from cltr.errors import DataError
from cltr.hookspecs import hookimpl
from cltr.interfaces import ClickModel, Fittable, RewardFunction
from cltr.options import Options
from cltr.types import Affine, ClickData, ClickLog, Dataset, Floats, Integers


class DeviceBias(Fittable):
    r"""Position bias that depends on the device: phones show less at a time.

    .. math:: P(C=1 | d, k, \text{device}) = k^{-\eta_\text{device}} R_d

    The device is a context column of the log. Corrections use the average over devices.

    *Fit.* Given the device it is a position-based model, so it is fitted by the same EM on counts
    by document, rank and device: examination is then free at every rank, for each device.
    """

    name = "device-bias"

    class Options(FitOptions):
        """Bias by device, and who comes with which."""

        desktop: float = Field(0.5, ge=0, description="eta on desktops; larger is more bias.")
        phone: float = Field(2.0, ge=0, description="eta on phones; larger is more bias.")
        phones: float = Field(0.6, ge=0, le=1, description="share of the users who have a phone.")

    options: "DeviceBias.Options"
    needs_sessions = True  # counts by rank do not say which device

    def draw_context(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"device": np.where(rng.random(n) < self.options.phones, "phone", "desktop")}

    def examination(self, top_k: int) -> Floats:
        """On desktops and on phones, ``[K, 2]``: fitted, or else a power law."""
        if self.fitted is not None:
            return self.fitted.shared["examination"].reshape(-1, 2)[:top_k]
        ranks = np.arange(1, top_k + 1)
        return np.stack([ranks**-self.options.desktop, ranks**-self.options.phone], axis=1)

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        examination = self.examination(relevance.shape[-1]).T[_on_phone(context)]
        return np.where(np.isnan(relevance), 0.0, examination * relevance)

    def affine(self, top_k: int) -> Affine:
        shares = np.array([1 - self.options.phones, self.options.phones])
        return Affine(self.examination(top_k) @ shares, np.zeros(top_k))

    def count(self, chunk: ClickLog, offsets: Integers) -> CellCounts:
        n_cells = 2 * chunk.top_k
        cells = 2 * np.arange(chunk.top_k) + _on_phone(chunk.context)[:, None]
        shown = chunk.documents >= 0
        keys = (n_cells * chunk.documents + cells)[shown]
        return CellCounts.of_keys(keys, chunk.clicks[shown], n_cells, offsets=offsets)

    def fit(self, counts: CellCounts, dataset: Dataset | None = None) -> Parameters:
        ranks = 1 + np.arange(counts.n_cells) // 2
        start = Affine(0.9 / ranks, np.zeros(counts.n_cells))  # EM never leaves a start at 1
        self.fitted = fit_cells(counts, start, self.options, dataset)
        return self.fitted

    def infer(self, counts: CellCounts, dataset: Dataset | None = None) -> Floats:
        del dataset
        examination = self.examination(counts.n_cells // 2).ravel()
        affine = Affine(examination, np.zeros(counts.n_cells))
        return infer_cells(counts, affine, self.options, self.fitted)


def _on_phone(context: Mapping[str, NDArray[Any]]) -> Integers:
    """1 where the device is a phone, else 0, ``[interactions]``."""
    if "device" not in context:
        raise DataError("the log has no column 'device'; ingest it with --context-column device")
    phones: Integers = (context["device"] == "phone").astype(np.int64)
    return phones


class Smoothed(RewardFunction):
    r"""Clicks over examination, pulled towards a prior while a document has few displays.

    .. math:: \mu_d = \frac{\sum_i (c_i - \beta_{k_i}) + s\,m}{\sum_i \alpha_{k_i} + s}

    with strength s and prior mean m, the mean over all documents shown.
    """

    name = "smoothed"
    assumes = frozenset({"click model"})

    class Options(Options):
        """The prior."""

        strength: float = Field(
            5.0, gt=0, description="displays that the prior is worth; larger trusts clicks less."
        )

    options: "Smoothed.Options"

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        del seed
        self.affine = click_model.require_affine(data.statistics.top_k)
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
