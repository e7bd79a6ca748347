"""Standardise features, compiled: one pass over float32 numbers, in double precision between."""

from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles


@njit(cache=True, error_model="numpy", nogil=True)
def standardize(features, center, scale, farthest, out):
    """Write ``(features - center) / scale``, cut at ``farthest``, into ``out``; float32 both."""
    for row in range(len(features)):
        for column in range(len(center)):
            value = (features[row, column] - center[column]) / scale[column]
            value = farthest if value > farthest else value
            out[row, column] = -farthest if value < -farthest else value
