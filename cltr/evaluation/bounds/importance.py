r"""Limits of importance-weighted clicks, from the policy and the propensities alone."""

import numpy as np

from cltr.evaluation.bounds.interval import Limits
from cltr.types import Affine, Floats, Lists


def click_limits(differences: Floats, propensities: Floats, affine: Affine, lists: Lists) -> Limits:
    r"""The least and the most that one interaction can add to an IPS difference.

    An interaction shows at most K documents of a query, each at one rank. It adds

    .. math:: X_i = \sum_{d \text{ shown}} (\omega - \omega_0)_d \frac{c_i(d) - \beta_{k_i(d)}}
              {\rho_{0,d}}.

    The limits hold for every ranking and every click, and need no log. A document with propensity
    0 is never shown. Clip propensities before, and the limits are narrower.

    Args:
        differences: :math:`\omega - \omega_0`, ``[docs]``.
        propensities: :math:`\rho_0`, ``[docs]``.
        affine: trust by rank, ``[K]``.
        lists: where each query's documents lie, end to end.

    Example:
        >>> affine = Affine(np.ones(1), np.zeros(1))
        >>> lists = Lists.of_offsets(np.array([0, 2]))
        >>> click_limits(np.array([0.3, -0.3]), np.array([0.5, 0.5]), affine, lists)
        Limits(low=-0.6, high=0.6)
    """
    shown = propensities > 0
    each = np.divide(differences, propensities, out=np.zeros(len(differences)), where=shown)
    clicked, skipped = each * (1.0 - affine.trust.min()), -each * affine.trust.max()
    top_k = len(affine.trust)
    return Limits(
        low=-_largest_sum(np.maximum(-np.minimum(clicked, skipped), 0.0), lists, top_k),
        high=_largest_sum(np.maximum(np.maximum(clicked, skipped), 0.0), lists, top_k),
    )


def _largest_sum(values: Floats, lists: Lists, top_k: int) -> float:
    """The largest sum of the K largest values of a list."""
    order = np.lexsort((-values, lists.owners))
    counted = np.where(lists.places < top_k, values[order], 0.0)
    return float(lists.sum(counted).max(initial=0.0))
