r"""Who has arrived when: what the exact integrals over a race are made of, compiled.

Nodes of an integral are worked on LANES at a time. ``present[d, lane]`` is the chance that document
d has arrived at a node, ``absent`` that it has not.
"""

import math

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles
from cltr.kernels.lanes import LANES, all_lanes, lanes_at, multiply_add, put_lanes, where_above
from cltr.kernels.score_range import FLOOR, WIDEST_GAP

FAR = 0.01
"""Documents that have arrived with less than this share of the accuracy, together, are far."""
CERTAIN = 50.0
"""A document with this many arrivals expected of its clock has arrived: exp(-50) is 2e-22."""
_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


def nodes_per_octave(top_k: int, accuracy: float) -> int:
    r"""How many nodes an octave of time needs: a power of two.

    The sharpest integrand is the log-time of the K-th of many equal clocks, a Gamma(K) variable;
    the trapezoid rule with step h leaves :math:`|\Gamma(K + 2\pi i/h)| / \Gamma(K)` of it.

    Example:
        >>> [nodes_per_octave(top_k, 1e-7) for top_k in (5, 20, 50, 300)]
        [2, 4, 8, 16]
    """
    nodes = 1
    while True:
        y = 2 * math.pi * nodes / math.log(2)
        log_error = 0.5 * (math.log(2 * math.pi * y) - math.pi * y)
        log_error += sum(0.5 * math.log1p((y / j) ** 2) for j in range(1, top_k))
        if log_error < math.log(accuracy):
            return nodes
        nodes *= 2


@njit(**_JIT)
def line_up(scores):
    """Documents in the order in which they are expected, with their rates and what is behind.

    Returns the order, the rates in it (the fastest is 1), and ``behind[d]``, the sum of the rates
    from d on; ``behind[0]`` is that of all. Where scores spread further than ``FLOOR``, wide gaps
    are narrowed to ``WIDEST_GAP``: the first 15 ranks are right however far apart scores are.
    """
    n = len(scores)
    order = np.argsort(-scores)
    levels = scores[order] - scores[order[0]]
    if scores[order[0]] - scores[order[n - 1]] > -FLOOR:
        levels[0] = 0.0
        for d in range(1, n):
            gap = scores[order[d - 1]] - scores[order[d]]
            narrow = min(gap, WIDEST_GAP) if gap > 0 else 0.0  # of equal infinities too
            levels[d] = max(levels[d - 1] - narrow, FLOOR)
    rates = np.exp(levels)
    behind = np.zeros(n + 1)
    for d in range(n - 1, -1, -1):
        behind[d] = behind[d + 1] + rates[d]
    return order, rates, behind


@njit(**_JIT)
def set_off(first, nodes, times):
    """Times of the first LANES nodes."""
    for lane in range(LANES):
        times[lane] = first * 2.0 ** (lane / nodes)


@njit(**_JIT)
def move_up(rates, behind, times, nodes, there, near, accuracy, present, absent):
    """Who has arrived for certain at the present nodes, and who can have: new places in line.

    Documents before ``there`` have arrived, those from ``near`` on are far: they have not, but for
    far below the accuracy. For those who come near, arrival probabilities are filled in. Where
    scores are not numbers all are near: what is found then is not a number either.
    """
    nearer = near
    while nearer < len(rates) and not behind[nearer] * times[LANES - 1] <= FAR * accuracy:
        nearer += 1
    _fill(rates[near:nearer], times, nodes, present[near:nearer], absent[near:nearer])
    while there < nearer and rates[there] * times[0] > CERTAIN:
        there += 1
    return there, nearer


@njit(**_JIT)
def _fill(rates, times, nodes, present, absent):
    for d in range(len(rates)):
        for lane in range(nodes):
            present[d, lane] = -math.expm1(-rates[d] * times[lane])
        for lane in range(nodes, LANES):
            earlier = present[d, lane - nodes]
            present[d, lane] = earlier * (2.0 - earlier)
        for lane in range(LANES):
            absent[d, lane] = 1.0 - present[d, lane]


@njit(**_JIT)
def advance(nodes, times, present, absent):
    """Move every lane LANES nodes on, by doubling the time LANES / nodes times.

    Near 1 the small complement is what is exact, near 0 the probability itself.
    """
    for lane in range(LANES):
        times[lane] *= 2.0 ** (LANES // nodes)
    quarter, one, two = all_lanes(0.25), all_lanes(1.0), all_lanes(2.0)
    for d in range(present.shape[0]):
        p, q = lanes_at(present, (d,)), lanes_at(absent, (d,))
        for _ in range(LANES // nodes):
            double = p * (two - p)
            q = where_above(p, quarter, q * q, one - double)
            p = double
        put_lanes(present, (d,), p)
        put_lanes(absent, (d,), q)


@njit(**_JIT)
def most_arrived(present, depth, accuracy):
    r"""How many can have arrived at the last node, but for a chance far below ``accuracy``.

    Bernstein's bound for m expected arrivals: :math:`P(\ge m + c) \le e^{-c^2 / (2m + 2c/3)}`.
    """
    mean = 0.0
    for d in range(present.shape[0]):
        mean += present[d, LANES - 1]
    log_chance = 7.0 - math.log(accuracy)
    slack = log_chance / 3 + math.sqrt(log_chance * log_chance / 9 + 2 * mean * log_chance)
    return max(1, min(depth, present.shape[0] + 1, int(mean + slack) + 2))


@njit(**_JIT)
def walk(present, absent, before, depth):
    """Fill ``before[d, i]``, i < depth: the chance that i of the documents ahead of d came.

    Returns the chance, at the last node, that fewer than ``depth`` of all came.
    """
    n = present.shape[0]
    before[0, :depth] = 0.0
    before[0, 0] = 1.0
    for d in range(n):
        p, q = lanes_at(present, (d,)), lanes_at(absent, (d,))
        fewer = lanes_at(before, (d, 0))
        put_lanes(before, (d + 1, 0), q * fewer)
        for i in range(1, depth):
            same = lanes_at(before, (d, i))
            put_lanes(before, (d + 1, i), multiply_add(q, same, p * fewer))
            fewer = same
    unfinished = 0.0
    for i in range(depth):
        unfinished += before[n, i, LANES - 1]
    return unfinished
