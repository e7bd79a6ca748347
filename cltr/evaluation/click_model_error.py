r"""The error that a fitted click model adds to a value (delta method).

An error of examination and trust moves a relevance estimate by :math:`\mathrm d\mu_d =
-(\mathrm d\bar\beta_d + \mu_d\, \mathrm d\rho_d) / \rho_d` in expectation, whatever the estimator,
if it is without bias. So the covariance of the fit gives the variance that it adds to each value.
"""

from dataclasses import dataclass

import numpy as np

from cltr.interfaces import ClickModel
from cltr.policies.on_dataset import AppliedPolicy
from cltr.types import Floats

NOT_RECORDED = (
    "the click model was fitted, and how well is not recorded (cltr fit records it for pbm and "
    "trust-bias)"
)
LEFT_OPEN = "the click model was fitted to clicks that leave examination open at some ranks"


@dataclass(frozen=True)
class ClickModelError:
    """How well a click model is known, and production's ranks to tell what follows."""

    fitted: bool
    """A click model that is given has no error."""
    covariance: Floats | None = None
    """Of examination and trust, ``[2, K, 2, K]``; None if it is not known."""
    rank_distribution: Floats | None = None
    """P(rank(d) = k) of production, ``[docs, K]``."""

    @classmethod
    def of(
        cls, model: ClickModel | None, production: AppliedPolicy | None, top_k: int
    ) -> "ClickModelError":
        """Of a click model on the lists of a split.

        Args:
            model: None if a value corrects for nothing.
            production: on that split.
            top_k: ranks.
        """
        fitted = None if model is None else model.fitted
        if fitted is None:
            return cls(False)
        if fitted.covariance is None or production is None:
            return cls(True)
        chances = np.stack(production.several_weights(list(np.eye(top_k))), axis=1)
        return cls(True, fitted.covariance[:, :top_k, :, :top_k], chances)

    def size(self, each: Floats, relevance: Floats) -> tuple[float, str | None]:
        r"""Standard error that the fit adds to a value, and why it is not known, if so.

        Args:
            each: :math:`P(q)\, \omega_d/\rho_{0,d}`, ``[docs]``.
            relevance: :math:`\mu_d`, ``[docs]``.
        """
        if not self.fitted:
            return 0.0, None
        if self.covariance is None or self.rank_distribution is None:
            return float("nan"), NOT_RECORDED
        gradient = -np.stack(
            [(each * relevance) @ self.rank_distribution, each @ self.rank_distribution]
        )
        variance = float(np.einsum("ai,aibj,bj->", gradient, self.covariance, gradient))
        if not np.isfinite(variance):
            return float("nan"), LEFT_OPEN
        return float(np.sqrt(max(variance, 0.0))), None
