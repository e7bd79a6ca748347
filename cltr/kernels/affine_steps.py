r"""Compiled steps of fitting :math:`P(C=1|d,j) = \beta_j + \alpha_j R_d` to counts by cell.

Whether an impression was relevant is hidden. With :math:`A = \alpha + \beta` and
:math:`B = \beta`, a click was on something relevant with probability :math:`AR / (AR + B(1-R))`,
and a skip passed over it with :math:`(1-A)R / ((1-A)R + (1-B)(1-R))`.

Documents are cut into blocks of a fixed number, each summed alone and added in order: results do
not depend on the number of threads.
"""
# mypy: ignore-errors

import math

import numpy as np
from numba import njit, prange

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

BLOCKS = 64
"""Into how many parts the documents are cut; more than any number of cores."""
_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(**_JIT)
def _share(part, whole):
    """Their ratio; 0 where both are 0, since what cannot happen has no share."""
    return part / whole if whole > 0.0 else 0.0


@njit(parallel=True, **_JIT)
def expect(starts, cells, shown, clicked, relevant, irrelevant, relevance):
    """The E-step: expected relevant impressions, and the log-likelihood.

    ``starts`` says where each document's entries begin, ``[docs + 1]``; an entry has a cell, and
    how often it was shown and clicked. ``relevant`` and ``irrelevant`` are A and B, ``[cells]``.

    Returns:
        Expected relevant impressions of documents, ``[docs]``; of cells ``[3, cells]``: clicks on
        relevant, relevant impressions, clicks on irrelevant; and the log-likelihood.
    """
    n = len(relevance)
    hits = np.zeros(n)
    sums = np.zeros((BLOCKS, 3, len(relevant)))
    values = np.zeros(BLOCKS)
    log_relevant = np.log(relevant)
    for block in prange(BLOCKS):
        for d in range(block * n // BLOCKS, (block + 1) * n // BLOCKS):
            r = relevance[d]
            log_r = math.log(r)
            total = 0.0
            for i in range(starts[d], starts[d + 1]):
                j = cells[i]
                a, b = relevant[j], irrelevant[j]
                good = both = 0.0
                if clicked[i] > 0.0 and b == 0.0:  # without trust, only relevance is clicked
                    good = clicked[i]
                    values[block] += clicked[i] * (log_relevant[j] + log_r)
                elif clicked[i] > 0.0:
                    click = a * r + b * (1.0 - r)
                    good = clicked[i] * _share(a * r, click)
                    values[block] += clicked[i] * math.log(click)
                skips = shown[i] - clicked[i]
                if skips > 0.0:
                    skip = (1.0 - a) * r + (1.0 - b) * (1.0 - r)
                    both = skips * _share((1.0 - a) * r, skip)
                    values[block] += skips * math.log(skip)
                both += good
                total += both
                sums[block, 0, j] += good
                sums[block, 1, j] += both
                sums[block, 2, j] += clicked[i] - good
            hits[d] = total
    return hits, sums.sum(0), values.sum()


@njit(**_JIT)
def _steepness(first, last, cells, shown, clicked, relevant, irrelevant, r):
    """Slope and curvature in R of one document's log-likelihood."""
    slope = curvature = 0.0
    for i in range(first, last):
        j = cells[i]
        rise = relevant[j] - irrelevant[j]
        if clicked[i] > 0:
            ratio = rise / (irrelevant[j] + rise * r)
            slope += clicked[i] * ratio
            curvature -= clicked[i] * ratio * ratio
        if shown[i] > clicked[i]:
            ratio = rise / (1.0 - irrelevant[j] - rise * r)
            slope -= (shown[i] - clicked[i]) * ratio
            curvature -= (shown[i] - clicked[i]) * ratio * ratio
    return slope, curvature


@njit(parallel=True, **_JIT)
def likeliest(starts, cells, shown, clicked, relevant, irrelevant, smoothing, prior):
    """The relevance that makes each document's clicks likeliest, click probabilities given.

    The (penalised) log-likelihood is concave in R, so Newton steps inside a shrinking bracket find
    it; a document that was never shown gets the prior.
    """
    n = len(starts) - 1
    found = np.empty(n)
    for d in prange(n):
        first, last = starts[d], starts[d + 1]
        low, high, r = 0.0, 1.0, prior
        if first == last:
            found[d] = prior
            continue
        for _ in range(80):
            inside = min(max(r, 1e-12), 1.0 - 1e-12)
            slope, curvature = _steepness(
                first, last, cells, shown, clicked, relevant, irrelevant, inside
            )
            slope += smoothing * (prior / inside - (1.0 - prior) / (1.0 - inside))
            curvature -= smoothing * (prior / inside**2 + (1.0 - prior) / (1.0 - inside) ** 2)
            if slope > 0.0:
                low = inside
            else:
                high = inside
            step = inside - slope / curvature if curvature < 0.0 else (low + high) / 2
            r = step if low < step < high else (low + high) / 2
            if abs(r - inside) < 1e-12 or high - low < 1e-12:
                break
        found[d] = r
    return found
