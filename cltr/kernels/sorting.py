"""Documents in order within their lists, compiled.

Equal keys stay as they are, NaN comes last: so there is one answer, whatever sorts.
One thread sorts, so that callers may sort in several threads and after a fork.
"""

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def orders(keys, starts, lengths, out):
    """Fill ``out`` with the place in its list of each list's first, second, ... by rising key."""
    for q in range(len(starts)):
        mine = slice(starts[q], starts[q] + lengths[q])
        out[mine] = np.argsort(keys[mine], kind="mergesort")


@njit(**_JIT)
def ranks(keys, starts, lengths, out):
    """Fill ``out`` with how many of its list are ahead of each document."""
    for q in range(len(starts)):
        mine = slice(starts[q], starts[q] + lengths[q])
        order, to = np.argsort(keys[mine], kind="mergesort"), out[mine]
        for rank in range(len(order)):
            to[order[rank]] = rank
