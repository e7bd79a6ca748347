r"""The band around the logging policy that PRPO and its enforced sister share.

A document is inside while :math:`\epsilon_-\omega_0 \le \omega \le \epsilon_+\omega_0`.
"""

from typing import Annotated, Any, Self

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, field_validator, model_validator

from cltr.interfaces import Estimator, EstimatorContext, RewardFunction
from cltr.objectives.evidence_clip import NARROW, evidence_clip
from cltr.options import Options
from cltr.schedules import Schedule
from cltr.types import Booleans, Exposure, Floats, Lists

ROUNDING = 1e-6
"""Weights that differ by less, relatively, are the same: scores are in single precision."""


AUTO = "auto"
"""A clip that depends on the evidence."""


def _parse(value: Any) -> "Schedule | str":
    if value == AUTO:
        return AUTO
    return value if isinstance(value, Schedule) else Schedule(value)


def _plain(clip: "Schedule | str") -> "float | str":
    return clip.plain() if isinstance(clip, Schedule) else clip


ClipOption = Annotated[Any, BeforeValidator(_parse), PlainSerializer(_plain)]
"""A number, a schedule, or ``auto``."""


class BandOptions(Options):
    """How wide the band is."""

    clip: ClipOption = Field(
        AUTO,
        description="shorthand for low = clip and high = 1/clip; a number in (0, 1], a schedule "
        "such as 100/N or 1/log(N), or auto: max(10/queries, 5/sqrt(N)). Larger is safer, smaller "
        "learns more.",
    )
    low: float | None = Field(
        None, ge=0, le=1, description="lower bound on the weight ratio; overrides clip."
    )
    high: float | None = Field(
        None,
        ge=1,
        allow_inf_nan=False,
        description="upper bound on the weight ratio; overrides clip.",
    )

    @field_validator("clip")
    @classmethod
    def _clip_in_range(cls, clip: "Schedule | str") -> "Schedule | str":
        if isinstance(clip, Schedule) and clip.constant is not None and clip.constant > 1:
            raise ValueError("it must lie in (0, 1]")
        return clip

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("low must not exceed high")
        return self


class Proximal(Estimator):
    """Base of estimators with a band; ``low`` and ``high`` are its bounds at this run's N."""

    options: BandOptions
    low: float
    high: float

    def __init__(self, reward: RewardFunction | None = None, **options: Any) -> None:
        super().__init__(reward, **options)
        self._narrow = False
        self._set_band(n_interactions=0, n_queries=0)

    def prepare(self, context: EstimatorContext) -> None:
        self._set_band(context.n_interactions, context.n_queries)
        self._narrow = context.narrow
        if context.narrow:
            self.low = max(self.low, NARROW)
            if np.isfinite(self.high):
                self.high = min(self.high, 1 / NARROW)

    @property
    def careful(self) -> bool:
        """Whether the band is that of the evidence, or narrow because of a doubt."""
        own = self.options.low is not None or self.options.high is not None
        return self._narrow or (self.options.clip == AUTO and not own)

    def _set_band(self, n_interactions: int, n_queries: int) -> None:
        chosen = self.options.clip
        clip = (
            chosen(n_interactions)
            if isinstance(chosen, Schedule)
            else evidence_clip(n_interactions, n_queries)
        )
        self.low = clip if self.options.low is None else self.options.low
        self.high = 1 / clip if self.options.high is None else self.options.high

    def outside(self, weights: Floats, logging_weights: Floats) -> Booleans:
        """Which documents lie outside the band."""
        outside: Booleans = (self.above(weights, logging_weights) > 0) | (
            self.below(weights, logging_weights) > 0
        )
        return outside

    def diagnostics(
        self, weights: Floats, exposure: Exposure, rewards: Floats | None, lists: Lists
    ) -> dict[str, float]:
        """Shares outside the band; with rewards, of the rewarded that the bound stops."""
        outside = self.outside(weights, exposure.weights)
        found = {
            "documents_outside": _share(outside),
            "queries_outside": _share(lists.sum(outside.astype(np.float64)) > 0),
        }
        if rewards is None:
            return found
        rewarded = rewards != 0
        slope = self.slope(weights, exposure.weights, rewards)
        stopped = rewarded & (slope * rewards <= 0)
        return found | {"clip_fraction": float(stopped.sum() / max(rewarded.sum(), 1))}

    def above(self, weights: Floats, logging_weights: Floats) -> Floats:
        """How far weights lie above the upper bound; negative below it, 0 at it."""
        if np.isinf(self.high):
            return np.full(np.shape(weights), -np.inf)
        return _distance(weights, self.high * logging_weights)

    def below(self, weights: Floats, logging_weights: Floats) -> Floats:
        """How far weights lie below the lower bound; negative above it, 0 at it."""
        return -_distance(weights, self.low * logging_weights)


def _share(which: Booleans) -> float:
    return float(which.mean()) if len(which) else 0.0


def _distance(weights: Floats, bound: Floats) -> Floats:
    """How far weights lie above a bound; 0 at it, up to what scores and weights are rounded to."""
    distance = weights - bound
    return np.where(np.abs(distance) <= ROUNDING * bound, 0.0, distance)
