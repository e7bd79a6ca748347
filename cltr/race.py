r"""[6] Plackett-Luce as a race: exact expected weights and their gradient, compiled.

A Plackett-Luce ranking is the order of arrival of independent exponential clocks with rates
:math:`\lambda_d = e^{s_d}`. Given that document d arrives at time t, each other document is
already there with probability :math:`p_j(t) = 1 - e^{-\lambda_j t}`, so

.. math:: \omega_d = \int_0^\infty \lambda_d e^{-\lambda_d t}
          \sum_{k \le K} w_k \, P(k-1 \text{ of the others before } t)\, dt .

*Linear in K.* The inner sum is the end of a walk along the list that counts arrivals. A prefix
distribution ``before[i]`` (i arrivals so far) and a suffix value ``after[i]`` (expected weight if
i came so far) both take one multiply-add per rank and document, and meet at d without division.

*The gradient of any objective.* With slopes g, :math:`\sum_d g_d \omega_d` is the same walk in
which exactly one document is marked at price :math:`g_d`; it is linear in each document's factors
(absent, present, marked), so two marked walks give all derivatives (reverse mode, written out).

*Nodes.* The trapezoid rule in log t converges exponentially; an octave is cut into a power of two
of nodes, so that arrival probabilities follow by doubling, :math:`p(2t) = p(2-p)`, without
``exp``. Below the first node the integrand is its own Taylor series and the rest of the sum is
geometric; above, the walk itself says when the top K are complete. So the nodes are placed per
list, as many as its range of scores needs.

Each list is computed alone, by one thread: results do not depend on the number of threads.
"""

import math

import numpy as np
from numba import njit, prange

from cltr.ranges import FLOOR

LANES = 8
"""Nodes that are worked on together: one vector register of doubles."""
_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


def nodes_per_octave(top_k: int, accuracy: float) -> int:
    r"""How many nodes an octave of time needs: 1, 2, 4 or 8 (at 1e-7 enough for 150 ranks).

    The sharpest integrand is the log-time of the K-th of many equal clocks, a Gamma(K) variable;
    the trapezoid rule with step h leaves :math:`|\Gamma(K + 2\pi i/h)| / \Gamma(K)` of it.

    Example:
        >>> nodes_per_octave(5, 1e-7), nodes_per_octave(20, 1e-7), nodes_per_octave(50, 1e-7)
        (2, 4, 8)
    """
    for nodes in (1, 2, 4):
        y = 2 * math.pi * nodes / math.log(2)
        log_error = 0.5 * (math.log(2 * math.pi * y) - math.pi * y)
        log_error += sum(0.5 * math.log1p((y / j) ** 2) for j in range(1, top_k))
        if log_error < math.log(accuracy):
            return nodes
    return 8


@njit(**_JIT)
def _rates(scores):
    """Rates of the clocks, the fastest 1, and their sum."""
    highest = scores[0]
    for score in scores:
        highest = max(highest, score)
    rates = np.empty(len(scores))
    total = 0.0
    for d in range(len(scores)):
        rates[d] = math.exp(max(scores[d] - highest, FLOOR))
        total += rates[d]
    return rates, total


@njit(**_JIT)
def _start(rates, first, nodes, present, absent):
    """Arrival probabilities at the first LANES nodes."""
    for d in range(len(rates)):
        for lane in range(nodes):
            present[d, lane] = -math.expm1(-rates[d] * first * 2.0 ** (lane / nodes))
        for lane in range(nodes, LANES):
            earlier = present[d, lane - nodes]
            present[d, lane] = earlier * (2.0 - earlier)
        for lane in range(LANES):
            absent[d, lane] = 1.0 - present[d, lane]


