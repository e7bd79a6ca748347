"""Where each document was shown: its rank, and that of the last click above it. Compiled."""
# mypy: ignore-errors

import numpy as np
from numba import njit

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def shown_keys(documents, clicks):
    """Document times number of pairs plus pair, and whether it was clicked, of all that was shown.

    Args:
        documents: ``[interactions, K]``; -1 where nothing was shown.
        clicks: ``[interactions, K]``
    """
    n, top_k = documents.shape
    keys, clicked = np.empty(n * top_k, np.int64), np.empty(n * top_k, np.bool_)
    n_pairs, place = top_k * (top_k + 1) // 2, 0
    for i in range(n):
        last = 0
        for r in range(top_k):
            if documents[i, r] >= 0:
                keys[place] = np.int64(documents[i, r]) * n_pairs + r * (r + 1) // 2 + last
                clicked[place] = clicks[i, r]
                place += 1
            if clicks[i, r]:
                last = r + 1
    return keys[:place], clicked[:place]
