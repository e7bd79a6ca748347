r"""Plackett-Luce as a race of documents: exact expected weights and their gradient, compiled.

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

*Peaked lists.* Documents stand in line by score. At any time those at its head have arrived for
certain, those far down the line cannot have, and only those between are walked: a document costs
for the octaves in which its arrival is open, however many the whole race has. Of a far one
:math:`\omega` keeps its digits all the same: it gets its rate times what the next to arrive would
get. To the gradient the far ones add less than the accuracy, and are left out.

*Many ranks.* Early on few have arrived, so the walk counts no further than so many can have
(``race_integrals.most_arrived``): of the octaves that K ranks need, only the last ones cost K.

Each list is computed alone, by one thread: results do not depend on the number of threads.
"""

import math

import numpy as np
from numba import njit, prange

from cltr.kernels.lanes import LANES, all_lanes, lanes_at, multiply_add, put_lanes
from cltr.kernels.race_integrals import (
    advance,
    line_up,
    most_arrived,
    move_up,
    nodes_per_octave,
    set_off,
    walk,
)

__all__ = ["expected_weights", "gradient", "nodes_per_octave"]

TURNS = 4
"""Lists that are worked on in turn in the same memory: taking it anew costs more than its use."""
_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(parallel=True, **_JIT)
def expected_weights(scores, starts, lengths, weights, nodes, accuracy, out):
    r"""Write :math:`\omega` of every list into ``out``, for each row of rank weights.

    Args:
        scores: of documents, flat.
        starts: of lists.
        lengths: of lists.
        weights: ``[metrics, K]``; a list is lined up and walked once for all of them.
        nodes: of an octave; see :func:`nodes_per_octave`.
        accuracy: largest error.
        out: ``[metrics, scores]``, filled.
    """
    for turn in prange((len(starts) + TURNS - 1) // TURNS):
        mine = slice(turn * TURNS, (turn + 1) * TURNS)
        room = _room(lengths[mine], weights.shape[1], 1)
        for start, n in np.column_stack((starts[mine], lengths[mine])):
            if n > 0:
                chunk = slice(start, start + n)
                _weights_of_list(scores[chunk], weights, nodes, accuracy, room, out[:, chunk])


@njit(**_JIT)
def _room(lengths, ranks, walks):
    """Memory for the longest of these lists."""
    longest = lengths.max()
    present, absent = np.empty((longest, LANES)), np.empty((longest, LANES))
    before = np.empty((walks, longest + 1, ranks, LANES))
    return np.empty(LANES), present, absent, before, np.empty((walks, ranks + 1, LANES))


@njit(**_JIT)
def _weights_of_list(scores, weights, nodes, accuracy, room, out):
    n, metrics = len(scores), len(weights)
    ranks = min(weights.shape[1], n)
    order, rates, behind = line_up(scores)
    total = behind[0]
    first = accuracy ** (1 / 3) / total
    step = math.log(2.0) / nodes

    below1 = step * first / math.expm1(step)
    below2 = step * first**2 / math.expm1(2 * step)
    found = np.empty((metrics, n))
    for m in range(metrics):
        top = weights[m, 0]
        drop = (weights[m, 1] if ranks > 1 else 0.0) - top
        for d in range(n):
            rate = rates[d]
            found[m, d] = rate * (top * below1 + below2 * (drop * (total - rate) - top * rate))

    times, present, absent, befores, afters = room
    before, after = befores[0], afters[0]
    passes = max(nodes // LANES, 1)
    for shift in range(passes):
        set_off(first * 2.0 ** (shift / nodes), nodes // passes, times)
        there = near = 0
        next_gets = np.zeros(metrics)
        unfinished = 1.0
        while unfinished > accuracy:
            there, nearer = move_up(
                rates, behind, times, nodes // passes, there, near, accuracy, present, absent
            )
            _add_far(rates, next_gets, near, nearer, found)
            near = nearer
            if there >= ranks:
                break
            open_ = slice(there, near)
            p, q = present[open_], absent[open_]
            depth = most_arrived(p, ranks - there, accuracy)
            unfinished = walk(p, q, before, depth)
            for m in range(metrics):
                left, to = weights[m, there:ranks], found[m, open_]
                next_gets[m] += step * _at_end(times, before[near - there], left, depth)
                _add_weights(rates[open_], times, p, q, before, after, left, depth, step, to)
            advance(nodes // passes, times, p, q)
        _add_far(rates, next_gets, near, n, found)
    for m in range(metrics):
        for d in range(n):
            out[m, order[d]] = found[m, d]


@njit(**_JIT)
def _add_far(rates, next_gets, near, nearer, found):
    """Give documents of the line their share of what the next to arrive gets."""
    for m in range(len(next_gets)):
        for d in range(near, nearer):
            found[m, d] += rates[d] * next_gets[m]


@njit(**_JIT)
def _at_end(times, arrived, weights, depth):
    """What the next to arrive gets at these nodes: the weight behind those who came."""
    total = 0.0
    for i in range(depth):
        for lane in range(LANES):
            total += times[lane] * arrived[i, lane] * weights[i]
    return total


@njit(**_JIT)
def _add_weights(rates, times, present, absent, before, after, weights, depth, step, out):
    """Walk back from the end of the line; add to each document what it gains at these nodes."""
    inner = np.empty((1, LANES))
    for lane in range(LANES):
        for i in range(depth):
            after[i, lane] = weights[i]
        after[depth, lane] = 0.0
    for d in range(len(rates) - 1, -1, -1):
        p, q = lanes_at(present, (d,)), lanes_at(absent, (d,))
        gained, same = all_lanes(0.0), lanes_at(after, (0,))
        for i in range(depth):
            more = lanes_at(after, (i + 1,))
            gained = multiply_add(lanes_at(before, (d, i)), same, gained)
            put_lanes(after, (i,), multiply_add(q, same, p * more))
            same = more
        put_lanes(inner, (0,), gained)
        mass = 0.0
        for lane in range(LANES):
            mass += times[lane] * absent[d, lane] * inner[0, lane]
        out[d] += step * rates[d] * mass


@njit(parallel=True, **_JIT)
def gradient(scores, slopes, starts, lengths, weights, nodes, accuracy, out):
    r"""Write :math:`\partial \sum_d g_d \omega_d / \partial s` of every list into ``out``."""
    for turn in prange((len(starts) + TURNS - 1) // TURNS):
        mine = slice(turn * TURNS, (turn + 1) * TURNS)
        room = _room(lengths[mine], len(weights), 2)
        for start, n in np.column_stack((starts[mine], lengths[mine])):
            if n > 0:
                chunk = slice(start, start + n)
                inputs = scores[chunk], slopes[chunk], weights
                _gradient_of_list(*inputs, nodes, accuracy, room, out[chunk])


@njit(**_JIT)
def _gradient_of_list(scores, slopes, weights, nodes, accuracy, room, out):
    n = len(scores)
    ranks = min(len(weights), n)
    order, rates, behind = line_up(scores)
    total = behind[0]
    first = accuracy ** (1 / 3) / total
    step = math.log(2.0) / nodes

    prices = slopes[order] * rates
    priced = prices.sum()
    below1 = step * first / math.expm1(step)
    below2 = step * first**2 / math.expm1(2 * step)
    top = weights[0]
    drop = (weights[1] if ranks > 1 else 0.0) - top
    found = np.empty(n)
    for d in range(n):
        rate = rates[d]
        own = top * below1 + below2 * (drop * (total - rate) - 2 * top * rate)
        found[d] = prices[d] * own + rate * below2 * drop * (priced - prices[d])

    times, present, absent, befores, afters = room
    before, marked_before = befores[0], befores[1]
    after, marked_after = afters[0], afters[1]
    passes = max(nodes // LANES, 1)
    for shift in range(passes):
        set_off(first * 2.0 ** (shift / nodes), nodes // passes, times)
        there = near = 0
        unfinished = 1.0
        while unfinished > accuracy:
            there, near = move_up(
                rates, behind, times, nodes // passes, there, near, accuracy, present, absent
            )
            if there >= ranks:
                break
            open_ = slice(there, near)
            p, q, left = present[open_], absent[open_], weights[there:ranks]
            depth = most_arrived(p, ranks - there, accuracy)
            unfinished = walk(p, q, before, depth)
            _walk_marked(prices[open_], p, q, before, marked_before, depth)
            for lane in range(LANES):
                for i in range(depth):
                    after[i, lane] = left[i]
                after[depth, lane] = 0.0
            marked_after[: depth + 1] = 0.0
            _add_gradient(
                rates[open_],
                prices[open_],
                times,
                p,
                q,
                before,
                marked_before,
                after,
                marked_after,
                depth,
                step,
                found[open_],
            )
            advance(nodes // passes, times, p, q)
    for d in range(n):
        out[order[d]] = found[d]


@njit(**_JIT)
def _walk_marked(prices, present, absent, before, marked_before, depth):
    """As ``walk``, with one mark set so far, among the documents ahead of d."""
    marked_before[0, :depth] = 0.0
    for d in range(len(prices)):
        p, q = lanes_at(present, (d,)), lanes_at(absent, (d,))
        mark = all_lanes(prices[d]) * q
        fewer = lanes_at(marked_before, (d, 0))
        now = multiply_add(q, fewer, mark * lanes_at(before, (d, 0)))
        put_lanes(marked_before, (d + 1, 0), now)
        for i in range(1, depth):
            same = lanes_at(marked_before, (d, i))
            earlier = multiply_add(q, same, p * fewer)
            now = multiply_add(mark, lanes_at(before, (d, i)), earlier)
            put_lanes(marked_before, (d + 1, i), now)
            fewer = same


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
    sums = np.empty((3, LANES))
    for d in range(len(rates) - 1, -1, -1):
        price, rate = prices[d], rates[d]
        p, q = lanes_at(present, (d,)), lanes_at(absent, (d,))
        mark = all_lanes(price) * q
        by_mark = by_absence = by_presence = all_lanes(0.0)
        same, marked_same = lanes_at(after, (0,)), lanes_at(marked_after, (0,))
        for i in range(depth):
            plain, marked = lanes_at(before, (d, i)), lanes_at(marked_before, (d, i))
            more, marked_more = lanes_at(after, (i + 1,)), lanes_at(marked_after, (i + 1,))
            by_mark = multiply_add(plain, same, by_mark)
            by_absence = by_absence + multiply_add(plain, marked_same, marked * same)
            by_presence = by_presence + multiply_add(plain, marked_more, marked * more)
            later = multiply_add(q, marked_same, p * marked_more)
            put_lanes(marked_after, (i,), multiply_add(mark, same, later))
            put_lanes(after, (i,), multiply_add(q, same, p * more))
            same, marked_same = more, marked_more
        put_lanes(sums, (0,), by_mark)
        put_lanes(sums, (1,), by_absence)
        put_lanes(sums, (2,), by_presence)
        mass = 0.0
        for lane in range(LANES):
            hazard = rate * times[lane]
            moved = hazard * (sums[2, lane] - sums[1, lane])
            own = moved + price * (1.0 - hazard) * sums[0, lane]
            mass += times[lane] * absent[d, lane] * own
        out[d] += step * mass
