r"""What the logging policy gave to each document: :math:`\omega_0` and :math:`\rho_0`."""

from collections.abc import Callable, Sequence

import numpy as np

from cltr.interfaces import ClickModel, Policy
from cltr.policies.on_dataset import AppliedPolicy
from cltr.types import ClickStatistics, Exposure, Floats, Lists


def exposure_of(
    policy: AppliedPolicy, click_model: ClickModel, rank_weights: Floats, *, source: str
) -> Exposure:
    """Of a policy on the lists of a split; ``source`` says how the policy is known.

    With scores, its weights have the same bits as the policy's own: at the start of training
    nothing has moved.
    """
    return _exposure(policy.several_weights, click_model, rank_weights, source=source)


def exact_exposure(
    scores: Floats, lists: Lists, policy: Policy, click_model: ClickModel, rank_weights: Floats
) -> Exposure:
    """From the logging policy's scores, without the log."""

    def expected(several: Sequence[Floats]) -> list[Floats]:
        return policy.several_weights(scores, lists, several)

    return _exposure(expected, click_model, rank_weights, source="exact")


def counted_exposure(
    statistics: ClickStatistics, click_model: ClickModel, rank_weights: Floats
) -> Exposure:
    """From the log, as the paper does: mean over the displays of each query (CIKM'24, Eq. 27)."""
    displays = np.maximum(statistics.displays_per_document, 1)[:, None]
    chances = statistics.impressions[:, : len(rank_weights)] / displays

    def expected(several: Sequence[Floats]) -> list[Floats]:
        return [chances @ weights for weights in several]

    return _exposure(expected, click_model, rank_weights, source="counted")


def _exposure(
    expected: Callable[[Sequence[Floats]], list[Floats]],
    click_model: ClickModel,
    rank_weights: Floats,
    *,
    source: str,
) -> Exposure:
    """From what each document gets of several rank weights, in expectation."""
    affine = click_model.affine(len(rank_weights))
    if affine is None:  # a reward that needs it asks the model itself, which says why
        (weights,) = expected([rank_weights])
        unknown = np.full_like(weights, np.nan)
        return Exposure(weights, unknown, unknown, source)
    examination, trust = affine
    asked = [rank_weights, examination, examination + trust]
    weights, propensities, attention = expected(asked)
    return Exposure(weights, propensities, attention, source)
