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
from cltr.kernels.lanes import LANES, all_lanes, lanes_at, multiply_add, put_lanes

BLOCKS = 64
"""Into how many parts the documents are cut; more than any number of cores."""
NEGLIGIBLE = -37.0
"""Logarithm of a share that leaves no trace beside 1 in a sum of doubles."""
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


@njit(parallel=True, **_JIT)
def integrate(starts, cells, shown, clicked, times, strata, log_click, log_skip, log_weights):
    """The E-step where each document's relevance is one of a few levels.

    ``times`` says how many documents have the same entries, ``strata`` to which stratum they
    belong, ``[docs]`` each; ``log_click`` and ``log_skip`` are log-probabilities by cell and level,
    ``[cells, levels]``, ``log_weights`` those of the levels, ``[strata, levels]``; all finite.

    Returns:
        Expected clicks and impressions, ``[2, cells, levels]``; expected documents,
        ``[strata, levels]``; and the log-likelihood, with the levels summed over.
    """
    n = len(starts) - 1
    n_cells, n_levels = log_click.shape
    log_clicks, log_skips = _in_rows(log_click), _in_rows(log_skip)
    log_priors = _in_rows(log_weights)
    n_rows = log_priors.shape[1]
    sums = np.zeros((BLOCKS, 2, n_cells, n_rows, LANES))
    documents = np.zeros((BLOCKS, len(log_weights), n_levels))
    values = np.zeros(BLOCKS)
    for block in prange(BLOCKS):
        rows = np.zeros((n_rows, LANES))
        share = rows.reshape(-1)
        for d in range(block * n // BLOCKS, (block + 1) * n // BLOCKS):
            if starts[d] == starts[d + 1]:
                continue
            stratum, entries = strata[d], range(starts[d], starts[d + 1])
            for row in range(n_rows):
                logs = lanes_at(log_priors, (stratum, row))
                for i in entries:
                    clicks = all_lanes(clicked[i])
                    skips = all_lanes(shown[i] - clicked[i])
                    skipped = skips * lanes_at(log_skips, (cells[i], row))
                    more = multiply_add(clicks, lanes_at(log_clicks, (cells[i], row)), skipped)
                    logs = logs + more
                put_lanes(rows, (row,), logs)
            share[n_levels:] = 0.0
            highest, total, first, last = _shares(share[:n_levels])
            values[block] += times[d] * (highest + math.log(total))
            for level in range(first, last):
                share[level] *= times[d] / total
                documents[block, stratum, level] += share[level]
            for i in entries:
                clicks, impressions = all_lanes(clicked[i]), all_lanes(shown[i])
                for row in range(first // LANES, (last - 1) // LANES + 1):
                    at, part = (block, 0, cells[i], row), lanes_at(rows, (row,))
                    put_lanes(sums, at, multiply_add(clicks, part, lanes_at(sums, at)))
                    at = (block, 1, cells[i], row)
                    put_lanes(sums, at, multiply_add(impressions, part, lanes_at(sums, at)))
    flat = sums.sum(0).reshape((2, n_cells, n_rows * LANES))
    return flat[:, :, :n_levels].copy(), documents.sum(0), values.sum()


@njit(**_JIT)
def _in_rows(table):
    """The same numbers in rows of LANES, filled up with 0, ``[cells, rows, LANES]``."""
    n_cells, n = table.shape
    rows = np.zeros((n_cells, (n + LANES - 1) // LANES * LANES))
    rows[:, :n] = table
    return rows.reshape((n_cells, -1, LANES))


@njit(**_JIT)
def _shares(logs):
    """Replace logarithms by shares of the highest; the highest, their sum, where they are not 0."""
    highest = logs[0]
    for log in logs:
        highest = max(highest, log)
    total = 0.0
    first, last = len(logs), 0  # levels that matter lie between these
    for level in range(len(logs)):
        below = logs[level] - highest
        logs[level] = 0.0
        if below > NEGLIGIBLE:
            logs[level] = math.exp(below)
            total += logs[level]
            first, last = min(first, level), level + 1
    return highest, total, first, last


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
