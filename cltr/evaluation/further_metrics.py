"""Metrics that are reported when asked for: ERR and RBP."""

import numpy as np
from pydantic import Field

from cltr.extensions import Metric
from cltr.options import Options
from cltr.policies.on_dataset import AppliedPolicy
from cltr.types import Dataset, Floats


class RankBiasedPrecision(Metric):
    r"""Rank-biased precision: the gain of a user who goes on to the next rank with probability p.

    .. math:: \text{RBP}@K = (1 - p) \sum_{k=1}^K p^{k-1} g_k

    with the gain :math:`g = \text{grade} / \text{highest grade}`. Exact under every policy.

    References: Moffat and Zobel, TOIS 2008.
    """

    name = "rbp"

    class Options(Options):
        """The user."""

        persistence: float = Field(
            0.8,
            ge=0,
            lt=1,
            description=("p, the probability to look at the next rank; larger reads deeper."),
        )

    options: "RankBiasedPrecision.Options"

    def values(self, policy: AppliedPolicy, *, top_k: int) -> Floats:
        p, data = self.options.persistence, policy.dataset
        weights = policy.weights(np.asarray((1.0 - p) * p ** np.arange(top_k), np.float64))
        return data.lists.sum(data.relevance * weights)


class ExpectedReciprocalRank(Metric):
    r"""Expected reciprocal rank of the document at which a user stops, satisfied.

    .. math:: \text{ERR}@K = \sum_{k=1}^K \frac1k R_k \prod_{i<k} (1 - R_i), \quad
              R = \frac{2^\text{grade} - 1}{2^\text{highest grade}}

    Exact for sorted rankings. For a policy with chance it is the mean over ``draws`` of which
    documents would satisfy a user, each in exact expectation over rankings. Every policy sees the
    same draws, so differences between policies are more accurate than their values.

    References: Chapelle et al., CIKM 2009.
    """

    name = "err"

    class Options(Options):
        """How exact it is."""

        draws: int = Field(
            200,
            ge=1,
            description="number of users to simulate for a policy that draws its rankings; the "
            "error of the mean over queries is below 0.5 / sqrt(draws x queries).",
        )

    options: "ExpectedReciprocalRank.Options"

    def values(self, policy: AppliedPolicy, *, top_k: int) -> Floats | None:
        data, reciprocal = policy.dataset, 1.0 / np.arange(1, top_k + 1)
        stops = (np.exp2(data.labels) - 1.0) / np.exp2(data.highest_grade)
        at_rank = np.stack([policy.weights(unit) for unit in np.eye(top_k)])
        if np.isin(at_rank, (0.0, 1.0)).all():
            return _cascade(data, at_rank * np.nan_to_num(stops), reciprocal)
        rng, total = np.random.default_rng(0), np.zeros(data.n_queries)
        for _ in range(self.options.draws):
            satisfying = rng.random(len(stops)) < stops
            found = policy.first_weights(satisfying, reciprocal)
            if found is None:
                return None
            total += found
        return total / self.options.draws


def _cascade(data: Dataset, stops_at: Floats, reciprocal: Floats) -> Floats:
    """ERR of one ranking per query.

    Args:
        data: whose lists.
        stops_at: chance to stop at a document, at its rank; 0 at others, ``[K, docs]``.
        reciprocal: 1/k, ``[K]``.
    """
    value, goes_on = np.zeros(data.n_queries), np.ones(data.n_queries)
    for at_rank, weight in zip(stops_at, reciprocal, strict=True):
        stops = data.lists.sum(at_rank)
        value += weight * goes_on * stops
        goes_on *= 1.0 - stops
    return value
