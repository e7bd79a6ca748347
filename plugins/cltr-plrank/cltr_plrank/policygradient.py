"""The score-function estimates: REINFORCE, and the placement policy gradient."""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cltr.documents import Batch
from cltr.interfaces import Objective
from cltr.types import Floats, Integers
from cltr_plrank.sampled import Sampled, project, returns_to_go

NO_OTHERS = "baseline=loo needs at least 2 samples; take more, or baseline=none"


class Placement(Sampled):
    r"""Policy gradient by placement: a document is credited with the metric from its rank down.

    .. math:: \nabla U = E_y\Big[ \sum_{k \le K} \nabla \log \pi(y_k | y_{<k})
              \Big( \sum_{x \ge k} w_x \rho_{y_x} - b_k \Big) \Big]

    The baseline :math:`b_k` is the mean of the same sum over the *other* sampled rankings.

    References: Oosterhuis, PL-Rank (SIGIR'21), Eq. 14 (there without baseline).
    """

    name = "placement"

    class Options(Sampled.Options):
        """Samples and baseline."""

        baseline: Literal["loo", "none"] = Field(
            "loo",
            description="loo: mean over the other rankings, rank by rank; none: as published, "
            "which varies more.",
        )

        @model_validator(mode="after")
        def _others(self) -> Self:
            if self.baseline == "loo" and self.samples < 2:
                raise ValueError(NO_OTHERS)
            return self

    options: "Placement.Options"

    def estimate(self, batch: Batch, objective: Objective, rankings: Integers) -> Floats:
        gains = returns_to_go(rankings, objective.slope, batch.rank_weights)
        if self.options.baseline == "loo":
            gains = gains - mean_of_others(gains)
        return project(batch, rankings, direct=gains, common=gains)


class Reinforce(Sampled):
    r"""REINFORCE: every document of a sampled ranking is credited with the whole ranking's metric.

    .. math:: \nabla U = E_y\Big[ \Big( \sum_{x \le K} w_x \rho_{y_x} - b \Big)
              \sum_{k \le K} \nabla \log \pi(y_k | y_{<k}) \Big]

    The baseline b is the mean over the *other* sampled rankings (``loo``). The mean over all of
    them (``paper``) is not independent of the ranking: it shrinks the expected gradient by the
    factor :math:`1 - 1/S`, half of it at two samples.

    References: Williams (1992); Gupta et al., PRPO (CIKM'24), section 6, for the baseline.
    """

    name = "reinforce"

    class Options(Sampled.Options):
        """Samples and baseline."""

        baseline: Literal["loo", "paper", "none"] = Field(
            "loo",
            description="loo: mean over the other rankings; paper: mean over all, which shrinks "
            "the gradient by 1 - 1/samples; none: unbiased, but varies most.",
        )

        @model_validator(mode="after")
        def _others(self) -> Self:
            if self.baseline == "loo" and self.samples < 2:
                raise ValueError(NO_OTHERS)
            return self

    options: "Reinforce.Options"

    def estimate(self, batch: Batch, objective: Objective, rankings: Integers) -> Floats:
        totals = returns_to_go(rankings, objective.slope, batch.rank_weights)[..., :1]
        if self.options.baseline == "loo":
            totals = totals - mean_of_others(totals)
        elif self.options.baseline == "paper":
            totals = totals - totals.mean(1, keepdims=True)
        earned = np.repeat(totals, len(batch.rank_weights), axis=-1)
        return project(batch, rankings, direct=earned, common=earned)


def mean_of_others(values: Floats) -> Floats:
    """Return for each ranking the mean over all others, ``[queries, samples, ...]``.

    Example:
        >>> mean_of_others(np.array([[1.0, 2.0, 6.0]]))
        array([[4. , 3.5, 1.5]])
    """
    others: Floats = (values.sum(1, keepdims=True) - values) / (values.shape[1] - 1)
    return others
