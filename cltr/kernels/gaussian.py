r"""Gaussian noise on scores: exact expected weights, compiled.

Documents are sorted by :math:`z_d = s_d + \sigma\epsilon_d`, :math:`\epsilon_d \sim N(0, 1)`. As in
``cltr.kernels.plackett_luce``, given that document d ends at x the others lie above it
independently, now with probability :math:`p_j(x) = \Phi((s_j - x)/\sigma)`, so

.. math:: \omega_d = \int \tfrac1\sigma \phi\big(\tfrac{x - s_d}{\sigma}\big)
          \sum_{k \le K} w_k \, P(k-1 \text{ of the others above } x)\, dx .

The inner sum is the same walk along the list, linear in K; x runs from above the highest score
down until the top K are complete. Stretches between scores where nothing can end are jumped over,
so that the cost stays bounded however small :math:`\sigma` is.

Each list is computed alone, by one thread: results do not depend on the number of threads.
"""

import math

import numpy as np
from numba import njit, prange

from cltr.kernels.lanes import LANES
from cltr.kernels.race_integrals import most_arrived, walk

_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(**_JIT)
def _spacing(n, nodes):
    r"""Distance of nodes in units of :math:`\sigma`.

    Near the top of n scores the number above x grows like :math:`e^{-hx}` with a hazard h of at
    most :math:`\sqrt{1 + 2\log n}`: there x is a log-time, and an octave of it needs ``nodes``.
    """
    return math.log(2.0) / (nodes * math.sqrt(1.0 + 2.0 * math.log(n)))


@njit(**_JIT)
def _next_active(scores, top, reach):
    """The highest point not above ``top`` at which a document can end; -inf behind the last."""
    nearest = -np.inf
    for score in scores:
        if score <= top + reach:
            nearest = max(nearest, score)
    return min(top, nearest + reach)


@njit(**_JIT)
def _fill(scores, top, step, present, absent, density):
    """Chances to lie above each of LANES nodes, and densities of ending there."""
    for d in range(len(scores)):
        for lane in range(LANES):
            distance = top - lane * step - scores[d]
            present[d, lane] = 0.5 * math.erfc(distance * math.sqrt(0.5))
            absent[d, lane] = 1.0 - present[d, lane]
            density[d, lane] = math.exp(-0.5 * distance * distance) / math.sqrt(2.0 * math.pi)


@njit(**_JIT)
def _collect(present, absent, density, before, weights, after, depth, step, out):
    """Walk back from the end of the list; add to each document what it gains at these nodes."""
    for i in range(depth):
        for lane in range(LANES):
            after[i, lane] = weights[i]
    for d in range(present.shape[0] - 1, -1, -1):
        for i in range(depth):
            for lane in range(LANES):
                out[d] += step * density[d, lane] * before[d, i, lane] * after[i, lane]
        for i in range(depth):
            for lane in range(LANES):
                after[i, lane] = (
                    absent[d, lane] * after[i, lane] + present[d, lane] * after[i + 1, lane]
                )


@njit(**_JIT)
def _weights_of_list(scores, weights, nodes, accuracy, reach, out):
    n = len(scores)
    ranks = min(len(weights), n)
    step = _spacing(n, nodes)
    present = np.empty((n, LANES))
    absent = np.empty((n, LANES))
    density = np.empty((n, LANES))
    before = np.empty((n + 1, ranks, LANES))
    after = np.zeros((ranks + 1, LANES))
    top = _next_active(scores, np.inf, reach)
    unfinished = 1.0
    while unfinished > accuracy and top > -np.inf:
        _fill(scores, top, step, present, absent, density)
        depth = most_arrived(present, ranks, accuracy)
        unfinished = walk(present, absent, before, depth)
        _collect(present, absent, density, before, weights, after, depth, step, out)
        top = _next_active(scores, top - LANES * step, reach)


@njit(parallel=True, **_JIT)
def expected_weights(scores, starts, lengths, weights, nodes, accuracy, reach, out):
    r"""Add :math:`\omega` of every list to ``out``; ``scores`` in units of :math:`\sigma`.

    ``reach`` is how far from its score a document can end, but for ``accuracy`` of the cases.
    """
    for q in prange(len(starts)):
        n = lengths[q]
        if n > 0:
            chunk = slice(starts[q], starts[q] + n)
            _weights_of_list(scores[chunk], weights, nodes, accuracy, reach, out[chunk])
