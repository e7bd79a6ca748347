r"""SVMlight lines to arrays, compiled. The bytes end in a line break.

*Numbers.* Digits are gathered in one integer m and a power of ten e. Where
:math:`m < 2^{53}` and :math:`|e| \le 22` both are exact doubles and :math:`m \cdot 10^e` is the
double that Python's ``float`` gives. Elsewhere the product is off by some units in the last place;
a feature is then still certain if both ends of that interval round to the same 32-bit number.
What is left (a label of 17 digits, one long feature in 10⁷) goes into a table for Python to read.

*Errors.* The first token that cannot be read ends the work; its place and a code are returned.
All is in this file, since numba keeps what it compiled until the file changes.
"""

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

OK = 0
BAD_LABEL, NEGATIVE_LABEL = 1, 2
MISSING_QUERY, BAD_QUERY, UNEXPECTED_QUERY = 3, 4, 5
BAD_PAIR, NUMBER_TOO_LOW, NUMBER_TOO_HIGH, NOT_ASCENDING = 6, 7, 8, 9
BAD_VALUE, TOO_LARGE = 10, 11
UNKNOWN, WITH_QUERIES, WITHOUT_QUERIES = -1, 1, 0
EXACT, CLOSE, UNREAD, BROKEN = 0, 1, 2, 3
"""How far a number that was read can be trusted."""
TAB, BREAK, RETURN, SPACE, HASH = 9, 10, 13, 32, 35
PLUS, MINUS, POINT, ZERO, NINE, COLON, EQUALS = 43, 45, 46, 48, 57, 58, 61
SLACK = 2.0**-49
"""Relative error of a number that is only close."""
_QID = np.frombuffer(b"qid:", np.uint8)
_DOCID = np.frombuffer(b"docid", np.uint8)
_MANY_DIGITS = 10**17
_EXACT_INTEGER = 2**53
_FURTHEST = 290
_POWERS = np.array([float(f"1e{e}") for e in range(-_FURTHEST, _FURTHEST + 1)])
_JIT = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**_JIT)
def is_blank(c):
    return c == SPACE or c == TAB or c == RETURN


@njit(**_JIT)
def ends_token(c):
    return is_blank(c) or c == BREAK or c == HASH


@njit(**_JIT)
def ends_line(c):
    return c == BREAK or c == HASH


@njit(**_JIT)
def skip_blanks(text, i):
    while is_blank(text[i]):
        i += 1
    return i


@njit(**_JIT)
def is_digit(c):
    return ZERO <= c <= NINE


@njit(**_JIT)
def _exponent(text, i):
    """The number after an ``e``, cut at a size that no double has, and where it ends (-1: none)."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    if not is_digit(text[i]):
        return 0, -1
    value = 0
    while is_digit(text[i]):
        value = min(value * 10 + text[i] - ZERO, 100_000_000)
        i += 1
    return (-value if negative else value), i


@njit(**_JIT)
def read_number(text, i):
    """Read a decimal number: its value, where it ends, and how far the value can be trusted."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    start = i
    digits = 0
    exponent = 0
    while is_digit(text[i]):
        if digits < _MANY_DIGITS:
            digits = digits * 10 + (np.int64(text[i]) - ZERO)
        else:
            exponent += 1
        i += 1
    n_digits = i - start
    if text[i] == POINT:
        i += 1
        start = i
        while is_digit(text[i]):
            if digits < _MANY_DIGITS:
                digits = digits * 10 + (np.int64(text[i]) - ZERO)
                exponent -= 1
            i += 1
        n_digits += i - start
    if n_digits == 0:
        return 0.0, i, BROKEN
    if text[i] | 32 == 101:
        more, i = _exponent(text, i + 1)
        exponent += more
        if i < 0:
            return 0.0, i, BROKEN
    if not ends_token(text[i]):
        return 0.0, i, BROKEN
    if digits == 0:
        return 0.0, i, EXACT
    # Further out a feature is too large for 32 bits, or 0, whatever its digits.
    exponent = min(max(exponent, -_FURTHEST), _FURTHEST)
    value = np.float64(digits)
    if exponent < 0 and exponent >= -22:
        value /= _POWERS[_FURTHEST - exponent]
    elif exponent != 0:
        value *= _POWERS[_FURTHEST + exponent]
    certain = digits < _EXACT_INTEGER and -22 <= exponent <= 22
    return (-value if negative else value), i, (EXACT if certain else CLOSE)


@njit(**_JIT)
def find_id(text, i):
    """Begin and end of the id in a comment: after ``docid =`` (LETOR), or else the first word."""
    while is_blank(text[i]) or text[i] == HASH:
        i += 1
    begin, end = _word(text, i)
    if starts_with(text, begin, _DOCID):
        i = skip_blanks(text, begin + len(_DOCID))
        if text[i] == EQUALS or text[i] == COLON:
            begin, end = _word(text, skip_blanks(text, i + 1))
    return begin, end


