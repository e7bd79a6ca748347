"""Base class and functions of rankers that sample Plackett-Luce rankings."""

from abc import abstractmethod
from typing import Any

import numpy as np
from pydantic import Field

from cltr.documents import Batch
from cltr.interfaces import Objective, Ranker
from cltr.options import Options
from cltr.policies import PlackettLuce, sample_rankings
from cltr.types import Booleans, Floats, Integers


class Sampled(Ranker):
    """Computes a gradient in two steps: draw rankings, then estimate from them.

    By the chain rule, the slope of the objective at the exact expected weights takes the place of
    a document's label in the literature.
    """

    policy = PlackettLuce()

    class Options(Options):
        """Number of samples."""

        samples: int = Field(
            1000,
            ge=1,
            description=(
                "rankings drawn per query and step; the error falls with the square root "
                "of their number."
            ),
        )

    options: Any

    def gradient(self, batch: Batch, objective: Objective, rng: np.random.Generator) -> Floats:
        rankings = sample_rankings(
            batch.scores,
            batch.mask,
            top_k=len(batch.rank_weights),
            n_samples=self.options.samples,
            rng=rng,
        )
        return self.estimate(batch, objective, rankings)

    @abstractmethod
    def estimate(self, batch: Batch, objective: Objective, rankings: Integers) -> Floats:
        """Return the gradient from given rankings, ``[queries, docs]``.

        Args:
            batch: scores of some lists.
            objective: slopes of the documents.
            rankings: columns of the documents, ``[queries, samples, K]``; -1 past a list's end.
        """


def returns_to_go(rankings: Integers, labels: Floats, rank_weights: Floats) -> Floats:
    r""":math:`\sum_{x \ge k} w_x \rho_{y_x}` of every rank k, ``[queries, samples, K]``.

    Example:
        >>> labels, weights = np.array([[1.0, 2.0, 4.0]]), np.array([1.0, 0.5])
        >>> returns_to_go(np.array([[[2, 0], [0, 1]]]), labels, weights)
        array([[[4.5, 0.5], [2. , 1. ]]])
    """
    from cltr_plrank.kernels import sampled as kernel

    out = np.empty(rankings.shape)
    kernel.returns(rankings, _floats(labels), _floats(rank_weights), out)
    return out


def falling_order(scores: Floats, mask: Booleans) -> Integers:
    """Return the columns of the documents by descending score, padding last."""
    return np.argsort(np.where(mask, -scores, np.inf), axis=-1, kind="stable")


def project(
    batch: Batch,
    rankings: Integers,
    *,
    direct: Floats,
    common: Floats,
    labels: Floats | None = None,
    by_document: bool = False,
) -> Floats:
    r"""Return the gradient of the scores from the returns of each rank of each ranking.

    .. math:: \text{grad}_d = \text{direct}_{r} 1[r \le K]
              + \sum_{k \le \min(r, K)} \pi(d | y_{<k}) (w_k \rho_d - \text{common}_k),
              \quad r = \text{rank}(d),

    averaged over the rankings. With ``direct = common`` and no labels this is the policy
    gradient :math:`\sum_k \text{common}_k \nabla \log \pi(y_k | y_{<k})`.

    Args:
        batch: scores of some lists.
        rankings: ``[queries, samples, K]``
        direct: what the document at a rank gets for being there, ``[queries, samples, K]``.
        common: what every document that could have been there loses, same shape.
        labels: :math:`\rho`, ``[queries, docs]``; 0 if left out.
        by_document: sum for every document alone, O(K D) a ranking instead of O(K).
    """
    from cltr_plrank.kernels import sampled as kernel

    gradient = kernel.gradient_by_document if by_document else kernel.gradient
    scores, mask = batch.scores, batch.mask
    out = np.zeros(scores.shape)
    gradient(
        _floats(scores),
        mask.sum(-1),
        falling_order(scores, mask),
        rankings,
        np.zeros(scores.shape) if labels is None else _floats(labels),
        _floats(batch.rank_weights),
        direct,
        common,
        out,
    )
    return out


def _floats(values: Floats) -> Floats:
    """As the kernels were compiled for: float64, contiguous."""
    return np.ascontiguousarray(values, dtype=np.float64)
