"""Eight doubles that are worked on together, as compiled code can hold them in registers.

Numba makes vector code of long loops only, and takes a loop over eight lanes apart into eight
numbers one by one. So kernels that walk along a list with eight nodes at a time say it themselves:
``lanes_at`` reads a row of eight numbers, ``put_lanes`` writes one, ``+``, ``-``, ``*`` and ``/``
work on rows, and ``multiply_add(a, b, c)`` is a * b + c, rounded once where the processor can. Each
lane is computed as a loop over the lanes would do it, so results are the same to the bit.
"""
# mypy: ignore-errors

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, overload, register_model

LANES = 8
"""Nodes that are worked on together: one vector register of doubles, or two or four."""
_ROW = ir.VectorType(ir.DoubleType(), LANES)


class Lanes(types.Type):
    """Numba's type of such a row."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES})")


_lanes = Lanes()


@register_model(Lanes)
class _LanesModel(PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _ROW)


def _pointer(context, builder, kind, array, places):
    """Of the row at these places of the leading dimensions."""
    fields = context.make_array(kind)(context, builder, array)
    numbers = [context.cast(builder, value, its, types.intp) for value, its in places]
    numbers.append(context.get_constant(types.intp, 0))
    shape, strides = (
        cgutils.unpack_tuple(builder, x, kind.ndim) for x in (fields.shape, fields.strides)
    )
    first = cgutils.get_item_pointer2(
        context, builder, fields.data, shape, strides, kind.layout, numbers
    )
    return builder.bitcast(first, _ROW.as_pointer())


@intrinsic
def lanes_at(typing, array, places):
    """The row of eight at a tuple of places: all dimensions but the last, which is contiguous."""

    def generate(context, builder, signature, values):
        kind, its = signature.args
        numbers = zip(cgutils.unpack_tuple(builder, values[1]), its.types, strict=True)
        return builder.load(_pointer(context, builder, kind, values[0], numbers), align=8)

    return _lanes(array, places), generate


@intrinsic
def put_lanes(typing, array, places, row):
    """Write a row of eight at a tuple of places."""

    def generate(context, builder, signature, values):
        kind, its, _ = signature.args
        numbers = zip(cgutils.unpack_tuple(builder, values[1]), its.types, strict=True)
        builder.store(values[2], _pointer(context, builder, kind, values[0], numbers), align=8)
        return context.get_dummy_value()

    return types.void(array, places, row), generate


@intrinsic
def all_lanes(typing, number):
    """The same number eight times."""

    def generate(context, builder, signature, values):
        number = context.cast(builder, values[0], signature.args[0], types.float64)
        none = ir.Constant(_ROW, ir.Undefined)
        first = builder.insert_element(none, number, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, none, everywhere)

    return _lanes(number), generate


@intrinsic
def multiply_add(typing, a, b, c):
    """Rows: a * b + c."""

    def generate(context, builder, signature, values):
        kind = ir.FunctionType(_ROW, [_ROW] * 3)
        name = f"llvm.fmuladd.v{LANES}f64"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)

    return _lanes(_lanes, _lanes, _lanes), generate


@intrinsic
def where_above(typing, row, bound, yes, no):
    """Rows: in each lane ``yes`` where the row is above the bound, ``no`` elsewhere."""

    def generate(context, builder, signature, values):
        row, bound, yes, no = values
        return builder.select(builder.fcmp_ordered(">", row, bound), yes, no)

    return _lanes(_lanes, _lanes, _lanes, _lanes), generate


def _of_two_rows(operation, instruction):
    """Let two rows be added, subtracted, multiplied or divided."""

    @intrinsic
    def combine(typing, a, b):
        def generate(context, builder, signature, values):
            return getattr(builder, instruction)(*values)

        return _lanes(_lanes, _lanes), generate

    @overload(operation)
    def choose(a, b):
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: combine(a, b)  # noqa: PLW0108 - numba compiles a function
        return None


_of_two_rows(operator.add, "fadd")
_of_two_rows(operator.sub, "fsub")
_of_two_rows(operator.mul, "fmul")
_of_two_rows(operator.truediv, "fdiv")
