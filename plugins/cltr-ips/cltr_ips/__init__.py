r"""Inverse propensity scoring: clicks corrected by exposure.

Clicks are assumed affine in relevance, :math:`P(C=1|d,k) = \alpha_k R_d + \beta_k`, so a click
minus its trust :math:`\beta_k` is a noisy view of relevance through the examination
:math:`\alpha_k`. ``ips`` divides by the examination that the logging policy *would* give to a
document, ``snips`` by what it *did* give. Both read statistics only: their cost does not depend on
the number of clicks.
"""

from typing import Any

import numpy as np

from cltr.errors import UnsupportedError
from cltr.hookspecs import hookimpl
from cltr.interfaces import ClickModel, RewardFunction
from cltr.types import Affine, ClickData, Floats


class AffineReward(RewardFunction):
    """Base class of both rewards: keeps examination and trust of the click model."""

    needs_affine = True

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        del seed
        self._affine = click_model.require_affine(data.statistics.top_k)

    @property
    def affine(self) -> Affine:
        """Examination and trust by rank, after ``fit``."""
        if not hasattr(self, "_affine"):
            raise UnsupportedError(f"reward '{self.name}' knows no click model yet; call fit first")
        return self._affine


class IPS(AffineReward):
    r"""Inverse propensity scoring: clicks minus trust, divided by the expected examination.

    .. math:: \mu_d = \frac{\text{ctr}_d - \bar\beta_d}{\max(\rho_{0,d}, \tau)}, \qquad
              \rho_{0,d} = E_{y \sim \pi_0}[\alpha_{k(d)}]

    where ctr is the number of clicks and :math:`\bar\beta` the trust of the shown ranks, both per
    display of the query. It is unbiased when :math:`\alpha, \beta, \rho_0` are right and
    nothing is clipped. A document that was never shown gets 0; if the logging policy cannot show
    it, this is biased downwards.

    *Variance.* One interaction adds :math:`\sum_d \frac{\omega_d}{\rho_d}(c_d - \beta_{k(d)})`, and
    :math:`E[(c-\beta)^2] \le E[\alpha+\beta] = v`: the factor is 1 (covariances between documents
    left out, as in the paper).

    Example:
        >>> from cltr.clicks.models import TrustBias
        >>> from cltr.types import ClickStatistics, Exposure
        >>> statistics = ClickStatistics(
        ...     impressions=np.array([[60, 40], [40, 60]]),
        ...     clicks=np.array([[50, 20], [28, 20]]),
        ...     displays=np.array([100]),
        ...     offsets=np.array([0, 2]),
        ... )
        >>> exposure = Exposure(*3 * [np.array([0.44, 0.44])])
        >>> data = ClickData(dataset=None, statistics=statistics, exposure=exposure)
        >>> ips = IPS()
        >>> ips.fit(data, TrustBias())
        >>> ips.mu(data).round(3)  # (0.70 - 0.494) / 0.44 and (0.48 - 0.416) / 0.44
        array([0.468, 0.145])

    References: Oosterhuis (TOIS'23), Eq. 23-25; Oosterhuis and de Rijke (WSDM'21), Eq. 19.
    """

    name = "ips"
    variance_factor = 1.0

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        examination, trust = self.affine
        inverse = data.exposure.inverse_propensities(
            data.statistics.average(examination), propensity_clip=propensity_clip
        )
        return (data.statistics.click_rate - data.statistics.average(trust)) * inverse


class SNIPS(AffineReward):
    r"""Self-normalised IPS: divided by the examination that the document got in the log.

    .. math:: \mu_d = \frac{\text{ctr}_d - \bar\beta_d}{\bar\alpha_d}
              = \frac{\sum_i (c_i(d) - \beta_{k_i(d)})}{\sum_i \alpha_{k_i(d)}},
              \quad 0 \text{ if never shown}

    It needs no propensities and has no clip. Given the displays, its mean is :math:`R_d` for every
    document that was examined. Over all displays it is biased towards 0, because a document that is
    never shown gets 0; ``ips`` compensates for this by larger values of shown documents.

    *No variance factor.* A bound of the form :math:`s\,v/\rho_0^2` holds for no fixed s: let a
    document be shown five times, on average, at a rank with :math:`\alpha = 1` and ten times at
    one with :math:`\alpha \to 0`. In :math:`e^{-5}` of all logs only the latter happens; the
    denominator is then almost 0 and the variance without bound, while :math:`\rho_0` hardly moves.
    """

    name = "snips"
    assumes = frozenset({"click model"})

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        del propensity_clip
        examination, trust = self.affine
        examined = data.statistics.average(examination)
        corrected = data.statistics.click_rate - data.statistics.average(trust)
        return np.divide(corrected, examined, out=np.zeros(len(examined)), where=examined != 0)


@hookimpl
def cltr_rewards() -> list[type[Any]]:
    """Register both rewards: ``--reward ips``, ``--reward snips``."""
    return [IPS, SNIPS]
