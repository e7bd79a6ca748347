"""[1] SVMlight lines to arrays, compiled: the first token that cannot be read ends the work.

Its place and a code are returned; ``cltr.svmlight`` says it in words.
"""

import numpy as np
from numba import njit

from cltr.svmlight_tokens import (
    BREAK,
    BROKEN,
    CLOSE,
    COLON,
    EXACT,
    HASH,
    SLACK,
    UNREAD,
    ZERO,
    ends_token,
    find_id,
    is_blank,
    is_digit,
    is_printable,
    is_qid,
    read_number,
    same,
)

OK = 0
BAD_LABEL, NEGATIVE_LABEL = 1, 2
MISSING_QUERY, BAD_QUERY, UNEXPECTED_QUERY = 3, 4, 5
BAD_PAIR, NUMBER_TOO_LOW, NUMBER_TOO_HIGH, NOT_ASCENDING = 6, 7, 8, 9
BAD_VALUE, TOO_LARGE = 10, 11
UNKNOWN, WITH_QUERIES, WITHOUT_QUERIES = -1, 1, 0

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def count(text):
    """How many lines and colons there are, to make room for what :func:`parse` finds."""
    lines = 0
    colons = 0
    for c in text:
        lines += c == BREAK
        colons += c == COLON
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


@njit(**_JIT)
def parse(
    text, kind, highest, huge_is_missing, labels, counts, columns, values, ids, queries, unread
):
    """Fill the arrays from all lines of ``text``, up to the first error.

    Args:
        text: bytes that end in a line break.
        kind: whether lines have a qid, if that is known from earlier lines.
        highest: largest feature number to accept.
        huge_is_missing: whether a feature too large for 32 bits counts as missing, or is an error.
        labels: grades, ``[rows]``.
        counts: how many of the ``columns`` and ``values`` belong to each row, ``[rows]``.
        columns: numbers of the features that are not 0, from 0.
        values: the features themselves.
        ids: begin and end of each document's id in ``text``, ``[rows, 2]``.
        queries: row, line, begin and end of qid where a query begins, ``[rows, 4]``.
        unread: numbers for Python to read: place in ``values`` (or -1 - row for a label), begin.

    Returns:
        Code, place of the error, kind, highest feature seen; how many rows, values, queries, unread
        numbers and missing features there are.
    """
    i = 0
    line = 0
    n_rows = 0
    n_values = 0
    n_queries = 0
    n_unread = 0
    n_missing = 0
    widest = 0
    qid_begin = 0
    qid_end = 0
    code = OK
    place = 0
    size = len(text)
    while i < size:
        while is_blank(text[i]):
            i += 1
        c = text[i]
        if c != BREAK and c != HASH:
            place = i
            value, i, trust = read_number(text, i)
            if trust == BROKEN:
                code = BAD_LABEL
                break
            if value < 0:
                code = NEGATIVE_LABEL
                break
            labels[n_rows] = value
            if trust != EXACT:
                unread[n_unread, 0] = -1 - n_rows
                unread[n_unread, 1] = place
                n_unread += 1
            while is_blank(text[i]):
                i += 1

            place = i
            has_query = is_qid(text, i)
            if kind == UNKNOWN:
                kind = WITH_QUERIES if has_query else WITHOUT_QUERIES
            if has_query != (kind == WITH_QUERIES):
                code = UNEXPECTED_QUERY if has_query else MISSING_QUERY
                break
            if has_query:
                i += 4
                begin = i
                while not ends_token(text[i]):
                    i += 1
                if i == begin or not is_printable(text, begin, i):
                    code = BAD_QUERY
                    break
                if n_rows == 0 or not same(text, begin, i, qid_begin, qid_end):
                    queries[n_queries, 0] = n_rows
                    queries[n_queries, 1] = line
                    queries[n_queries, 2] = begin
                    queries[n_queries, 3] = i
                    n_queries += 1
                qid_begin = begin
                qid_end = i

            column = 0
            first = n_values
            while True:
                while is_blank(text[i]):
                    i += 1
                c = text[i]
                if c == BREAK or c == HASH:
                    break
                place = i
                number = 0
                while is_digit(text[i]):
                    number = min(number * 10 + (np.int64(text[i]) - ZERO), 10**15)
                    i += 1
                if i == place or text[i] != COLON:
                    code = BAD_PAIR
                    break
                if number <= column:
                    code = NUMBER_TOO_LOW if number < 1 else NOT_ASCENDING
                    break
                if number > highest:
                    code = NUMBER_TOO_HIGH
                    break
                column = number
                begin = i + 1
                value, i, trust = read_number(text, begin)
                if trust == BROKEN:
                    code = BAD_VALUE
                    break
                if trust == CLOSE:
                    low = np.float32(value * (1 - SLACK))
                    if low != np.float32(value * (1 + SLACK)):
                        trust = UNREAD
                if trust == UNREAD:
                    unread[n_unread, 0] = n_values
                    unread[n_unread, 1] = begin
                    n_unread += 1
                elif np.isinf(np.float32(value)):
                    if not huge_is_missing:
                        code = TOO_LARGE
                        break
                    n_missing += 1
                    value = 0.0
                if np.float32(value) != 0 or trust == UNREAD:
                    columns[n_values] = column - 1
                    values[n_values] = value
                    n_values += 1
            if code != OK:
                break
            widest = max(widest, column)
            counts[n_rows] = n_values - first
            ids[n_rows, 0] = i
            ids[n_rows, 1] = i
            if text[i] == HASH:
                ids[n_rows, 0], ids[n_rows, 1] = find_id(text, i)
                i = ids[n_rows, 1]
            n_rows += 1
        while text[i] != BREAK:
            i += 1
        i += 1
        line += 1
    return code, place, kind, widest, n_rows, n_values, n_queries, n_unread, n_missing
