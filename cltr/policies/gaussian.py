"""The Gaussian policy: documents sorted by noisy scores."""

from dataclasses import dataclass

import numpy as np

from cltr.interfaces import Policy
from cltr.policies.pair_sums import sum_of_pairs
from cltr.policies.plackett_luce import DEFAULT_ACCURACY
from cltr.policies.usable_scores import usable
from cltr.types import Floats, Integers, Lists


@dataclass(frozen=True)
class Gaussian(Policy):
    r"""Documents in order of :math:`s_d + \sigma\epsilon_d` with normal noise :math:`\epsilon`.

    Example:
        >>> lists = Lists.of_offsets(np.array([0, 2]))
        >>> Gaussian().expected_weights(np.zeros(2), lists, np.array([1.0, 0.5])).round(6)
        array([0.75, 0.75])
    """

    sigma: float = 1.0
    """Standard deviation of the noise; smaller is nearer to ``Deterministic``."""
    accuracy: float = DEFAULT_ACCURACY
    r"""Largest error of :math:`\omega` relative to the largest rank weight."""
    name: str = "gaussian"

    def expected_weights(self, scores: Floats, lists: Lists, rank_weights: Floats) -> Floats:
        r""":math:`\omega`, exact up to ``accuracy``. See ``cltr.kernels.gaussian``."""
        from statistics import NormalDist

        from cltr.kernels import gaussian, plackett_luce

        weights = np.ascontiguousarray(rank_weights, dtype=np.float64)
        out = np.zeros(scores.shape)
        usable(usable(scores)[lists.members], drawn=True)
        if not len(weights):
            return out
        gaussian.expected_weights(
            usable(scores) / self.sigma,
            *lists,
            weights,
            plackett_luce.nodes_per_octave(len(weights), self.accuracy),
            self.accuracy,
            -NormalDist().inv_cdf(self.accuracy / 2),
            out.reshape(-1),
        )
        return out

    def expected_ranks(self, scores: Floats, lists: Lists, rows: Integers) -> Floats:
        r"""Expected ranks of some documents, from 1, ``[rows]``.

        A document is before another with probability :math:`\Phi((s_j - s_d) / \sqrt2\sigma)`.
        """
        import torch

        def before(gap: Floats) -> Floats:
            scaled = torch.from_numpy(gap / (np.sqrt(2.0) * self.sigma))
            return np.asarray(torch.special.ndtr(scaled).numpy())

        return sum_of_pairs(scores, lists, rows, before, scale=self.sigma) + 0.5
