"""Sums over the documents that each interaction shows, compiled."""

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def clicked(documents, clicks, each, trust):
    r"""Corrected clicks :math:`\sum_k g_{d_k} (c_k - \beta_k)` of each interaction.

    Args:
        documents: shown documents, ``[interactions, K]``.
        clicks: ``[interactions, K]``.
        each: g, ``[docs + 1]``; the last is that of no document.
        trust: ``[K]``.
    """
    n, top_k = documents.shape
    sums = np.zeros(n)
    for i in range(n):
        for k in range(top_k):
            sums[i] += each[documents[i, k]] * (clicks[i, k] - trust[k])
    return sums


@njit(**_JIT)
def examined(documents, each, examination):
    r"""Examination :math:`\sum_k g_{d_k} \alpha_k` of each interaction; as above."""
    n, top_k = documents.shape
    sums = np.zeros(n)
    for i in range(n):
        for k in range(top_k):
            sums[i] += each[documents[i, k]] * examination[k]
    return sums