@njit(**_JIT)
def _word(text, i):
    begin = i
    while text[i] > SPACE:
        i += 1
    return begin, i


@njit(**_JIT)
def starts_with(text, i, word):
    # The bytes end in a line break, so a letter that differs is met in time.
    for k in range(len(word)):
        if text[i + k] != word[k]:
            return False
    return True


@njit(**_JIT)
def same(text, begin, end, other_begin, other_end):
    if end - begin != other_end - other_begin:
        return False
    for k in range(end - begin):
        if text[begin + k] != text[other_begin + k]:
            return False
    return True


@njit(**_JIT)
def is_printable(text, begin, end):
    for k in range(begin, end):
        if text[k] < SPACE:
            return False
    return True


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
    i = line = place = widest = qid_begin = qid_end = 0
    n_rows = n_values = n_queries = n_unread = n_missing = 0
    code = OK
    while i < len(text):
        i = skip_blanks(text, i)
        if not ends_line(text[i]):
            place = i
            value, i, trust = read_number(text, i)
            if trust == BROKEN or value < 0:
                code = BAD_LABEL if trust == BROKEN else NEGATIVE_LABEL
                break
            labels[n_rows] = value
            if trust != EXACT:
                n_unread = _leave(unread, n_unread, -1 - n_rows, place)

            place = skip_blanks(text, i)
            code, kind, begin, i = _read_query(text, place, kind)
            if code != OK:
                break
            if kind == WITH_QUERIES:
                if n_rows == 0 or not same(text, begin, i, qid_begin, qid_end):
                    queries[n_queries] = n_rows, line, begin, i
                    n_queries += 1
                qid_begin = begin
                qid_end = i

            first = n_values
            code, place, i, column, n_values, n_unread, missing = _read_features(
                text, i, highest, huge_is_missing, columns, values, unread, n_values, n_unread
            )
            if code != OK:
                break
            counts[n_rows] = n_values - first
            n_missing += missing
            widest = max(widest, column)
            ids[n_rows] = find_id(text, i) if text[i] == HASH else (i, i)
            i = ids[n_rows, 1]
            n_rows += 1
        while text[i] != BREAK:
            i += 1
        i += 1
        line += 1
    return code, place, kind, widest, n_rows, n_values, n_queries, n_unread, n_missing


@njit(**_JIT)
def _leave(unread, n_unread, where, begin):
    """Leave a number to Python; returns how many there are now."""
    unread[n_unread, 0] = where
    unread[n_unread, 1] = begin
    return n_unread + 1


@njit(**_JIT)
def _read_query(text, i, kind):
    """Read a qid, if lines have one: a code, the kind of lines, begin and end of the id."""
    has_query = starts_with(text, i, _QID)
    if kind == UNKNOWN:
        kind = WITH_QUERIES if has_query else WITHOUT_QUERIES
    if has_query != (kind == WITH_QUERIES):
        return (UNEXPECTED_QUERY if has_query else MISSING_QUERY), kind, i, i
    if not has_query:
        return OK, kind, i, i
    begin = i = i + len(_QID)
    while not ends_token(text[i]):
        i += 1
    good = i > begin and is_printable(text, begin, i)
    return (OK if good else BAD_QUERY), kind, begin, i


@njit(**_JIT)
def _read_features(text, i, highest, huge_is_missing, columns, values, unread, n_values, n_unread):
    """Read the features of a line; arguments as of :func:`parse`.

    Returns:
        Code, place of the last feature, end, number of the last feature; how many values and unread
        numbers there are now, and how many features of the line are missing.
    """
    place = i
    column = n_missing = 0
    while True:
        i = skip_blanks(text, i)
        if ends_line(text[i]):
            return OK, place, i, column, n_values, n_unread, n_missing
        place = i
        number, i = _whole_number(text, i)
        if i == place or text[i] != COLON:
            code = BAD_PAIR
            break
        if not column < number <= highest:
            code = _wrong_number(number, highest)
            break
        column = number
        begin = i + 1
        value, i, trust = read_number(text, begin)
        if trust == BROKEN:
            code = BAD_VALUE
            break
        if trust == CLOSE and not _rounds(value):
            trust = UNREAD
            n_unread = _leave(unread, n_unread, n_values, begin)
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
    return code, place, i, column, n_values, n_unread, n_missing


@njit(**_JIT)
def _whole_number(text, i):
    """A whole number, cut at a size that no feature has, and where it ends."""
    number = 0
    while is_digit(text[i]):
        number = min(number * 10 + (np.int64(text[i]) - ZERO), 10**15)
        i += 1
    return number, i


@njit(**_JIT)
def _wrong_number(number, highest):
    if number > highest:
        return NUMBER_TOO_HIGH
    return NUMBER_TOO_LOW if number < 1 else NOT_ASCENDING


@njit(**_JIT)
def _rounds(value):
    """Whether a number that is only close gives one 32-bit number for certain."""
    return np.float32(value * (1 - SLACK)) == np.float32(value * (1 + SLACK))