@njit(**_JIT)
def _advance(nodes, present, absent):
    """Move every lane LANES nodes on, by doubling the time LANES / nodes times.

    Near 1 the small complement is what is exact, near 0 the probability itself.
    """
    for d in range(present.shape[0]):
        for _ in range(LANES // nodes):
            for lane in range(LANES):
                p = present[d, lane]
                q = absent[d, lane]
                double = p * (2.0 - p)
                absent[d, lane] = q * q if p > 0.25 else 1.0 - double
                present[d, lane] = double


@njit(**_JIT)
def _walk(present, absent, before):
    """Fill ``before[d, i]``: the chance that i of the documents ahead of d in the list came.

    Returns the chance, at the last node, that the top ranks are not yet complete.
    """
    n, depth = present.shape[0], before.shape[1]
    before[0] = 0.0
    before[0, 0] = 1.0
    for d in range(n):
        for lane in range(LANES):
            before[d + 1, 0, lane] = absent[d, lane] * before[d, 0, lane]
        for i in range(1, depth):
            for lane in range(LANES):
                before[d + 1, i, lane] = (
                    absent[d, lane] * before[d, i, lane] + present[d, lane] * before[d, i - 1, lane]
                )
    unfinished = 0.0
    for i in range(depth):
        unfinished += before[n, i, LANES - 1]
    return unfinished


@njit(parallel=True, **_JIT)
def expected_weights(scores, starts, lengths, weights, nodes, accuracy, out):
    r"""Write :math:`\omega` of every list into ``out`` (same layout as ``scores``)."""
    for q in prange(len(starts)):
        n = lengths[q]
        if n > 0:
            chunk = slice(starts[q], starts[q] + n)
            _weights_of_list(scores[chunk], weights, nodes, accuracy, out[chunk])


@njit(**_JIT)
def _weights_of_list(scores, weights, nodes, accuracy, out):
    n = len(scores)
    depth = min(len(weights), n)
    rates, total = _rates(scores)
    first = accuracy ** (1 / 3) / total
    step = math.log(2.0) / nodes

    below1 = step * first / math.expm1(step)
    below2 = step * first**2 / math.expm1(2 * step)
    top = weights[0]
    drop = (weights[1] if depth > 1 else 0.0) - top
    for d in range(n):
        rate = rates[d]
        out[d] = rate * (top * below1 + below2 * (drop * (total - rate) - top * rate))

    present = np.empty((n, LANES))
    absent = np.empty((n, LANES))
    before = np.empty((n + 1, depth, LANES))
    after = np.empty((depth, LANES))
    inner = np.empty(LANES)
    times = np.empty(LANES)
    _start(rates, first, nodes, present, absent)
    for lane in range(LANES):
        times[lane] = first * 2.0 ** (lane / nodes)

    unfinished = 1.0
    while unfinished > accuracy:
        unfinished = _walk(present, absent, before)
        for i in range(depth):
            for lane in range(LANES):
                after[i, lane] = weights[i]
        for d in range(n - 1, -1, -1):
            for lane in range(LANES):
                inner[lane] = 0.0
            for i in range(depth):
                for lane in range(LANES):
                    inner[lane] += before[d, i, lane] * after[i, lane]
            mass = 0.0
            for lane in range(LANES):
                mass += times[lane] * absent[d, lane] * inner[lane]
            out[d] += step * rates[d] * mass
            for i in range(depth - 1):
                for lane in range(LANES):
                    after[i, lane] = (
                        absent[d, lane] * after[i, lane] + present[d, lane] * after[i + 1, lane]
                    )
            for lane in range(LANES):
                after[depth - 1, lane] = absent[d, lane] * after[depth - 1, lane]
        _advance(nodes, present, absent)
        for lane in range(LANES):
            times[lane] *= 2.0 ** (LANES // nodes)


@njit(parallel=True, **_JIT)
def gradient(scores, slopes, starts, lengths, weights, nodes, accuracy, out):
    r"""Write :math:`\partial \sum_d g_d \omega_d / \partial s` of every list into ``out``."""
    for q in prange(len(starts)):
        n = lengths[q]
        if n > 0:
            chunk = slice(starts[q], starts[q] + n)
            _gradient_of_list(scores[chunk], slopes[chunk], weights, nodes, accuracy, out[chunk])


@njit(**_JIT)
def _gradient_of_list(scores, slopes, weights, nodes, accuracy, out):
    n = len(scores)
    depth = min(len(weights), n)
    rates, total = _rates(scores)
    first = accuracy ** (1 / 3) / total
    step = math.log(2.0) / nodes

    below1 = step * first / math.expm1(step)
    below2 = step * first**2 / math.expm1(2 * step)
    top = weights[0]
    drop = (weights[1] if depth > 1 else 0.0) - top
    priced = 0.0
    for d in range(n):
        priced += slopes[d] * rates[d]
    for d in range(n):
        rate = rates[d]
        own = top * below1 + below2 * (drop * (total - rate) - 2 * top * rate)
        out[d] = rate * (slopes[d] * own + below2 * drop * (priced - slopes[d] * rate))

    present = np.empty((n, LANES))
    absent = np.empty((n, LANES))
    mark = np.empty(LANES)
    before = np.empty((n + 1, depth, LANES))
    marked_before = np.empty((n + 1, depth, LANES))
    after = np.zeros((depth + 1, LANES))
    marked_after = np.zeros((depth + 1, LANES))
    by_absence = np.empty(LANES)
    by_presence = np.empty(LANES)
    by_mark = np.empty(LANES)
    times = np.empty(LANES)
    _start(rates, first, nodes, present, absent)
    for lane in range(LANES):
        times[lane] = first * 2.0 ** (lane / nodes)

    unfinished = 1.0
    while unfinished > accuracy:
        unfinished = _walk(present, absent, before)
        # The walk with one mark set so far, among the documents ahead of d.
        marked_before[0] = 0.0
        for d in range(n):
            price = slopes[d] * rates[d]
            for lane in range(LANES):
                mark[lane] = price * absent[d, lane]
                marked_before[d + 1, 0, lane] = (
                    absent[d, lane] * marked_before[d, 0, lane] + mark[lane] * before[d, 0, lane]
                )
            for i in range(1, depth):
                for lane in range(LANES):
                    marked_before[d + 1, i, lane] = (
                        absent[d, lane] * marked_before[d, i, lane]
                        + present[d, lane] * marked_before[d, i - 1, lane]
                        + mark[lane] * before[d, i, lane]
                    )
        # Backwards: ``after`` needs no further mark, ``marked_after`` still has one to set.
        for i in range(depth):
            for lane in range(LANES):
                after[i, lane] = weights[i]
                marked_after[i, lane] = 0.0
        for d in range(n - 1, -1, -1):
            price = slopes[d] * rates[d]
            for lane in range(LANES):
                by_absence[lane] = 0.0
                by_presence[lane] = 0.0
                by_mark[lane] = 0.0
            for i in range(depth):
                for lane in range(LANES):
                    plain = before[d, i, lane]
                    marked = marked_before[d, i, lane]
                    by_mark[lane] += plain * after[i, lane]
                    by_absence[lane] += plain * marked_after[i, lane] + marked * after[i, lane]
                    by_presence[lane] += (
                        plain * marked_after[i + 1, lane] + marked * after[i + 1, lane]
                    )
            mass = 0.0
            for lane in range(LANES):
                hazard = rates[d] * times[lane]
                mass += (
                    times[lane]
                    * absent[d, lane]
                    * (
                        hazard * (by_presence[lane] - by_absence[lane])
                        + price * (1.0 - hazard) * by_mark[lane]
                    )
                )
            out[d] += step * mass
            for i in range(depth):
                for lane in range(LANES):
                    marked_after[i, lane] = (
                        absent[d, lane] * marked_after[i, lane]
                        + present[d, lane] * marked_after[i + 1, lane]
                        + price * absent[d, lane] * after[i, lane]
                    )
            for i in range(depth):
                for lane in range(LANES):
                    after[i, lane] = (
                        absent[d, lane] * after[i, lane] + present[d, lane] * after[i + 1, lane]
                    )
        _advance(nodes, present, absent)
        for lane in range(LANES):
            times[lane] *= 2.0 ** (LANES // nodes)
