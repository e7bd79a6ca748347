"""The E-step where a document's relevance is one of a few levels, compiled.

Entries with the same cell, impressions and clicks are of one *kind*; a log has far fewer kinds than
entries. A pass takes the likelihood of each kind at each level once, multiplies those of a
document's entries, and collects the posteriors by kind. Where the product is too small for a double
logarithms are added instead.

Documents are cut into parts, however many threads there are; each part is summed alone, and the
sums are added in order. So results do not depend on the number of threads.
"""
# mypy: ignore-errors

import math

import numpy as np
from numba import njit, prange

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles
from cltr.kernels.lane_functions import exp_lanes, highest_lane, sum_of_lanes
from cltr.kernels.lanes import LANES, all_lanes, lanes_at, multiply_add, put_lanes, where_above

ROWS = 3
"""Of LANES levels each; what is not needed is filled up."""
PARTS = 64
"""Into how many parts the documents are cut at most."""
PER_KIND, PER_DOCUMENT = 16, 8
"""A part is worth while from so many entries for each kind; a document takes as long as so many."""
SMALL = 1e-200
"""Products below are found by logarithms."""
NEGLIGIBLE = math.exp(-37.0)
"""A share that leaves no trace beside 1 in a sum of doubles."""
_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(parallel=True, **_JIT)
def integrate(starts, kinds, of_kinds, times, strata, log_click, log_skip, weights):
    """Expected clicks and impressions at each level, and the log-likelihood.

    Args:
        starts: where each document's entries begin, ``[docs + 1]``.
        kinds: of entries.
        of_kinds: cell, impressions and clicks of each kind.
        times: how many documents have the same entries, ``[docs]``.
        strata: of documents, ``[docs]``.
        log_click: by cell and level, ``[cells, levels]``; at most 24 levels, all finite.
        log_skip: by cell and level, as well.
        weights: of levels, ``[strata, levels]``; all positive.

    Returns:
        Expected clicks and impressions, ``[2, cells, levels]``; expected documents,
        ``[strata, levels]``; and the log-likelihood, with the levels summed over.
    """
    cells, shown, clicked = of_kinds
    logs, factors = _of_kinds(cells, shown, clicked, _in_rows(log_click), _in_rows(log_skip))
    priors = _in_rows(weights)
    log_priors = np.log(priors)  # -inf in lanes that only fill up
    n, n_cells, n_levels = len(starts) - 1, len(log_click), log_click.shape[1]
    parts = (len(kinds) + PER_DOCUMENT * n) // (PER_KIND * len(cells) + 1)
    parts = min(max(parts, 1), PARTS)
    sums = np.zeros((parts, 2, n_cells, ROWS, LANES))
    documents = np.zeros((parts, len(weights), ROWS, LANES))
    values = np.zeros(parts)
    for part in prange(parts):
        by_kind, share = np.zeros(logs.shape), np.empty((ROWS, LANES))
        product = 1.0
        for d in range(part, n, parts):
            first, last, stratum = starts[d], starts[d + 1], strata[d]
            at = part, stratum
            total, scale = _multiply(kinds, first, last, factors, priors, stratum, share), 0.0
            if total < SMALL:
                total, scale = _by_logarithms(kinds[first:last], logs, log_priors[stratum], share)
            if times[d] > 1.0 or scale < 0.0:
                values[part] += times[d] * (scale + math.log(total))
            else:  # one logarithm of many products
                product *= total
                if product < 1e-100:
                    values[part] += math.log(product)
                    product = 1.0
            _collect(kinds, first, last, share, total, times[d], documents, at, by_kind)
        values[part] += math.log(product)
        _by_cell(cells, shown, clicked, by_kind, sums[part])
    flat = sums.sum(0).reshape((2, n_cells, ROWS * LANES))
    expected = documents.sum(0).reshape((len(weights), ROWS * LANES))
    return flat[:, :, :n_levels].copy(), expected[:, :n_levels].copy(), values.sum()


