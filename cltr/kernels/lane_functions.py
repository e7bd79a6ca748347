"""Exponentials, logarithms, sums and maxima of eight doubles together (:mod:`cltr.kernels.lanes`).

``exp_lanes`` and ``log_lanes`` are polynomials, right to about one unit in the last place. They do
not ask the system's library, so they give the same bits on every system whose processor rounds
``multiply_add`` once.

References: for the logarithm, the remainder of FDLIBM (Sun Microsystems, 1993).
"""
# mypy: ignore-errors

import math

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from cltr.kernels.lanes import LANES, Lanes, all_lanes, multiply_add, where_above

_JIT = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}
_NUMBERS = ir.VectorType(ir.IntType(64), LANES)
_lanes = Lanes()

LOWEST = -700.0
"""What is below has an exponential of 0."""
_TO_INTEGER = 1.5 * 2.0**52
"""Added to a number it leaves its nearest integer in the lowest bits."""
_PER_DOUBLING = 1.0 / math.log(2.0)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_EXP = tuple(1.0 / math.factorial(i) for i in range(14))
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def _all(number: int) -> ir.Constant:
    return ir.Constant(_NUMBERS, [number] * LANES)


@intrinsic
def _doubled(typing, row, times):
    """A row times two to the power of integers, which are in the lowest bits of ``times``."""

    def generate(context, builder, signature, values):
        bits, power = (builder.bitcast(value, _NUMBERS) for value in values)
        moved = builder.add(bits, builder.shl(power, _all(52)))
        return builder.bitcast(moved, values[0].type)

    return _lanes(_lanes, _lanes), generate


@intrinsic
def _doublings(typing, row):
    """How often 1 was doubled before a number between the roots of 1/2 and 2 was multiplied."""

    def generate(context, builder, signature, values):
        (row,) = values
        bits = builder.sub(builder.bitcast(row, _NUMBERS), _all(_SQRT_HALF_BITS))
        count = builder.add(builder.ashr(bits, _all(52)), _all(0x4338000000000000))
        shift = ir.Constant(row.type, [_TO_INTEGER] * LANES)
        return builder.fsub(builder.bitcast(count, row.type), shift)

    return _lanes(_lanes), generate


def _folding(combine):
    """One number of a row: its two halves are combined until one lane is left."""

    @intrinsic
    def fold(typing, row):
        def generate(context, builder, signature, values):
            row, width = values[0], LANES
            while width > 1:
                width //= 2
                kind = ir.VectorType(ir.IntType(32), width)
                places = (ir.Constant(kind, list(range(at, at + width))) for at in (0, width))
                row = combine(builder, *(builder.shuffle_vector(row, row, at) for at in places))
            return builder.extract_element(row, ir.IntType(32)(0))

        return types.float64(_lanes), generate

    return fold


sum_of_lanes = _folding(lambda builder, a, b: builder.fadd(a, b))
highest_lane = _folding(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))


@njit(**_JIT)
def exp_lanes(row):
    """Of each number; 0 below LOWEST. None may be above 700."""
    lowest = all_lanes(LOWEST)
    inside = where_above(row, lowest, row, lowest)
    shifted = multiply_add(inside, all_lanes(_PER_DOUBLING), all_lanes(_TO_INTEGER))
    doublings = shifted - all_lanes(_TO_INTEGER)
    rest = multiply_add(doublings, all_lanes(-_LN2_HIGH), inside)
    rest = multiply_add(doublings, all_lanes(-_LN2_LOW), rest)
    value = all_lanes(_EXP[13])
    for i in (12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0):
        value = multiply_add(value, rest, all_lanes(_EXP[i]))
    return where_above(row, lowest, _doubled(value, shifted), all_lanes(0.0))


@njit(**_JIT)
def log_lanes(row):
    """Of each number, which is 0 or a normal positive one."""
    nothing, half, two = all_lanes(0.0), all_lanes(0.5), all_lanes(2.0)
    doublings = _doublings(row)
    more = _doubled(row, all_lanes(_TO_INTEGER) - doublings) - all_lanes(1.0)
    square = half * more * more
    s = more / (two + more)
    z = s * s
    rest = all_lanes(_LOG[6])
    for i in (5, 4, 3, 2, 1, 0):
        rest = multiply_add(rest, z, all_lanes(_LOG[i]))
    small = multiply_add(s, multiply_add(rest, z, square), doublings * all_lanes(_LN2_LOW))
    value = multiply_add(doublings, all_lanes(_LN2_HIGH), more - (square - small))
    return where_above(row, nothing, value, all_lanes(-math.inf))
