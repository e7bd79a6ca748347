"""StochasticRank: each document's own noise is integrated, that of the others is sampled."""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cltr.documents import Batch
from cltr.interfaces import Objective, Policy, Ranker
from cltr.options import Options
from cltr.policies import Gaussian, PlackettLuce, list_seeds, sample_rankings
from cltr.types import Booleans, Floats, Integers
from cltr_plrank.sampled import falling_order


class StochasticRank(Ranker):
    r"""StochasticRank: gradient of rankings by noisy scores, one coordinate at a time.

    .. math:: \frac{\partial U}{\partial s_d} = E_{z_{-d}} \sum_{p=1}^{\min(K, n-1)}
              (w_p - w_{p+1})(\rho_d - \rho_{o_p})\, f(z_{o_p} - s_d), \quad w_{K+1} = 0,

    :math:`o_p` the p-th of the other documents by noisy score and f the density of the noise. With
    Gumbel noise this is the gradient of the Plackett-Luce objective; with Gaussian noise the policy
    is Gaussian, and metrics and certificate are computed for that.

    A sample costs K densities for each document, and is worth several samples of ``pl-rank``.

    References: Ustimenko & Prokhorenkova, StochasticRank (ICML'20), here without its shift of the
    noise and its scale-free acceleration.
    """

    name = "stochastic-rank"

    class Options(Options):
        """Noise and samples."""

        samples: int = Field(
            100,
            ge=1,
            description=(
                "noisy rankings drawn per query and step; the error falls with the square "
                "root of their number."
            ),
        )
        noise: Literal["gumbel", "gaussian"] = Field(
            "gumbel", description="gumbel trains a Plackett-Luce policy, gaussian a Gaussian one."
        )
        sigma: float = Field(
            1.0,
            gt=0,
            allow_inf_nan=False,
            description="standard deviation of Gaussian noise; larger explores more.",
        )

        @model_validator(mode="after")
        def _sigma_of_gaussian(self) -> Self:
            if self.noise == "gumbel" and self.sigma != 1:
                raise ValueError("sigma goes with noise=gaussian; Gumbel noise has scale 1")
            return self

    options: "StochasticRank.Options"

    @property
    def policy(self) -> Policy:  # type: ignore[override]
        if self.options.noise == "gaussian":
            return Gaussian(sigma=self.options.sigma)
        return PlackettLuce()

    def gradient(self, batch: Batch, objective: Objective, rng: np.random.Generator) -> Floats:
        from cltr_plrank.kernels import conditional

        gaussian = self.options.noise == "gaussian"
        draw = self._gaussian_tops if gaussian else self._gumbel_tops
        scores, mask = batch.scores, batch.mask
        own, rankings, values = draw(scores, mask, len(batch.rank_weights) + 1, rng)
        drops = -np.diff(batch.rank_weights, append=0.0)
        out = np.zeros(scores.shape)
        slope = np.ascontiguousarray(objective.slope)
        conditional.gradient(own, mask.sum(-1), rankings, values, slope, drops, gaussian, out)
        return out / self.options.sigma

    def _gaussian_tops(
        self, scores: Floats, mask: Booleans, depth: int, rng: np.random.Generator
    ) -> tuple[Floats, Integers, Floats]:
        """Scores, and the top documents with their noisy scores, in units of sigma."""
        from cltr_plrank.kernels import conditional

        own = np.where(mask, scores, 0.0) / self.options.sigma
        rankings = np.empty((len(scores), self.options.samples, depth), np.int64)
        values = np.empty(rankings.shape)
        seeds = list_seeds(len(scores), rng)
        conditional.noisy_tops(own, mask.sum(-1), seeds, rankings, values)
        return own, rankings, values

    def _gumbel_tops(
        self, scores: Floats, mask: Booleans, depth: int, rng: np.random.Generator
    ) -> tuple[Floats, Integers, Floats]:
        """Rates of the clocks, and the first documents with their arrival times."""
        from cltr_plrank.kernels import conditional

        rankings = sample_rankings(
            scores, mask, top_k=depth, n_samples=self.options.samples, rng=rng
        )
        times = rng.standard_exponential(rankings.shape)
        rates = np.zeros(scores.shape)
        order = falling_order(scores, mask)
        conditional.arrivals(scores, mask.sum(-1), order, rankings, times, rates)
        return rates, rankings, times
