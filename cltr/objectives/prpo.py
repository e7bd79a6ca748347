r"""Proximal ranking policy optimization: the clipped sum, over any reward."""

from typing import Any

import numpy as np
from pydantic import Field

from cltr.objectives.evidence_clip import ROLLBACK
from cltr.objectives.weight_band import BandOptions, Proximal
from cltr.types import Floats


def clip_weights(
    weights: Any, logging_weights: Any, rewards: Any, *, low: float, high: float
) -> Any:
    r"""Clip each document's weight on the side its reward pulls it.

    A document with a positive reward gains by moving up, so only ``high`` binds; one with a
    negative reward gains by moving down, so only ``low`` binds. Past the bound the weight counts no
    further: nothing is won by leaving the logging policy. Times :math:`\mu` this is the paper's
    :math:`f(\omega/\omega_0, \epsilon_-, \epsilon_+, r)` without the division, so it also holds
    where :math:`\omega_0 = 0`.

    .. math:: u(\omega) = \min(\omega, \epsilon_+ \omega_0) \text{ if } \mu \ge 0,
              \quad \max(\omega, \epsilon_- \omega_0) \text{ otherwise}

    Args:
        weights: :math:`\omega`, ``[..., docs]``; numpy or torch.
        logging_weights: :math:`\omega_0`, same shape.
        rewards: :math:`\mu`, same shape; only its sign is used.
        low: :math:`\epsilon_- \in [0, 1]`. Nearer to 1 is safer.
        high: :math:`\epsilon_+ \ge 1`. Nearer to 1 is safer.

    Example:
        >>> ones = np.ones(3)
        >>> clip_weights(np.array([0.5, 1.0, 4.0]), ones, ones, low=0.8, high=1.25)
        array([0.5 , 1.  , 1.25])
        >>> clip_weights(np.array([0.5, 1.0, 4.0]), ones, -ones, low=0.8, high=1.25)
        array([0.8, 1. , 4. ])

    References: Gupta et al., PRPO (CIKM'24), Eq. 21.
    """
    up = weights.clip(max=high * logging_weights) * (rewards >= 0)
    down = weights.clip(min=low * logging_weights) * (rewards < 0)
    return up + down


class PRPO(Proximal):
    r"""The plain estimator, but moving a document further than the clip allows earns nothing.

    .. math:: \hat U = \sum_q \tfrac{N_q}{N} \sum_d \mu_d \, u_d(\omega_d), \quad
              u_d(\omega) = \min(\omega, \epsilon_+ \omega_{0,d}) \text{ if } \mu_d \ge 0,
              \; \max(\omega, \epsilon_- \omega_{0,d}) \text{ otherwise}

    With rollback :math:`\kappa` the flat part past the bound becomes a slope of
    :math:`-\kappa\mu` back towards it. Works with any reward: ``PRPO(reward=DR(), clip=0.1)``.

    References: Gupta et al., PRPO (CIKM'24), Eq. 21-24; theory of the division-free form and of
    what the bound does and does not promise: ``docs/safety.md``.
    """

    name = "prpo"
    guarantee = "incentive"

    class Options(BandOptions):
        """Band and what lies beyond."""

        rollback: float | None = Field(
            None,
            ge=0,
            allow_inf_nan=False,
            description="slope back towards the band beyond its bounds, as a multiple of the "
            "reward; 0 is the paper, larger pulls harder. [1 with clip=auto, else 0]",
        )

    options: "PRPO.Options"

    @property
    def rollback(self) -> float:
        r""":math:`\kappa` of this run."""
        if self.options.rollback is not None:
            return self.options.rollback
        return ROLLBACK if self.careful else 0.0

    def gain(self, weights: Any, logging_weights: Any, rewards: Any) -> Any:
        clipped = clip_weights(weights, logging_weights, rewards, low=self.low, high=self.high)
        return rewards * (clipped - self.rollback * (weights - clipped))

    def slope(self, weights: Floats, logging_weights: Floats, rewards: Floats) -> Floats:
        r""":math:`\mu` strictly inside the band, 0 at its bound, :math:`-\kappa\mu` beyond.

        Closed form, since autograd through ``clip`` is inclusive at the bound: at
        :math:`\epsilon = 1` and :math:`\pi = \pi_0` it would already push.
        """
        up = rewards >= 0
        over = np.where(
            up, self.above(weights, logging_weights), self.below(weights, logging_weights)
        )
        slope: Floats = rewards * np.where(over < 0, 1.0, -self.rollback * (over > 0))
        return slope

    def kinks(self, logging_weights: Floats, rewards: Floats) -> Floats:
        """Return the bound that applies to each document, by the sign of its reward."""
        bound = np.where(rewards >= 0, self.high, self.low) * logging_weights
        return bound[:, None]
