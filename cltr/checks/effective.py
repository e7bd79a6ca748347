"""How many interactions and clicks a log is worth for a ranking that it did not show."""

from dataclasses import dataclass

import numpy as np

from cltr.types import ClickStatistics, Floats, Integers


@dataclass(frozen=True)
class EffectiveSize:
    """What is left of a log when its clicks are weighted for another policy."""

    interactions: float
    """Effective number of interactions: Kish's share of impressions, times interactions."""
    clicks: float
    """Effective number of clicks; the relative standard error is about 1 / sqrt(clicks)."""
    largest: float
    """Largest weight of a click."""
    hidden: float
    """Share of the policy's weight on documents that the log cannot show; nothing estimates it."""


def effective_interactions(
    statistics: ClickStatistics, weights: Floats, propensities: Floats, examination: Floats
) -> EffectiveSize:
    r"""Kish's effective size for weights :math:`\omega_d \alpha_k / \rho_{0,d}`.

    Args:
        statistics: the log.
        weights: expected rank weights :math:`\omega` of the other policy, ``[docs]``.
        propensities: expected examination :math:`\rho_0` under the logging policy, ``[docs]``.
        examination: :math:`\alpha`, ``[K]``; ranks of the log beyond it are left out.

    Example:
        >>> part = ClickStatistics(
        ...     np.array([[9], [1]]), np.array([[9], [1]]), np.array([10]), np.array([0, 2])
        ... )
        >>> even = np.array([0.5, 0.5])
        >>> found = effective_interactions(part, even, np.array([0.9, 0.1]), np.ones(1))
        >>> round(found.interactions, 2)  # weights 5/9, nine times, and 5, once
        3.6
    """
    shown = statistics.impressions[:, : len(examination)]
    clicks = statistics.clicks[:, : len(examination)].sum(-1)
    known = propensities > 0
    each = np.divide(weights, propensities, out=np.zeros(len(weights)), where=known)
    table = each[:, None] * examination
    clicked = clicks > 0
    traffic = np.repeat(statistics.displays, np.diff(statistics.offsets))
    total = float(weights @ traffic)
    return EffectiveSize(
        interactions=_kish(table, shown) * statistics.n_interactions / max(int(shown.sum()), 1),
        clicks=_kish(each, clicks),
        largest=float(each[clicked].max(initial=0.0)),
        hidden=float((weights * traffic)[~known].sum()) / total if total > 0 else 0.0,
    )


def _kish(weights: Floats, counts: Integers) -> float:
    first, second = float((counts * weights).sum()), float((counts * weights**2).sum())
    return first**2 / second if second > 0 else 0.0
