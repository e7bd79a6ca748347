r"""One Plackett-Luce ranking, compiled: O(1) a rank, not D random numbers.

Documents stand sorted by falling score; ``tails[j]`` is the rate of all from the j-th on, and a
point in it belongs to the last place j with ``tails[j] > point``. A guide table says between which
places the point can lie, mostly one or two, and a binary search decides: O(1) on flat policies,
O(log D) on the most peaked.

A draw starts behind the unbroken run of ranked documents at the top, so the mass that remains is
never a small difference of large numbers, however peaked the policy. Where it meets another ranked
document it is repeated, which leaves the right distribution; after some times in vain, which only
happens where the ranked hold most of the mass, the free documents are summed instead.

Random numbers are SplitMix64's, inline: the compiler's own generator costs more than all the rest.

References: Steele, Lea & Flood, Fast splittable pseudorandom number generators (OOPSLA'14).
"""

import math

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles
from cltr.kernels.score_range import FLOOR, WIDEST_GAP

TRIES = 8
"""How often a draw may meet a ranked document before the free ones are summed."""
_JIT = {"cache": True, "error_model": "numpy"}
_GAMMA = np.uint64(0x9E3779B97F4A7C15)


@njit(**_JIT)
def _mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(**_JIT)
def generator(seed):
    """The state of a stream of random numbers; mixed, so that no two seeds lie side by side."""
    return np.array([_mix(_mix(np.uint64(seed) + _GAMMA))])


@njit(**_JIT)
def uniform(state):
    """The next number of a stream, in [0, 1)."""
    state[0] += _GAMMA
    return (_mix(state[0]) >> np.uint64(11)) * 2.0**-53


@njit(**_JIT)
def tails_of(scores, order):
    """The rate of all documents from the j-th best on; 0 behind the last."""
    n = len(scores)
    levels = np.zeros(n)  # below the best; no gap wider than need be, so that none underflows
    for j in range(1, n):
        gap = min(scores[order[j - 1]] - scores[order[j]], WIDEST_GAP)
        levels[j] = max(levels[j - 1] - gap, FLOOR)
    tails = np.zeros(n + 1)
    for j in range(n - 1, -1, -1):
        tails[j] = tails[j + 1] + math.exp(levels[j])
    return tails


@njit(**_JIT)
def _bucket(tails, point):
    """Which of 2n equal parts of the mass a point lies in; monotonic whatever is rounded."""
    return int(point * (2.0 * (len(tails) - 1) / tails[0]))


@njit(**_JIT)
def guide_to(tails):
    """For each bucket the last place whose tail does not end before it."""
    n = len(tails) - 1
    guide = np.empty(2 * n + 3, np.int64)
    place = 0
    for bucket in range(len(guide) - 1, -1, -1):
        while place + 1 < n and _bucket(tails, tails[place + 1]) >= bucket:
            place += 1
        guide[bucket] = place
    return guide


@njit(**_JIT)
def _place_of(tails, guide, point, first):
    bucket = _bucket(tails, point)
    low = max(first, guide[bucket + 1])
    high = guide[bucket]
    while low < high:
        middle = (low + high + 1) // 2
        if tails[middle] > point:
            low = middle
        else:
            high = middle - 1
    return low


@njit(**_JIT)
def _free_place(tails, stamps, stamp, first, state):
    """One of the free places in proportion to its rate, summed from the lightest on."""
    mass = 0.0
    for j in range(len(tails) - 2, first - 1, -1):
        if stamps[j] != stamp:
            mass += tails[j] - tails[j + 1]
    point = uniform(state) * mass
    place = first
    for j in range(len(tails) - 2, first - 1, -1):
        if stamps[j] != stamp:
            place = j
            point -= tails[j] - tails[j + 1]
            if point < 0.0:
                break
    return place


@njit(**_JIT)
def draw(tails, guide, state, stamps, places, level):
    """Fill ``places`` from rank ``level`` on, given the places before it.

    ``stamps`` says in which draw a place was ranked last; behind the places it counts the draws.
    """
    stamps[-1] += 1
    stamp = stamps[-1]
    for k in range(level):
        stamps[places[k]] = stamp
    first = 0
    for k in range(level, len(places)):
        while stamps[first] == stamp:
            first += 1
        place = first
        for attempt in range(TRIES + 1):
            if attempt < TRIES:
                place = _place_of(tails, guide, uniform(state) * tails[first], first)
            else:
                place = _free_place(tails, stamps, stamp, first, state)
            if stamps[place] != stamp:
                break
        places[k] = place
        stamps[place] = stamp
