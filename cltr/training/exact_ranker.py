"""The exact ranker: the gradient of the objective itself, with no sampling."""

import numpy as np
from pydantic import Field

from cltr.documents import Batch
from cltr.interfaces import Objective, Ranker
from cltr.options import Options
from cltr.policies import DEFAULT_ACCURACY, Backend, PlackettLuce
from cltr.types import Floats

PROBES = 2
"""Random signs in an estimate of the curvature, one call of the kernel each."""


class Exact(Ranker):
    r"""Exact gradients of a Plackett-Luce policy, by integration instead of sampling.

    By the chain rule :math:`\partial U/\partial s = \partial (\sum_d g_d \omega_d)/\partial s` with
    the slopes :math:`g_d = \partial U/\partial \omega_d` held fixed. See
    ``cltr.kernels.plackett_luce``.
    """

    name = "exact"

    class Options(Options):
        """How exact."""

        accuracy: float = Field(
            DEFAULT_ACCURACY,
            ge=1e-13,
            le=1e-3,
            description="largest error of an expected weight; smaller is slower.",
        )
        backend: Backend = Field(
            "numba", description="numba: compiled for CPUs; torch: for any device."
        )
        device: str = Field("cpu", description="device of backend=torch, such as cuda or cuda:1.")

    options: "Exact.Options"

    @property
    def policy(self) -> PlackettLuce:  # type: ignore[override]
        return PlackettLuce(
            accuracy=self.options.accuracy,
            backend=self.options.backend,
            device=self.options.device,
        )

    def gradient(self, batch: Batch, objective: Objective, rng: np.random.Generator) -> Floats:
        del rng
        return self.policy.gradient(batch.scores, objective.slope, batch.lists, batch.rank_weights)

    def curvature(self, batch: Batch, rng: np.random.Generator) -> Floats:
        r"""Hutchinson's estimate of the diagonal, :math:`E[z \odot J z]` over random signs z."""
        total = np.zeros(batch.scores.shape)
        for _ in range(PROBES):
            signs = np.where(batch.mask, rng.choice([-1.0, 1.0], size=batch.mask.shape), 0.0)
            total += signs * self.policy.gradient(
                batch.scores, signs, batch.lists, batch.rank_weights
            )
        return total / PROBES
