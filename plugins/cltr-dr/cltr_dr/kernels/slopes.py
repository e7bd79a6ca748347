"""Slopes of the regression's loss, compiled; in float32, each operation rounded as torch does."""

import numpy as np
from numba import njit

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def by_chance(relevant, irrelevant, hits, misses, slope, offset, rest, least, out):
    r"""Derivatives of the loss by :math:`\hat R` and by :math:`1 - \hat R`, column by column.

    Args:
        relevant: :math:`\hat R`, ``[rows]``.
        irrelevant: :math:`1 - \hat R`, ``[rows]``.
        hits: ``[rows, columns]``.
        misses: ``[rows, columns]``.
        slope: ``[columns]``.
        offset: ``[columns]``.
        rest: chance of no click on a relevant document, ``[columns]``.
        least: probability of which a logarithm is taken; below, the loss is flat.
        out: ``[2, rows, columns]``.
    """
    for i in range(len(hits)):
        for k in range(len(slope)):
            click = slope[k] * relevant[i] + offset[k]
            no_click = rest[k] + slope[k] * irrelevant[i]
            out[0, i, k] = -hits[i, k] / click * slope[k] if click >= least else 0.0
            out[1, i, k] = -misses[i, k] / no_click * slope[k] if no_click >= least else 0.0


@njit(**_JIT)
def by_logit(relevant, irrelevant, sums, out):
    r"""Derivatives by the logits, ``[rows]``, from those by :math:`\hat R, 1 - \hat R`.

    ``sums``, ``[2, rows]``, are those of :func:`by_chance`, summed over the columns.
    """
    one = np.float32(1)
    for i in range(len(out)):
        up = sums[0, i] * (one - relevant[i]) * relevant[i]
        down = sums[1, i] * (one - irrelevant[i]) * irrelevant[i]
        out[i] = up - down
