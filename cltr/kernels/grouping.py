"""Count and number what is alike, compiled: keys, entries of documents, and whole documents.

Numbers count from 0 in the order in which things come first. Everything is compared with the first
of its number; a hash only says where to look for it.
"""
# mypy: ignore-errors

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}
_MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(**_JIT)
def _mixed(code, more):
    """A hash of what came before and one more number."""
    return ((code + more) ^ ((code + more) >> np.uint64(29))) * _MIX


@njit(**_JIT)
def _places(n):
    """An empty table with room for n numbers."""
    size = 16
    while size < 2 * n:
        size *= 2
    return np.full(size, -1, np.int32)


@njit(**_JIT)
def count_keys(keys, clicked, n_cells, n_documents):
    """Which keys came, rising; how often; and how often clicked.

    Keys are put in the order of their documents first, so that counting stays in the cache.
    """
    starts = np.zeros(n_documents + 1, np.int64)
    for key in keys:
        starts[key // n_cells + 1] += 1
    starts = np.cumsum(starts)
    ends, codes = starts[:-1].copy(), np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        document = keys[i] // n_cells
        codes[ends[document]] = 2 * (keys[i] - document * n_cells) + clicked[i]
        ends[document] += 1
    known, n = np.empty(len(keys), np.int64), 0
    found, counts = np.empty((2, len(keys))), np.zeros((n_cells, 2))
    for document in range(n_documents):
        first, last = starts[document], starts[document + 1]
        if first == last:
            continue
        for code in codes[first:last]:
            counts[code // 2, code % 2] += 1.0
        for cell in range(n_cells):
            if counts[cell, 0] + counts[cell, 1] > 0.0:
                known[n] = document * n_cells + cell
                found[0, n], found[1, n] = counts[cell, 0] + counts[cell, 1], counts[cell, 1]
                counts[cell] = 0.0
                n += 1
    return known[:n].copy(), found[0, :n].copy(), found[1, :n].copy()


@njit(**_JIT)
def starts_of(keys, n_cells, n_documents):
    """Where the keys of each document begin among rising keys, and the end, ``[docs + 1]``."""
    starts, document = np.empty(n_documents + 1, np.int64), 0
    for i in range(len(keys)):
        while document * n_cells <= keys[i]:
            starts[document] = i
            document += 1
    starts[document:] = len(keys)
    return starts


@njit(**_JIT)
def linked_cells(keys, n_cells):
    """Whether a document was shown in both of two cells that are next in its entries."""
    linked = np.zeros((n_cells, n_cells), np.bool_)
    for i in range(1, len(keys)):
        cell = keys[i] % n_cells
        if keys[i] - cell <= keys[i - 1]:
            linked[keys[i - 1] - (keys[i] - cell), cell] = True
    return linked


@njit(**_JIT)
def kinds_of(cells, shown, clicked):
    """Number entries by cell, impressions and clicks; which entry is the first of each number."""
    n, table = len(cells), _places(len(cells))
    last = np.uint64(len(table) - 1)
    kinds, firsts, found = np.empty(n, np.int32), np.empty(n, np.int64), 0
    shown_bits, clicked_bits = shown.view(np.uint64), clicked.view(np.uint64)
    for i in range(n):
        code = _mixed(_mixed(_mixed(_MIX, np.uint64(cells[i])), shown_bits[i]), clicked_bits[i])
        place = (code >> np.uint64(20)) & last
        while table[place] >= 0:
            first = firsts[table[place]]
            same = cells[first] == cells[i] and shown[first] == shown[i]
            if same and clicked[first] == clicked[i]:
                break
            place = (place + np.uint64(1)) & last
        if table[place] < 0:
            table[place], firsts[found] = found, i
            found += 1
        kinds[i] = table[place]
    return kinds, firsts[:found].copy()


@njit(**_JIT)
def alike(starts, kinds, strata):
    """First documents with entries and a stratum that none before has, and how many have them.

    Args:
        starts: where each document's entries begin, ``[docs + 1]``; none is without.
        kinds: of entries.
        strata: of documents.
    """
    n = len(starts) - 1
    table = _places(n)
    last = np.uint64(len(table) - 1)
    firsts, times, found = np.empty(n, np.int64), np.zeros(n), 0
    for d in range(n):
        code = _mixed(_MIX, np.uint64(strata[d]))
        for i in range(starts[d], starts[d + 1]):
            code = _mixed(code, np.uint64(kinds[i]))
        place = (code >> np.uint64(20)) & last
        while table[place] >= 0 and not _same(starts, kinds, strata, firsts[table[place]], d):
            place = (place + np.uint64(1)) & last
        if table[place] < 0:
            table[place], firsts[found] = found, d
            found += 1
        times[table[place]] += 1.0
    return firsts[:found].copy(), times[:found].copy()


@njit(**_JIT)
def _same(starts, kinds, strata, first, second):
    """Whether two documents have the same entries and stratum."""
    a, b = starts[first], starts[second]
    n = starts[first + 1] - a
    if starts[second + 1] - b != n or strata[first] != strata[second]:
        return False
    for i in range(n):
        if kinds[a + i] != kinds[b + i]:
            return False
    return True
