"""PL-Rank-1, -2 and -3: gradients from sampled rankings, with labels around 0."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from cltr.documents import Batch
from cltr.interfaces import Objective
from cltr.policies import Backend, PlackettLuce, device_named
from cltr.types import Booleans, Floats, Integers
from cltr_plrank.sampled import Sampled, falling_order, project, returns_to_go

if TYPE_CHECKING:
    import torch


class Centred(Sampled):
    """Base class of the forms of PL-Rank, which centre the labels."""

    class Options(Sampled.Options):
        """Number of samples, and the centring of labels."""

        centre: Literal["weights", "mean", "none"] = Field(
            "weights",
            description="subtract from the slopes of a list their mean, weighted by the expected "
            "weights or plain, or nothing as published; changes the variance alone.",
        )

    options: "Centred.Options"

    def _labels(self, objective: Objective, mask: Booleans) -> Floats:
        if self.options.centre == "none":
            return objective.slope
        if self.options.centre == "mean":
            return centre(objective.slope, mask.astype(np.float64))
        return centre(objective.slope, np.abs(objective.weights) * mask)


class PLRank(Centred):
    r"""PL-Rank-3: gradients of all documents from running sums over sampled rankings.

    .. math:: \frac{\partial U}{\partial s_d} = E_y\Big[ PR_{r+1}
              + \lambda_d (\rho_d DR_{\min(r, K)} - RI_{\min(r, K)}) \Big]

    with r the rank of d, :math:`PR_k = \sum_{x \ge k}^K w_x \rho_{y_x}`,
    :math:`RI_k = \sum_{j \le k} PR_j / S_j`, :math:`DR_k = \sum_{j \le k} w_j / S_j`. Here
    :math:`S_j` is the rate of all that is not ranked before j; algorithm 1 as printed has the
    sum over the whole list in its place, which is not the gradient.

    Cost: O(samples K + documents) for each query, plus the cost of drawing the rankings.

    References: Oosterhuis, PL-Rank-3 (SIGIR'22), Algorithm 1.
    """

    name = "pl-rank"

    class Options(Centred.Options):
        """Number of samples, the centring of labels, and the device."""

        backend: Backend = Field(
            "numba", description="numba: compiled for CPUs; torch: for any device."
        )
        device: str = Field("cpu", description="device of backend=torch, such as cuda or cuda:1.")

    options: "PLRank.Options"

    @property
    def policy(self) -> PlackettLuce:  # type: ignore[override]
        return PlackettLuce(backend=self.options.backend, device=self.options.device)

    def gradient(self, batch: Batch, objective: Objective, rng: np.random.Generator) -> Floats:
        if self.options.backend == "numba":
            return super().gradient(batch, objective, rng)
        from cltr_plrank import on_torch

        place, known, weights, labels = self._tensors(batch, objective)
        rankings = on_torch.sample(
            place,
            known,
            top_k=len(batch.rank_weights),
            n_samples=self.options.samples,
            seed=int(rng.integers(2**63)),
        )
        return on_torch.estimate(place, known, weights, rankings, labels).cpu().numpy()

    def estimate(self, batch: Batch, objective: Objective, rankings: Integers) -> Floats:
        if self.options.backend == "numba":
            labels = self._labels(objective, batch.mask)
            return pl_rank(batch.scores, batch.mask, batch.rank_weights, rankings, labels=labels)
        import torch

        from cltr_plrank import on_torch

        place, known, weights, slopes = self._tensors(batch, objective)
        drawn = torch.from_numpy(rankings).to(place.device)
        return on_torch.estimate(place, known, weights, drawn, slopes).cpu().numpy()

    def _tensors(self, batch: Batch, objective: Objective) -> "tuple[torch.Tensor, ...]":
        import torch

        labels = self._labels(objective, batch.mask)
        arrays = (batch.scores, batch.mask, batch.rank_weights, labels)
        device = device_named(self.options.device)
        return tuple(torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in arrays)


class PLRank1(Centred):
    r"""PL-Rank-1: the placement policy gradient, with centred labels.

    .. math:: \frac{\partial U}{\partial s_d} = E_y\Big[ PR_{r} 1[r \le K]
              - \sum_{k \le \min(r, K)} \pi(d | y_{<k}) PR_k \Big]

    Without centring it is, ranking by ranking, the same number as ``placement`` without baseline.

    References: Oosterhuis, PL-Rank (SIGIR'21), Eq. 19-20.
    """

    name = "pl-rank-1"

    def estimate(self, batch: Batch, objective: Objective, rankings: Integers) -> Floats:
        gains = returns_to_go(rankings, self._labels(objective, batch.mask), batch.rank_weights)
        return project(batch, rankings, direct=gains, common=gains)


class PLRank2(Centred):
    r"""PL-Rank-2: the estimate of ``pl-rank``, summed for every document of every ranking.

    .. math:: \frac{\partial U}{\partial s_d} = E_y\Big[ PR_{r+1}
              + \sum_{k \le \min(r, K)} \pi(d | y_{<k}) (w_k \rho_d - PR_k) \Big]

    It gives the same numbers at a cost of O(samples K documents) for each query, for comparison.

    References: Oosterhuis, PL-Rank (SIGIR'21), Eq. 22-25.
    """

    name = "pl-rank-2"

    def estimate(self, batch: Batch, objective: Objective, rankings: Integers) -> Floats:
        labels = self._labels(objective, batch.mask)
        gains = returns_to_go(rankings, labels, batch.rank_weights)
        later = np.zeros_like(gains)
        later[..., :-1] = gains[..., 1:]
        return project(
            batch,
            rankings,
            direct=later,
            common=gains,
            labels=labels,
            by_document=True,
        )


def pl_rank(
    scores: Floats, mask: Booleans, rank_weights: Floats, rankings: Integers, *, labels: Floats
) -> Floats:
    """Return the estimate of PL-Rank-3, ``[queries, docs]``, by compiled code."""
    from cltr_plrank.kernels import sampled as kernel

    out = np.zeros(scores.shape)
    kernel.pl_rank(
        np.ascontiguousarray(scores, np.float64),
        mask.sum(-1),
        falling_order(scores, mask),
        rankings,
        np.ascontiguousarray(labels, np.float64),
        np.ascontiguousarray(rank_weights, np.float64),
        out,
    )
    return out


def centre(labels: Floats, shown: Floats) -> Floats:
    r"""Subtract from the labels of each list their mean, weighted by exposure.

    Every ranking of n documents fills the ranks 1 to min(n, K), so :math:`\sum_d \omega_d` is a
    constant of the list, and labels that are all shifted alike give the same expected gradient;
    but an estimate varies less if the labels of what is shown lie around 0.

    .. math:: \rho_d \to \rho_d - \frac{\sum_j v_j \rho_j}{\sum_j v_j}

    Args:
        labels: :math:`\rho`, ``[queries, docs]``.
        shown: v, not negative, same shape; 0 on padding.

    Example:
        >>> centre(np.array([[3.0, 1.0]]), np.array([[1.0, 3.0]]))
        array([[ 1.5, -0.5]])
    """
    total = shown.sum(-1, keepdims=True)
    mean = (shown * labels).sum(-1, keepdims=True) / np.where(total > 0, total, 1.0)
    centred: Floats = labels - mean
    return centred
