"""The E-step of documents that have a relevance of their own, eight documents together, compiled.

A *tile* holds what eight documents that follow each other were shown and clicked in one cell. Cells
that none of the eight was shown in have no tile.
"""
# mypy: ignore-errors

import numpy as np
from numba import njit, prange

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles
from cltr.kernels.lane_functions import log_lanes
from cltr.kernels.lanes import LANES, all_lanes, lanes_at, multiply_add, put_lanes, where_above

PARTS = 64
"""Into how many parts the documents are cut at most, however many threads there are."""
PER_CELL = 64
"""Tiles for each cell from which another part is worth while."""
_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(parallel=True, **_JIT)
def expect(starts, cells, skipped, clicked, relevant, irrelevant, relevance):
    """As :func:`cltr.kernels.affine_steps.expect`.

    ``starts`` says where the tiles of each eight documents begin; ``skipped`` and ``clicked`` are
    ``[tiles, LANES]``.
    """
    n = len(starts) - 1
    rows = np.full((n, LANES), 0.5)
    rows.reshape(-1)[: len(relevance)] = relevance
    hits = np.zeros((n, LANES))
    parts = min(max(len(cells) // (PER_CELL * len(relevant)), 1), PARTS)
    sums = np.zeros((parts, 3, len(relevant), LANES))
    values = np.zeros((parts, LANES))
    log_relevant = np.log(relevant)
    for part in prange(parts):
        value, nothing, one = all_lanes(0.0), all_lanes(0.0), all_lanes(1.0)
        for d in range(part * n // parts, (part + 1) * n // parts):
            r, total = lanes_at(rows, (d,)), all_lanes(0.0)
            rest, log_r = one - r, log_lanes(r)
            for i in range(starts[d], starts[d + 1]):
                j = cells[i]
                clicks, skips = lanes_at(clicked, (i,)), lanes_at(skipped, (i,))
                good, logs = clicks, log_r + all_lanes(log_relevant[j])
                if irrelevant[j] > 0.0:  # without trust, only relevance is clicked
                    wanted = all_lanes(relevant[j]) * r
                    click = multiply_add(all_lanes(irrelevant[j]), rest, wanted)
                    good = where_above(clicks, nothing, clicks * (wanted / click), nothing)
                    logs = log_lanes(click)
                value = value + where_above(clicks, nothing, clicks * logs, nothing)
                passed = all_lanes(1.0 - relevant[j]) * r
                skip = multiply_add(all_lanes(1.0 - irrelevant[j]), rest, passed)
                both = where_above(skips, nothing, skips * (passed / skip), nothing) + good
                value = value + where_above(skips, nothing, skips * log_lanes(skip), nothing)
                total = total + both
                put_lanes(sums, (part, 0, j), lanes_at(sums, (part, 0, j)) + good)
                put_lanes(sums, (part, 1, j), lanes_at(sums, (part, 1, j)) + both)
                put_lanes(sums, (part, 2, j), lanes_at(sums, (part, 2, j)) + (clicks - good))
            put_lanes(hits, (d,), total)
        put_lanes(values, (part,), value)
    return hits.reshape(-1)[: len(relevance)].copy(), sums.sum(0).sum(2), values.sum()
