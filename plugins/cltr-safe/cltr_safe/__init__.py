r"""The safe estimator: the estimated utility minus a bound on its error.

By Cantelli's inequality an estimate is too high by more than :math:`\sqrt{Var\,(1-\delta)/\delta}`
with probability :math:`\delta` at most, and its variance grows with the distance from the logging
policy. To maximise the lower bound is to improve only as far as the clicks can vouch for.
"""

import math
from typing import Any, Literal

from pydantic import Field

from cltr.errors import OptionError, UnsupportedError
from cltr.hookspecs import hookimpl
from cltr.interfaces import EstimatorContext, Penalised, RewardFunction
from cltr.options import Options
from cltr.types import Booleans, Exposure, Floats, Lists

LEAST_SUPPORT = 1e-6
"""A document that is examined less than once in a million displays counts as not supported."""


class Safe(Penalised):
    r"""The plain estimate minus a bound on its error, which grows away from production.

    .. math:: \hat U_{safe} = \sum_q \tfrac{N_q}{N} \sum_d \omega_d \mu_d
              - C \sqrt{\frac{1-\delta}{\delta N}} \sqrt{D}

    ``form=general`` holds for any metric weights, ``form=paper`` is the published bound, which
    needs the metric ``clicks`` (:math:`w = \alpha + \beta`):

    ======= ==================================================== ===================================
    form    divergence D                                         constant C
    ======= ==================================================== ===================================
    general :math:`E_q \sum_d s\,v_d\,\omega_d^2/\rho_{0,d}^2`   1
    paper   :math:`E_q \sum_d s\,\omega_d^2/\omega_{0,d}`        :math:`1 + \max_k \beta_k/\alpha_k`
    ======= ==================================================== ===================================

    with :math:`v_d = E_{\pi_0}[\alpha_k + \beta_k]` and s the reward's ``variance_factor`` (1 for
    ``ips``, 2 for ``dr``). Since :math:`v = \omega_0` for the metric ``clicks`` and
    :math:`\omega_0/\rho_0 \le C`, the general form is there never larger than the paper's. For
    click models without trust C is 1, which is SIGIR'23's bound for IPS. The paper's normalisers Z
    cancel. ``confidence`` is :math:`1-\delta`: the published figures' :math:`\delta = 0.95` is
    ``confidence=0.05``.

    *No certificate*: the bound leaves out covariances between documents and takes
    :math:`\rho_0`, :math:`\alpha`, :math:`\beta` and the regression as known (``docs/safety.md``).

    *Documents without support.* Where :math:`\rho_0 = 0` and :math:`\omega > 0` the bound is
    infinite. Exposure below ``support`` = min(1e-6, 1/N), less than one expected display in the
    whole log, is priced as if it were ``support``: training stays finite, and such a document stays
    expensive to promote whatever N. :meth:`unsupported` says which documents these are; where there
    are any, the bound holds for the others only.

    Example:
        >>> import numpy as np
        >>> from cltr.clicks.models import PositionBased
        >>> from cltr.objectives.rewards import Naive
        >>> class Bounded(Naive):
        ...     variance_factor = 1.0
        >>> safe = Safe(reward=Bounded(), confidence=0.5)
        >>> safe.prepare(EstimatorContext(100, np.ones(1), "clicks", PositionBased()))
        >>> exposure = Exposure(*3 * [np.array([0.5, 0.5])])
        >>> safe.divergence(np.array([0.5, 0.5]), exposure)  # v w^2 / rho^2
        array([0.5, 0.5])
        >>> safe.penalty(1.0)  # sqrt(0.5 / (0.5 * 100))
        0.1

    References: Gupta et al. (SIGIR'23), Thm. 4.1, Eq. 26; Gupta et al. (CIKM'24), Eq. 15 and 18.
    """

    name = "safe"

    class Options(Options):
        """Confidence, and the form of the bound."""

        confidence: float = Field(
            0.05,
            gt=0,
            lt=1,
            description="probability that the bound holds, 1 - delta of the paper; larger stays "
            "closer to production.",
        )
        form: Literal["general", "paper"] = Field(
            "general",
            description="general: for any metric; paper: the published constants, only with "
            "--metric clicks.",
        )

    options: "Safe.Options"

    def __init__(self, reward: RewardFunction | None = None, **options: Any) -> None:
        super().__init__(reward, **options)
        if reward is not None:
            self._variance_factor()
        self.support = LEAST_SUPPORT
        self.scale = math.sqrt(self._odds())

    def prepare(self, context: EstimatorContext) -> None:
        """Compute the constants of the bound; raise an error where the bound does not hold."""
        self._variance_factor()
        n = max(context.n_interactions, 1)
        self.support = min(LEAST_SUPPORT, 1 / n)
        self.scale = self._constant(context) * math.sqrt(self._odds() / n)

    def _variance_factor(self) -> float:
        factor = getattr(self.reward, "variance_factor", None)
        if factor is None:
            named = "no reward" if self.reward is None else f"'{self.reward.name}', which has none"
            raise UnsupportedError(
                f"estimator 'safe' needs a reward that declares a variance bound, not {named}; "
                "choose a reward with a variance_factor, such as ips or dr, or another estimator"
            )
        return float(factor)

    def _odds(self) -> float:
        r""":math:`(1-\delta)/\delta`."""
        return self.options.confidence / (1 - self.options.confidence)

    def _constant(self, context: EstimatorContext) -> float:
        if self.options.form == "general":
            return 1.0
        if context.metric != "clicks":
            raise OptionError(
                f"safe.form is 'paper', whose bound holds for --metric clicks only, not "
                f"'{context.metric}'; use -o estimator.form=general"
            )
        examination, trust = context.click_model.require_affine(len(context.rank_weights))
        if not (examination > 0).all():
            raise OptionError(
                f"safe.form is 'paper', but click model '{context.click_model.name}' has ranks "
                "without examination; use -o estimator.form=general"
            )
        return float(1 + (trust / examination).max())

    def gain(self, weights: Any, logging_weights: Any, rewards: Any) -> Any:
        del logging_weights
        return weights * rewards

    def slope(self, weights: Floats, logging_weights: Floats, rewards: Floats) -> Floats:
        del logging_weights
        return rewards + 0.0 * weights

    def divergence(self, weights: Any, exposure: Exposure) -> Any:
        return weights**2 * self._risk(exposure)

    def divergence_slope(self, weights: Floats, exposure: Exposure) -> Floats:
        slope: Floats = 2 * weights * self._risk(exposure)
        return slope

    def _risk(self, exposure: Exposure) -> Any:
        r"""What :math:`\omega^2` is multiplied with: finite for any exposure."""
        factor = self._variance_factor()
        if self.options.form == "paper":
            return factor / exposure.weights.clip(min=self.support)
        attention = exposure.attention.clip(min=self.support)
        return factor * attention / exposure.propensities.clip(min=self.support) ** 2

    def penalty(self, mean_divergence: float) -> float:
        return self.scale * math.sqrt(mean_divergence)

    def penalty_slope(self, mean_divergence: float) -> float:
        if mean_divergence <= 0:  # no list has any weight: there is nothing to price
            return 0.0
        return self.scale / (2 * math.sqrt(mean_divergence))

    def unsupported(self, weights: Floats, exposure: Exposure) -> Booleans:
        r"""Return True for documents without exposure that get weight; the bound leaves them out.

        Args:
            weights: :math:`\omega`, ``[..., docs]``.
            exposure: of the logging policy, same shape.
        """
        unsupported: Booleans = (weights > self.support) & (exposure.propensities < self.support)
        return unsupported

    def diagnostics(
        self, weights: Floats, exposure: Exposure, rewards: Floats | None, lists: Lists
    ) -> dict[str, float]:
        """Return how many documents the bound leaves out, if propensities are known."""
        del lists
        if rewards is None:
            return {}
        return {"unsupported_documents": float(self.unsupported(weights, exposure).sum())}


@hookimpl
def cltr_estimators() -> list[type[Any]]:
    """Register the estimator: ``--estimator safe``."""
    return [Safe]