@njit(**_JIT)
def _in_rows(table):
    """The same numbers in rows of LANES, filled up with 0, ``[n, ROWS, LANES]``."""
    rows = np.zeros((len(table), ROWS * LANES))
    rows[:, : table.shape[1]] = table
    return rows.reshape((len(table), ROWS, LANES))


@njit(**_JIT)
def _of_kinds(cells, shown, clicked, log_clicks, log_skips):
    """The likelihood of each kind of entry at each level: its logarithm, and itself."""
    logs = np.empty((len(cells), ROWS, LANES))
    factors = np.empty(logs.shape)
    for kind in range(len(cells)):
        clicks, skips = all_lanes(clicked[kind]), all_lanes(shown[kind] - clicked[kind])
        for row in range(ROWS):
            skipped = skips * lanes_at(log_skips, (cells[kind], row))
            log = multiply_add(clicks, lanes_at(log_clicks, (cells[kind], row)), skipped)
            put_lanes(logs, (kind, row), log)
            put_lanes(factors, (kind, row), exp_lanes(log))
    return logs, factors


@njit(inline="always", **_JIT)
def _multiply(kinds, first, last, factors, priors, stratum, share):
    """Put the joint probability of a document's clicks and each level; their sum."""
    a, b = lanes_at(priors, (stratum, 0)), lanes_at(priors, (stratum, 1))
    c = lanes_at(priors, (stratum, 2))
    for i in range(first, last):
        kind = kinds[i]
        a = a * lanes_at(factors, (kind, 0))
        b = b * lanes_at(factors, (kind, 1))
        c = c * lanes_at(factors, (kind, 2))
    put_lanes(share, (0,), a)
    put_lanes(share, (1,), b)
    put_lanes(share, (2,), c)
    return sum_of_lanes(a + b + c)


@njit(**_JIT)
def _by_logarithms(kinds, logs, log_prior, share):
    """Put the same relative to the highest; the sum, and the logarithm of the highest."""
    highest, total = -math.inf, all_lanes(0.0)
    for row in range(ROWS):
        value = lanes_at(log_prior, (row,))
        for kind in kinds:
            value = value + lanes_at(logs, (kind, row))
        put_lanes(share, (row,), value)
        highest = max(highest, highest_lane(value))
    for row in range(ROWS):
        value = exp_lanes(lanes_at(share, (row,)) - all_lanes(highest))
        put_lanes(share, (row,), value)
        total = total + value
    return sum_of_lanes(total), highest


@njit(inline="always", **_JIT)
def _collect(kinds, first, last, share, total, times, documents, at, by_kind):
    """Add a document's posterior to those of its stratum and its kinds of entries."""
    a, b = _posterior(share, 0, total, times), _posterior(share, 1, total, times)
    c = _posterior(share, 2, total, times)
    part, stratum = at
    _add(documents, (part, stratum, 0), a)
    _add(documents, (part, stratum, 1), b)
    _add(documents, (part, stratum, 2), c)
    for i in range(first, last):
        kind = kinds[i]
        _add(by_kind, (kind, 0), a)
        _add(by_kind, (kind, 1), b)
        _add(by_kind, (kind, 2), c)


@njit(inline="always", **_JIT)
def _posterior(share, row, total, times):
    value, lowest = lanes_at(share, (row,)), all_lanes(NEGLIGIBLE * total)
    return where_above(value, lowest, value * all_lanes(times / total), all_lanes(0.0))


@njit(inline="always", **_JIT)
def _add(sums, at, value):
    put_lanes(sums, at, lanes_at(sums, at) + value)


@njit(**_JIT)
def _by_cell(cells, shown, clicked, by_kind, sums):
    """Expected clicks and impressions of cells, from the documents of each kind and level."""
    for kind in range(len(cells)):
        for row in range(ROWS):
            value = lanes_at(by_kind, (kind, row))
            _add(sums, (0, cells[kind], row), all_lanes(clicked[kind]) * value)
            _add(sums, (1, cells[kind], row), all_lanes(shown[kind]) * value)
