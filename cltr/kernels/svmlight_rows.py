"""Small loops around the SVMlight parser, compiled: make room, gather words, fill rows."""

from numba import njit

_COLON, _BREAK = 58, 10
_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def count(text):
    """How many lines and colons there are, to make room for what the parser finds."""
    lines = 0
    colons = 0
    for c in text:
        lines += c == _BREAK
        colons += c == _COLON
    return lines, colons


@njit(**_JIT)
def gather(text, spans, out):
    """Write the pieces ``text[begin:end]`` one after the other into ``out``."""
    place = 0
    for begin, end in spans:
        for k in range(begin, end):
            out[place] = text[k]
            place += 1


@njit(**_JIT)
def densify(counts, columns, values, out):
    """Write sparse rows, ``counts`` values each, into the rows of ``out``, which holds zeros."""
    k = 0
    for row in range(len(counts)):
        for _ in range(counts[row]):
            out[row, columns[k]] = values[k]
            k += 1
