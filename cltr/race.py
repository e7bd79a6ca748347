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

*Many ranks.* Early on few have arrived, so the walk counts no further than so many can have
(``arrivals.most_arrived``): of the octaves that K ranks need, only the last ones cost K.

Each list is computed alone, by one thread: results do not depend on the number of threads.
"""

import math

import numpy as np
from numba import njit, prange

from cltr.arrivals import LANES, advance, most_arrived, nodes_per_octave, rates_of, start, walk

__all__ = ["expected_weights", "gradient", "nodes_per_octave"]

_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


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
    ranks = min(len(weights), n)
    rates, total = rates_of(scores)
    first = accuracy ** (1 / 3) / total
    step = math.log(2.0) / nodes

    below1 = step * first / math.expm1(step)
    below2 = step * first**2 / math.expm1(2 * step)
    top = weights[0]
    drop = (weights[1] if ranks > 1 else 0.0) - top
    for d in range(n):
        rate = rates[d]
        out[d] = rate * (top * below1 + below2 * (drop * (total - rate) - top * rate))

    times = np.empty(LANES)
    present = np.empty((n, LANES))
    absent = np.empty((n, LANES))
    before = np.empty((n + 1, ranks, LANES))
    after = np.zeros((ranks + 1, LANES))
    passes = max(nodes // LANES, 1)
    for shift in range(passes):
        start(rates, first * 2.0 ** (shift / nodes), nodes // passes, times, present, absent)
        unfinished = 1.0
        while unfinished > accuracy:
            depth = most_arrived(present, ranks, accuracy)
            unfinished = walk(present, absent, before, depth)
            _add_weights(rates, times, present, absent, before, after, weights, depth, step, out)
            advance(nodes // passes, times, present, absent)


@njit(**_JIT)
def _add_weights(rates, times, present, absent, before, after, weights, depth, step, out):
    """Walk back from the end of the list; add to each document what it gains at these nodes."""
    inner = np.empty(LANES)
    for i in range(depth):
        for lane in range(LANES):
            after[i, lane] = weights[i]
    for d in range(len(rates) - 1, -1, -1):
        for lane in range(LANES):
            inner[lane] = 0.0
        for i in range(depth):
            for lane in range(LANES):
                inner[lane] += before[d, i, lane] * after[i, lane]
        mass = 0.0
        for lane in range(LANES):
            mass += times[lane] * absent[d, lane] * inner[lane]
        out[d] += step * rates[d] * mass
        for i in range(depth):
            for lane in range(LANES):
                after[i, lane] = (
                    absent[d, lane] * after[i, lane] + present[d, lane] * after[i + 1, lane]
                )


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
    ranks = min(len(weights), n)
    rates, total = rates_of(scores)
    first = accuracy ** (1 / 3) / total
    step = math.log(2.0) / nodes

    below1 = step * first / math.expm1(step)
    below2 = step * first**2 / math.expm1(2 * step)
    top = weights[0]
    drop = (weights[1] if ranks > 1 else 0.0) - top
    prices = slopes * rates
    priced = 0.0
    for d in range(n):
        priced += prices[d]
    for d in range(n):
        rate = rates[d]
        own = top * below1 + below2 * (drop * (total - rate) - 2 * top * rate)
        out[d] = prices[d] * own + rate * below2 * drop * (priced - prices[d])

    times = np.empty(LANES)
    present = np.empty((n, LANES))
    absent = np.empty((n, LANES))
    before = np.empty((n + 1, ranks, LANES))
    marked_before = np.empty((n + 1, ranks, LANES))
    after = np.zeros((ranks + 1, LANES))
    marked_after = np.zeros((ranks + 1, LANES))
    passes = max(nodes // LANES, 1)
    for shift in range(passes):
        start(rates, first * 2.0 ** (shift / nodes), nodes // passes, times, present, absent)
        unfinished = 1.0
        while unfinished > accuracy:
            depth = most_arrived(present, ranks, accuracy)
            unfinished = walk(present, absent, before, depth)
            _walk_marked(prices, present, absent, before, marked_before, depth)
            for i in range(depth):
                for lane in range(LANES):
                    after[i, lane] = weights[i]
                    marked_after[i, lane] = 0.0
            _add_gradient(
                rates,
                prices,
                times,
                present,
                absent,
                before,
                marked_before,
                after,
                marked_after,
                depth,
                step,
                out,
            )
            advance(nodes // passes, times, present, absent)


@njit(**_JIT)
def _walk_marked(prices, present, absent, before, marked_before, depth):
    """As ``walk``, with one mark set so far, among the documents ahead of d."""
    mark = np.empty(LANES)
    marked_before[0, :depth] = 0.0
    for d in range(len(prices)):
        price = prices[d]
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


@njit(**_JIT)
def _add_gradient(
    rates,
    prices,
    times,
    present,
    absent,
    before,
    marked_before,
    after,
    marked_after,
    depth,
    step,
    out,
):
    """Walk back: ``after`` needs no further mark, ``marked_after`` still has one to set."""
    by_absence = np.empty(LANES)
    by_presence = np.empty(LANES)
    by_mark = np.empty(LANES)
    for d in range(len(rates) - 1, -1, -1):
        price = prices[d]
        rate = rates[d]
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
                by_presence[lane] += plain * marked_after[i + 1, lane] + marked * after[i + 1, lane]
        mass = 0.0
        for lane in range(LANES):
            hazard = rate * times[lane]
            moved = hazard * (by_presence[lane] - by_absence[lane])
            mass += times[lane] * absent[d, lane] * (moved + price * (1.0 - hazard) * by_mark[lane])
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
