"""What every bound takes and gives: terms, their limits, a confidence, an interval."""

from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from cltr.errors import DataError, OptionError
from cltr.types import Floats

Target: TypeAlias = Literal["these queries", "new queries"]

ROUNDING = 1e-9
"""How far a term may lie outside its limits, relative to their size: floating-point error."""


@dataclass(frozen=True)
class MeanInterval:
    """An estimated mean with its confidence interval.

    Attributes:
        value: the estimated mean.
        error: its standard error; NaN if there is only one term or cluster.
        low: lower end of the interval; -inf if the data give no lower bound.
        high: upper end of the interval; inf if the data give no upper bound.
        confidence: how often such an interval contains the true mean when its method is valid.
        method: name of the method, for example ``"betting"``.
        target: whether the mean is that over the queries of the log or that over new queries.
        no_interval_because: why the data support no interval; None if they do. Without one there is
            no standard error either.
    """

    value: float
    error: float
    low: float
    high: float
    confidence: float
    method: str
    target: Target
    no_interval_because: str | None = None

    def without_interval(self, reason: str) -> "MeanInterval":
        """The estimate alone."""
        return replace(
            self,
            error=float("nan"),
            low=float("-inf"),
            high=float("inf"),
            method="none",
            no_interval_because=reason,
        )

    def with_error(self, error: float) -> "MeanInterval":
        """Wider by another error of the estimate, independent of the one that it has.

        Each end moves as if both were normal: distances from the estimate add by their squares.

        Example:
            >>> found = MeanInterval(1.0, 0.3, 0.4, 1.6, 0.95, "clustered t", "new queries")
            >>> wider = found.with_error(0.4)
            >>> wider.error, round(wider.low, 2), round(wider.high, 2)
            (0.5, 0.01, 1.99)
        """
        reach = NormalDist().inv_cdf((1.0 + self.confidence) / 2) * error
        return replace(
            self,
            error=float(np.hypot(self.error, error)),
            low=self.value - float(np.hypot(self.value - self.low, reach)),
            high=self.value + float(np.hypot(self.high - self.value, reach)),
        )

    def plain(self) -> dict[str, Any]:
        """For JSON: a number that is not finite becomes None."""
        fields = asdict(self)
        fields["standard_error"] = fields.pop("error")
        return {
            name: None if isinstance(value, float) and not np.isfinite(value) else value
            for name, value in fields.items()
        }


class Limits(NamedTuple):
    """The smallest and the largest value that one term can take.

    Compute them from the policy and the propensity clip, before the log is read. The smallest and
    the largest term of the sample are not limits: a bound that uses them is too narrow.

    Example:
        >>> Limits(-1.0, 3.0).scale(np.array([-1.0, 0.0, 3.0]))
        array([0.  , 0.25, 1.  ])
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """Distance between the limits."""
        return self.high - self.low

    def mirrored(self) -> "Limits":
        """The limits of the negated terms."""
        return Limits(-self.high, -self.low)

    def restore(self, scaled: float) -> float:
        """The value that :meth:`scale` maps to ``scaled``."""
        return float(self.low + self.width * scaled)

    def scale(self, terms: Floats) -> Floats:
        """Map the terms to [0, 1]. Fails if a term lies outside the limits."""
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low <= self.high):
            raise DataError(f"the limits [{self.low}, {self.high}] are not a finite range")
        terms = checked_terms(terms)
        slack = ROUNDING * max(abs(self.low), abs(self.high))
        outside = (terms < self.low - slack) | (terms > self.high + slack)
        if outside.any():
            raise DataError(
                f"{np.count_nonzero(outside)} of {len(terms)} terms lie outside the limits "
                f"[{self.low}, {self.high}], for example {terms[outside][0]}; "
                "compute the limits from the policy and the propensity clip"
            )
        if self.width == 0:
            return np.zeros(len(terms))
        return np.clip((terms - self.low) / self.width, 0.0, 1.0)


def checked_terms(terms: Floats) -> Floats:
    """The terms as a flat array of floats. Fails if there are none, or one is not finite."""
    terms = np.asarray(terms, dtype=np.float64).ravel()
    if len(terms) == 0:
        raise DataError("there are no terms; a mean needs at least one")
    wrong = np.count_nonzero(~np.isfinite(terms))
    if wrong:
        raise DataError(f"{wrong} of {len(terms)} terms are not finite numbers")
    return terms


def miss_level(confidence: float) -> float:
    r"""How often a bound may be wrong: :math:`\alpha = 1 - \text{confidence}`."""
    if not 0.0 < confidence < 1.0:
        raise OptionError(f"confidence is {confidence}; it must lie between 0 and 1")
    return 1.0 - confidence
