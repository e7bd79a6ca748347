"""Gaps between the scores of a list and those of some of its documents, and their sums, compiled.

Gaps of a list lie document by document, and in each those to all documents that are asked for: both
loops then run over what lies side by side, and each sum still adds up in the order of the list.
"""

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def _end_of_list(owners, first):
    last = first + 1
    while last < len(owners) and owners[last] == owners[first]:
        last += 1
    return last


@njit(**_JIT)
def fill(scores, starts, lengths, owners, own, gaps):
    """Fill ``gaps`` with ``s_j - s_d`` for every j of the list of d.

    Args:
        scores: of all documents.
        starts: of lists.
        lengths: of lists.
        owners: list of each document that is asked for; those of a list lie together.
        own: their scores.
        gaps: one for each pair.
    """
    at = first = 0
    while first < len(owners):
        last, q = _end_of_list(owners, first), owners[first]
        mine = own[first:last]
        for score in scores[starts[q] : starts[q] + lengths[q]]:
            to = gaps[at : at + len(mine)]
            for d in range(len(mine)):
                to[d] = score - mine[d]
            at += len(mine)
        first = last


@njit(**_JIT)
def add_up(values, lengths, owners):
    """Sum of the values of each document that is asked for; ``values`` lie as gaps do."""
    sums = np.zeros(len(owners))
    at = first = 0
    while first < len(owners):
        last = _end_of_list(owners, first)
        mine = sums[first:last]
        for _ in range(lengths[owners[first]]):
            more = values[at : at + len(mine)]
            for d in range(len(mine)):
                mine[d] += more[d]
            at += len(mine)
        first = last
    return sums
