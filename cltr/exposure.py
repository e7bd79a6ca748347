r"""[3] What the logging policy gave to each document: :math:`\omega_0` and :math:`\rho_0`."""

from collections.abc import Callable

import numpy as np

from cltr.errors import UnsupportedError
from cltr.interfaces import ClickModel, Policy
from cltr.types import ClickStatistics, Exposure, Floats, Lists


def exact_exposure(
    scores: Floats, lists: Lists, policy: Policy, click_model: ClickModel, rank_weights: Floats
) -> Exposure:
    """From the logging policy's scores, without the log.

    Its weights have the same bits as the policy's own: at the start of training nothing has moved.
    """

    def expected(weights: Floats) -> Floats:
        return policy.expected_weights(scores, lists, weights)

    return _exposure(expected, click_model, rank_weights, source="exact")


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
    return _exposure(lambda weights: ranks @ weights, click_model, rank_weights, source=source)


def _exposure(
    expected: Callable[[Floats], Floats],
    click_model: ClickModel,
    rank_weights: Floats,
    *,
    source: str,
) -> Exposure:
    """From what each document gets of any weights of ranks, in expectation."""
    weights = expected(rank_weights)
    try:
        examination, trust = click_model.affine(len(rank_weights))
    except UnsupportedError:  # a reward that needs them asks the model itself, which says why
        unknown = np.full_like(weights, np.nan)
        return Exposure(weights, unknown, unknown, source)
    return Exposure(weights, expected(examination), expected(examination + trust), source)
