r"""How well clicks determine fitted examination and trust: their covariance, in closed form.

With :math:`p_{dk} = \alpha_k R_d + \beta_k` and a relevance for each document, the information that
n impressions of a document at rank k hold is :math:`n / p(1-p)`. What a document's own relevance
takes of it is subtracted (its Schur complement), and the rest is inverted. A fit that also uses how
relevance is distributed over documents knows a little more, so this covariance is slightly too
large rather than too small.

*Clicks of one query may depend on each other.* Then the scores of queries vary more than the
information says; the covariance is multiplied by that ratio where it is above 1.

*The scale of relevance* (:mod:`cltr.clicks.affine_fit`) has no error here: the covariance is that
of examination and trust on the scale of the fit. Without trust, the rank that is examined most has
examination 1 and no error. With trust, what a change of scale does is projected out.
"""

import numpy as np

from cltr.types import Affine, ClickStatistics, Floats

INSIDE = 0.02
"""Relevance is kept this far from 0 and 1, where the information would have no bound."""
UNDETERMINED = 1e-9
"""Eigenvalues of the information below this share of the largest are 0: no click tells."""


def fit_covariance(statistics: ClickStatistics, affine: Affine, relevance: Floats) -> Floats:
    """Covariance of fitted values, ``[2, K, 2, K]``: first examination, then trust.

    All NaN if the clicks leave some of them open, for example where two ranks share no document.

    Args:
        statistics: the clicks that were fitted.
        affine: what was fitted to them; trust that is 0 everywhere has no error.
        relevance: of each document, ``[docs]``.
    """
    information, scores = _information(statistics, affine, relevance)
    basis = _free_directions(affine)
    seen = basis.T @ information @ basis
    sizes, axes = np.linalg.eigh(seen)
    top_k = statistics.top_k
    if not len(sizes):  # one rank without trust: its examination is 1 by convention
        return np.zeros((2, top_k, 2, top_k))
    if not sizes.min() > UNDETERMINED * sizes.max():
        return np.full((2, top_k, 2, top_k), np.nan)
    inverse = (axes / sizes) @ axes.T
    reduced = scores @ basis
    spread = float(np.einsum("qi,ij,qj->", reduced, inverse, reduced)) / len(sizes)
    found = max(1.0, spread) * basis @ inverse @ basis.T
    return np.asarray(found.reshape(2, top_k, 2, top_k))


def _information(
    statistics: ClickStatistics, affine: Affine, relevance: Floats
) -> tuple[Floats, Floats]:
    """Of examination and trust, ``[2K, 2K]``, and the scores of each query, ``[queries, 2K]``."""
    shown = statistics.impressions.any(-1)
    owners = np.repeat(np.arange(len(statistics.displays)), np.diff(statistics.offsets))[shown]
    impressions = statistics.impressions[shown].astype(np.float64)
    r = np.clip(relevance[shown], INSIDE, 1.0 - INSIDE)[:, None]
    p = np.clip(r * affine.examination + affine.trust, 1e-3, 1.0 - 1e-3)
    weight = impressions / (p * (1.0 - p))
    residual = (statistics.clicks[shown] - impressions * p) / (p * (1.0 - p))
    # Derivatives of p: r for examination, 1 for trust, examination for relevance.
    own = (weight * affine.examination**2).sum(1, keepdims=True)
    shared = np.concatenate([weight * r, weight], 1) * np.tile(affine.examination, 2)
    taken = np.divide(shared, own, out=np.zeros(shared.shape), where=own > 0)
    top_k = len(affine.trust)
    whole = np.zeros((2, top_k, 2, top_k))
    ranks = np.arange(top_k)
    whole[0, ranks, 0, ranks] = (weight * r * r).sum(0)
    whole[0, ranks, 1, ranks] = whole[1, ranks, 0, ranks] = (weight * r).sum(0)
    whole[1, ranks, 1, ranks] = weight.sum(0)
    by_document = np.concatenate([residual * r, residual], 1)
    by_document -= taken * (residual * affine.examination).sum(1, keepdims=True)
    scores = np.zeros((len(statistics.displays), 2 * top_k))
    np.add.at(scores, owners, by_document)
    return whole.reshape(2 * top_k, 2 * top_k) - taken.T @ shared, scores


def _free_directions(affine: Affine) -> Floats:
    """An orthonormal basis of what clicks can tell, ``[2K, dimensions]``."""
    top_k = len(affine.trust)
    if not affine.trust.any():
        free = np.arange(top_k) != int(affine.examination.argmax())
        return np.eye(2 * top_k)[:, :top_k][:, free]
    scale = np.zeros((2 * top_k, 2))
    scale[:top_k, 0] = scale[top_k:, 1] = affine.examination
    full, _ = np.linalg.qr(np.concatenate([scale, np.eye(2 * top_k)], 1))
    return np.asarray(full[:, 2:])
