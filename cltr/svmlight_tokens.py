r"""[1] Words and numbers of an SVMlight line, compiled. The bytes end in a line break.

*Numbers.* Digits are gathered in one integer m and a power of ten e. Where
:math:`m < 2^{53}` and :math:`|e| \le 22` both are exact doubles and :math:`m \cdot 10^e` is the
double that Python's ``float`` gives. Elsewhere the product is off by some units in the last place;
a feature is then still certain if both ends of that interval round to the same 32-bit number.
What is left (a label of 17 digits, one long feature in 10⁷) goes into a table for Python to read.
"""

import numpy as np
from numba import njit

EXACT, CLOSE, UNREAD, BROKEN = 0, 1, 2, 3
"""How far a number that was read can be trusted."""
TAB, BREAK, RETURN, SPACE, HASH = 9, 10, 13, 32, 35
PLUS, MINUS, POINT, ZERO, NINE, COLON, EQUALS = 43, 45, 46, 48, 57, 58, 61
SLACK = 2.0**-49
"""Relative error of a number that is only close."""
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
    cut = False
    while is_digit(text[i]):
        if digits < _MANY_DIGITS:
            digits = digits * 10 + (np.int64(text[i]) - ZERO)
        else:
            exponent += 1
            cut = True
        i += 1
    n_digits = i - start
    if text[i] == POINT:
        i += 1
        start = i
        while is_digit(text[i]):
            if digits < _MANY_DIGITS:
                digits = digits * 10 + (np.int64(text[i]) - ZERO)
                exponent -= 1
            else:
                cut = True
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
    certain = not cut and digits < _EXACT_INTEGER and -22 <= exponent <= 22
    return (-value if negative else value), i, (EXACT if certain else CLOSE)


@njit(**_JIT)
def find_id(text, i):
    """Begin and end of a document's id in the comment that starts at i.

    It is what follows ``docid =`` (LETOR), or else the comment's first word.
    """
    while is_blank(text[i]) or text[i] == HASH:
        i += 1
    begin, end = _word(text, i)
    if end - begin >= 5 and _is_docid(text, begin):
        i = begin + 5
        while is_blank(text[i]):
            i += 1
        if text[i] == EQUALS or text[i] == COLON:
            i += 1
            while is_blank(text[i]):
                i += 1
            begin, end = _word(text, i)
    return begin, end


@njit(**_JIT)
def _word(text, i):
    begin = i
    while text[i] > SPACE:
        i += 1
    return begin, i


@njit(**_JIT)
def _is_docid(text, i):
    return (
        text[i] == 100  # d o c i d
        and text[i + 1] == 111
        and text[i + 2] == 99
        and text[i + 3] == 105
        and text[i + 4] == 100
    )


@njit(**_JIT)
def is_qid(text, i):
    # The buffer ends in a line break, so the first letter that differs is met in time.
    return text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == COLON


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
