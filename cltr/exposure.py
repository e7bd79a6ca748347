r"""[3] What the logging policy gave to each document: :math:`\omega_0` and :math:`\rho_0`."""

from dataclasses import replace

import numpy as np

from cltr.errors import UnsupportedError
from cltr.interfaces import ClickModel, Policy
from cltr.types import ClickStatistics, Exposure, Floats, Lists


def exact_exposure(
    scores: Floats, lists: Lists, policy: Policy, click_model: ClickModel, rank_weights: Floats
) -> Exposure:
    """From the logging policy's scores, without the log."""
    top_k = len(rank_weights)
    ranks = policy.rank_distribution(scores, lists, top_k)
    exposure = exposure_of_ranks(ranks, click_model, rank_weights, source="exact")
    # The same bits as the policy's own weights: at the start of training nothing has moved.
    return replace(exposure, weights=policy.expected_weights(scores, lists, rank_weights))


def counted_exposure(
    statistics: ClickStatistics, click_model: ClickModel, rank_weights: Floats
) -> Exposure:
    """From the log, as the paper does: mean over the displays of each query (CIKM'24, Eq. 27)."""
    displays = np.maximum(statistics.displays_per_document, 1)[:, None]
    ranks = statistics.impressions[:, : len(rank_weights)] / displays
    return exposure_of_ranks(ranks, click_model, rank_weights, source="counted")


def exposure_of_ranks(
    ranks: Floats, click_model: ClickModel, rank_weights: Floats, *, source: str
) -> Exposure:
    """From how likely each document is at each rank, P(rank(d) = k), ``[docs, K]`` or more."""
    ranks = ranks[:, : len(rank_weights)]
    try:
        examination, trust = click_model.affine(len(rank_weights))
    except UnsupportedError:  # a reward that needs them asks the model itself, which says why
        examination = trust = np.full(len(rank_weights), np.nan)
    return Exposure(
        weights=ranks @ rank_weights,
        propensities=ranks @ examination,
        attention=ranks @ (examination + trust),
        source=source,
    )
