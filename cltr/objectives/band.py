r"""PRPO's enforced sister: a band that holds on every query, by mixing with production."""

from typing import Any

import numpy as np
from pydantic import Field

from cltr.interfaces import Enforced
from cltr.objectives.ratios import ratio_extremes
from cltr.objectives.weight_band import BandOptions, Proximal
from cltr.schedules import Schedule, ScheduleOption
from cltr.types import Floats, Lists

MARGIN = 1e-9
"""What is served keeps this share more of production than the bound asks for: rounding is less."""


class Band(Proximal, Enforced):
    r"""The plain estimator, mixed with production so that served rankings keep a bound.

    .. math:: \text{gain} = \mu\,\omega - p\,(\epsilon_-\omega_0 - \omega)_+

    The penalty keeps the trained policy near the band. The bound itself comes from the mixture
    :math:`(1-\lambda_q)\pi_0 + \lambda_q\pi` with

    .. math:: \lambda_q = \min\Big(1, \frac{1-\epsilon_-}{1-\min_d \omega/\omega_0}\Big).

    So :math:`\omega \ge \epsilon_-\omega_0` for every document of every query that production can
    score, and :math:`U(\pi) \ge \epsilon_- U(\pi_0)` whatever is relevant. That bound needs no
    limit on how far a document rises. With ``box`` there is one, :math:`\epsilon_+`: then the gain
    is less :math:`p\,(\omega - \epsilon_+\omega_0)_+`, and :math:`\lambda_q` is at most
    :math:`(\epsilon_+ - 1)/(\max_d \omega/\omega_0 - 1)`. Weights are exact up to a relative
    error, so this also holds for documents that production hardly ever shows; in a box one that it
    never shows (:math:`\omega_0 = 0`) is not shown at all.
    """

    name = "band"

    class Options(BandOptions):
        """Band and price."""

        clip: ScheduleOption = Field(
            Schedule("0.5"),
            description="lower bound on the weight ratio, and with box 1/clip as the upper one; a "
            "number in (0, 1] or a schedule such as 100/N. Larger is safer, smaller "
            "learns more.",
        )
        box: bool | None = Field(
            None,
            description="also enforce an upper bound; the guarantee needs only the lower one. "
            "[no, unless high is given]",
        )
        price: float | None = Field(
            None,
            ge=0,
            allow_inf_nan=False,
            description="penalty for leaving the band in training, in units of reward; larger stays"
            " nearer to it and needs less mixing. [1 in a box, else 0]",
        )

        @property
        def boxed(self) -> bool:
            """Whether there is an upper bound."""
            return self.high is not None if self.box is None else self.box

    options: "Band.Options"

    def _set_band(self, n_interactions: int, n_queries: int) -> None:
        super()._set_band(n_interactions, n_queries)
        if not self.options.boxed:
            self.high = np.inf

    @property
    def price(self) -> float:
        """Penalty for leaving the band, per unit of weight."""
        given = self.options.price
        return (1.0 if self.options.boxed else 0.0) if given is None else given

    def gain(self, weights: Any, logging_weights: Any, rewards: Any) -> Any:
        away = (self.low * logging_weights - weights).clip(min=0)
        if np.isfinite(self.high):
            away = away + (weights - self.high * logging_weights).clip(min=0)
        return weights * rewards - self.price * away

    def kinks(self, logging_weights: Floats, rewards: Floats) -> Floats:
        del rewards
        bounds = [bound for bound in (self.low, self.high) if np.isfinite(bound)]
        found: Floats = logging_weights[:, None] * np.array(bounds)
        return found

    def slope(self, weights: Floats, logging_weights: Floats, rewards: Floats) -> Floats:
        r""":math:`\mu`, minus the price above the band, plus the price below it."""
        over = self.above(weights, logging_weights) > 0
        under = self.below(weights, logging_weights) > 0
        slope: Floats = rewards - self.price * (over.astype(np.float64) - under)
        return slope

    def served_share(self, weights: Floats, logging_weights: Floats, lists: Lists) -> Floats:
        lowest, highest = ratio_extremes(weights, logging_weights, lists)
        whole = np.ones(len(lowest))
        for_low = np.divide(1 - self.low, 1 - lowest, out=whole.copy(), where=lowest < self.low)
        for_high = np.divide(self.high - 1, highest - 1, out=whole, where=highest > self.high)
        share = np.minimum(for_low, for_high)
        return np.where(share < 1, share * (1 - MARGIN), share)
