"""LambdaRank and LambdaLoss, driven by the estimator's own differences."""

import numpy as np
from pydantic import Field

from cltr.documents import Batch
from cltr.interfaces import Objective, Ranker
from cltr.options import Options
from cltr.policies import Deterministic
from cltr.types import Floats


class LambdaRank(Ranker):
    r"""LambdaRank for any estimator: a pair counts by what its swap would change.

    Documents are ranked by score. For i at rank a above j at rank b, with :math:`G_d(w)` what
    document d adds to the objective at weight w, a swap loses

    .. math:: S_{ij} = [G_i(w_a) - G_i(w_b)] - [G_j(w_a) - G_j(w_b)] .

    :math:`S_{ij} > 0` keeps the pair, :math:`S_{ij} < 0` turns it, :math:`S_{ij} = 0` (a plateau of
    PRPO, or two documents behind rank K) drops it; the loss of a pair is
    :math:`|S_{ij}| \log(1 + e^{-\sigma(s_{win} - s_{lose})})`. With the plain estimator
    :math:`S_{ij} = (\mu_i - \mu_j)(w_a - w_b)`, the usual :math:`\Delta\text{DCG}`. All pairs with
    one document in the top K take part, so that any document can enter it.

    It trains a deterministic policy. There is no proof that it increases the objective.

    References: Burges (2010); the replaced difference: Gupta et al., PRPO (2024), section on
    extensions.
    """

    name = "lambdarank"
    policy = Deterministic()

    class Options(Options):
        """Shape of the pairwise loss."""

        sigma: float = Field(
            1.0,
            gt=0,
            allow_inf_nan=False,
            description=(
                "steepness of the logistic loss; if it is larger, pairs with a clear "
                "difference in score count less."
            ),
        )

    options: "LambdaRank.Options"

    @property
    def _mu(self) -> float:
        """Weight of Loss2."""
        return 0.0

    def gradient(self, batch: Batch, objective: Objective, rng: np.random.Generator) -> Floats:
        from cltr_lambdarank.kernels import swaps

        del rng
        scores, mask, rank_weights = batch.scores, batch.mask, batch.rank_weights
        out = np.zeros(scores.shape)
        swaps.gradient(
            np.ascontiguousarray(scores, dtype=np.float64),
            mask.sum(-1),
            np.argsort(np.where(mask, -scores, np.inf), axis=-1, kind="stable"),
            gain_table(objective, rank_weights),
            np.ascontiguousarray(objective.slope),
            np.append(rank_weights, 0.0),
            self.options.sigma,
            self._mu,
            out,
        )
        return out


class LambdaLoss(LambdaRank):
    r"""NDCG-Loss2++ for any estimator: LambdaRank, and :math:`\mu` times Loss2.

    Loss2 weighs a pair by :math:`\delta_{ij} |\mu_i - \mu_j|`, where
    :math:`\delta_{ij} = |w_m - w_{m+1}|` belongs to the distance :math:`m = |a - b|` of its ranks.
    For any gain the place of :math:`\mu_i - \mu_j` is taken by the swap difference per weight,

    .. math:: F_{ij} = S_{ij} + \mu \, \delta_{ij} \frac{S_{ij}}{|w_a - w_b|} ,

    which is the published weight where gains are linear, keeps the order that the swap asks for,
    and leaves plateaus flat: the gain is never asked about ranks where the documents do not stand.
    Where both ranks weigh the same, as behind rank K, the quotient is its limit, the difference of
    the slopes.

    References: Wang et al., The LambdaLoss Framework (CIKM'18), section 5.
    """

    name = "lambdaloss"

    class Options(LambdaRank.Options):
        """Shape of the pairwise loss, and the weight of Loss2."""

        mu: float = Field(
            10.0,
            ge=0,
            allow_inf_nan=False,
            description="weight of Loss2 beside LambdaRank; 0 is LambdaRank, larger gives more "
            "weight to pairs at neighbouring ranks.",
        )

    options: "LambdaLoss.Options"

    @property
    def _mu(self) -> float:
        return self.options.mu


def gain_table(objective: Objective, rank_weights: Floats) -> Floats:
    """Return what each document adds at each rank and below, ``[queries, docs, K + 1]``."""
    levels = np.append(rank_weights, 0.0)[:, None, None]
    gains = objective.gain(levels + np.zeros(objective.weights.shape))
    return np.ascontiguousarray(np.moveaxis(gains, 0, -1), dtype=np.float64)
