"""The M-step of examination and trust, compiled: a few cells, updated thousands of times."""

import math

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def update(share, expected, shown, priors, smoothing):
    """Clicks over impressions of relevant and of irrelevant documents, in each cell.

    Args:
        share: of trust in A, ``[cells]``; trust that is 0 stays 0.
        expected: clicks on relevant, relevant impressions, clicks on irrelevant, ``[3, cells]``.
        shown: impressions, ``[cells]``.
        priors: of clicks on relevant, on irrelevant and on all documents, ``[3, cells]``.
        smoothing: impressions that a prior is worth.

    Returns:
        A, and the share of trust in it, ``[cells]`` each.
    """
    above, shares = np.empty(len(share)), np.zeros(len(share))
    for j in range(len(share)):
        relevant, seen, irrelevant = expected[0, j], expected[1, j], expected[2, j]
        clicked = _mean(relevant, seen, priors[0, j], smoothing)
        trusted = 0.0
        if share[j] > 0.0:
            trusted = _mean(irrelevant, shown[j] - seen, priors[1, j], smoothing)
        # Where irrelevant documents would be clicked more, the best that is allowed is the same.
        if trusted > clicked:
            clicked = _mean(relevant + irrelevant, shown[j], priors[2, j], 2 * smoothing)
        trusted = min(trusted, clicked)
        above[j] = clicked
        if clicked > 0.0:
            shares[j] = trusted / clicked
    return above, shares


@njit(**_JIT)
def _mean(successes, trials, prior, smoothing):
    """As :class:`cltr.clicks.relevance.RelevanceTable`."""
    total = trials + smoothing
    value = (successes + smoothing * prior) / total if total > 0.0 else prior
    return min(max(value, 0.0), 1.0)


@njit(**_JIT)
def penalty(above, share, priors, smoothing):
    """What the priors of clicks on relevant and on irrelevant documents add to the objective."""
    total = 0.0
    for j in range(len(above)):
        total += _reward(priors[0, j], above[j]) + _reward(priors[1, j], above[j] * share[j])
    return smoothing * total


@njit(**_JIT)
def _reward(prior, value):
    """As :meth:`cltr.clicks.relevance.RelevanceTable.penalty`: nothing for what has no prior."""
    reward = prior * math.log(value) if prior > 0.0 else 0.0
    return reward + ((1.0 - prior) * math.log(1.0 - value) if prior < 1.0 else 0.0)


@njit(**_JIT)
def update_from_levels(sums, own, cells, levels, shown, priors, smoothing, rounds):
    """The same, several times, where relevance is one of a few levels.

    Args:
        sums: expected clicks and impressions by level, ``[2, cells, levels]``.
        own: ``expected`` of documents that have a relevance of their own, ``[3, cells]``.
        cells: A, and the share of trust in it, ``[cells]`` each.
        levels: of relevance.
        shown: as above.
        priors: as above.
        smoothing: as above.
        rounds: how often.
    """
    above, share = cells
    for _ in range(rounds):
        expected = _expect(sums, above, share, levels)
        above, share = update(share, own + expected, shown, priors, smoothing)
    return above, share


@njit(**_JIT)
def _expect(sums, above, share, levels):
    """Clicks on relevant, relevant impressions, clicks on irrelevant, ``[3, cells]``."""
    n_cells, n_levels = len(above), len(levels)
    expected = np.empty((3, n_cells))
    good, seen, other = np.empty(n_levels), np.empty(n_levels), np.empty(n_levels)
    for j in range(n_cells):
        relevant, irrelevant = above[j], above[j] * share[j]
        for i in range(n_levels):
            level = levels[i]
            click = relevant * level + irrelevant * (1.0 - level)
            skip = (1.0 - relevant) * level + (1.0 - irrelevant) * (1.0 - level)
            clicked, skipped = sums[0, j, i], sums[1, j, i] - sums[0, j, i]
            good[i] = clicked * (relevant * level / click if click > 0.0 else 0.0)
            missed = skipped * ((1.0 - relevant) * level / skip if skip > 0.0 else 0.0)
            seen[i] = good[i] + missed
            other[i] = clicked - good[i]
        expected[0, j], expected[1, j], expected[2, j] = _sum(good), _sum(seen), _sum(other)
    return expected


@njit(**_JIT)
def _sum(values):
    """In the order of numpy's sum of up to 128 numbers, so that results are the same to the bit."""
    n, parts = len(values), np.zeros(8)
    if n < 8:
        total = 0.0
        for value in values:
            total += value
        return total
    even = n - n % 8
    for i in range(even):
        parts[i % 8] += values[i]
    total = (parts[0] + parts[1]) + (parts[2] + parts[3])
    total += (parts[4] + parts[5]) + (parts[6] + parts[7])
    for i in range(even, n):
        total += values[i]
    return total
