"""Slopes that hardly matter beside the others of their list, compiled."""

from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles


@njit(cache=True, error_model="numpy", nogil=True)
def leave_out(slopes, offsets, share, out):
    """Write ``slopes`` into ``out``, 0 for sizes below a share of the mean size of their list."""
    for number in range(len(offsets) - 1):
        first, last = offsets[number], offsets[number + 1]
        total = 0.0
        for row in range(first, last):
            total += abs(slopes[row])
        least = share * total / (last - first)
        for row in range(first, last):
            out[row] = 0.0 if abs(slopes[row]) < least else slopes[row]
