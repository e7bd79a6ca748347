r"""Doubly-robust and direct-method rewards: a regression :math:`\hat R`, fitted from clicks.

The regression and what it is fitted to are in ``cltr_dr.regression`` and ``cltr_dr.targets``.
"""

from typing import TYPE_CHECKING, Any

from cltr.errors import UnsupportedError
from cltr.hookspecs import hookimpl
from cltr.interfaces import ClickModel, RewardFunction
from cltr.types import Affine, ClickData, Floats
from cltr_dr.regression import RegressionOptions, fit_regression

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


class Regressed(RewardFunction):
    r"""Base class: fits :math:`\hat R` to training clicks and predicts it for any documents."""

    class Options(RegressionOptions):
        """Options of the regression."""

    needs_affine = True
    fits_in_threads = True
    options: "Regressed.Options"
    affine: Affine
    regression: "Callable[[NDArray[np.float32]], Floats] | None" = None
    r""":math:`\hat R` of documents from their features; set by ``fit``."""

    def fit(self, data: ClickData, click_model: ClickModel, *, seed: int = 0) -> None:
        self.affine = click_model.require_affine(data.statistics.top_k)
        self.regression = fit_regression(data, self.affine, self.options, seed=seed)

    def relevance(self, data: ClickData) -> Floats:
        r""":math:`\hat R`, in [0, 1], ``[docs]``."""
        if self.regression is None:
            raise UnsupportedError(f"reward '{self.name}' has no regression yet; call fit first")
        return self.regression(data.dataset.features)


class DM(Regressed):
    r"""The direct method: relevance predicted from features, :math:`\mu_d = \hat R_d`.

    It needs no propensities and has little variance, but nothing corrects errors of the network.

    References: Oosterhuis (TOIS'23), Eq. 32.
    """

    name = "dm"
    assumes = frozenset({"click model"})

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        del propensity_clip
        return self.relevance(data)


class DR(Regressed):
    r"""Doubly robust: relevance predicted from features, corrected by the clicks.

    .. math:: \mu_d = \hat R_d + \frac{\text{ctr}_d - \bar\alpha_d \hat R_d - \bar\beta_d}
              {\max(\rho_{0,d}, \tau)}

    with ctr, :math:`\bar\alpha`, :math:`\bar\beta` per display of the query. Unbiased, with
    :math:`\alpha, \beta` right, for each document where *either* :math:`\rho_0` is right and not
    clipped *or* :math:`\hat R` is right. A document that was never displayed falls back to
    :math:`\hat R`; with :math:`\hat R = 0` it is ``ips``.

    *Variance.* For a fixed regression :math:`E[(c-\beta-\alpha\hat R)^2] \le 2v` with
    :math:`v = E[\alpha+\beta]`: the factor is 2 (CIKM'24, Lemma A.1).

    References: Oosterhuis (TOIS'23), Eq. 36, 38 and 44; Gupta et al. (CIKM'24), Eq. 10.
    """

    name = "dr"
    variance_factor = 2.0

    def mu(self, data: ClickData, *, propensity_clip: float = 0.0) -> Floats:
        relevance = self.relevance(data)
        examined = data.statistics.average(self.affine.examination)
        expected = examined * relevance + data.statistics.average(self.affine.trust)
        inverse = data.exposure.inverse_propensities(examined, propensity_clip=propensity_clip)
        return relevance + (data.statistics.click_rate - expected) * inverse


@hookimpl
def cltr_rewards() -> list[type[Any]]:
    """Register both rewards: ``--reward dr``, ``--reward dm``."""
    return [DR, DM]
