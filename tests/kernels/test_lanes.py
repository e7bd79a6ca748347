"""Rows of eight numbers in compiled code do what a loop over them does."""

import numpy as np
import pytest
from numba import njit

from cltr.kernels.lanes import LANES, all_lanes, lanes_at, multiply_add, put_lanes, where_above


@njit
def compute(rows, number, out):
    a, b, c = lanes_at(rows, (0, 1)), lanes_at(rows, (1, 1)), lanes_at(rows, (2, 0))
    put_lanes(out, (0,), a + b)
    put_lanes(out, (1,), a - b)
    put_lanes(out, (2,), a * b)
    put_lanes(out, (3,), multiply_add(a, b, c))
    put_lanes(out, (4,), all_lanes(number))
    put_lanes(out, (5,), where_above(a, b, c, all_lanes(number)))
    put_lanes(out, (6,), a / b)


@pytest.mark.parametrize("sliced", [False, True])
def test_each_lane_is_computed_as_a_number_alone(sliced):
    rows = np.random.default_rng(0).normal(size=(5, 4, LANES))
    rows = rows[1:4, ::2] if sliced else rows[:3, :2]
    out = np.zeros((8, LANES))
    compute(rows, 0.3, out)
    a, b, c = rows[0, 1], rows[1, 1], rows[2, 0]
    np.testing.assert_array_equal(out[:3], [a + b, a - b, a * b])
    np.testing.assert_allclose(out[3], a * b + c, atol=1e-15)
    np.testing.assert_array_equal(out[4:6], [np.full(LANES, 0.3), np.where(a > b, c, 0.3)])
    np.testing.assert_array_equal(out[6:], [a / b, 0 * a])
