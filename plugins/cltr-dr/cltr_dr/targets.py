r"""Targets of the regression: three ways to write clicks as a cross-entropy.

Each is a sum over documents d and columns j of

.. math:: -\big[ h_{dj} \log(a_j \hat R_d + b_j) + m_{dj} \log(1 - a_j \hat R_d - b_j) \big]

and they differ in hits h, misses m, slope a and offset b. All come from statistics: the number of
terms is that of displayed documents and ranks, whatever N.
"""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from cltr.types import Affine, Floats, Integers

LossName: TypeAlias = Literal["clicks", "clamped", "paper"]


class Targets(NamedTuple):
    """Hits and misses, ``[docs, columns]``; slope and offset of each column, ``[columns]``."""

    hits: Floats | Integers
    misses: Floats | Integers
    slope: Floats
    offset: Floats


def make_targets(
    loss: LossName,
    *,
    impressions: Floats | Integers,
    clicks: Floats | Integers,
    affine: Affine,
    inverse_propensities: Floats,
) -> Targets:
    r"""Make the targets of documents from their statistics.

    ``clicks`` has one column per rank and predicts the clicks: hits are clicks at rank k,
    misses are displays without a click, :math:`a = \alpha_k, b = \beta_k`. This loss is
    the likelihood of the log. It is bounded, and its minimum is the best estimate from the clicks.

    ``paper`` has one column and predicts relevance: hits are
    :math:`\sum_i (c_i - \beta_{k_i}) / \hat\rho_d`, misses
    :math:`\sum_i (\alpha_{k_i} + \beta_{k_i} - c_i) / \hat\rho_d`, :math:`a = 1, b = 0`. Right on
    average, but either may be *negative* (no click at rank 1 is -0.65 hits), and the loss is then
    unbounded below: with few displays :math:`\hat R` goes to 0 or 1.

    ``clamped`` is ``paper`` with negative hits and misses set to 0: bounded, but biased upwards,
    since what is cut off is mostly evidence of irrelevance.

    Args:
        loss: ``clicks``, ``paper`` or ``clamped``.
        impressions: n(d, k), ``[docs, K]``.
        clicks: c(d, k), ``[docs, K]``.
        affine: :math:`\alpha, \beta`.
        inverse_propensities: :math:`1/\hat\rho`, ``[docs]``; not used by ``clicks``.

    Example:
        >>> shown = dict(impressions=np.array([[2.0, 1.0]]), clicks=np.array([[1.0, 0.0]]))
        >>> affine = Affine(np.array([0.35, 0.53]), np.array([0.65, 0.26]))
        >>> for loss in ("clicks", "paper", "clamped"):
        ...     made = make_targets(loss, affine=affine, inverse_propensities=np.ones(1), **shown)
        ...     print(loss, made.hits.round(2).tolist(), made.misses.round(2).tolist())
        clicks [[1.0, 0.0]] [[1.0, 1.0]]
        paper [[-0.56]] [[1.79]]
        clamped [[0.0]] [[1.79]]

    References: Oosterhuis (TOIS'23), Eq. 45, for ``paper``.
    """
    examination, trust = affine
    if loss == "clicks":
        return Targets(clicks, impressions - clicks, examination, trust)
    hits = (clicks - impressions * trust).sum(-1) * inverse_propensities
    misses = (impressions * (examination + trust) - clicks).sum(-1) * inverse_propensities
    if loss == "clamped":
        hits, misses = np.maximum(hits, 0), np.maximum(misses, 0)
    return Targets(hits[:, None], misses[:, None], np.ones(1), np.zeros(1))
