"""Functions of eight numbers together agree with numpy's to the last place or two."""

import numpy as np
import pytest
from numba import njit

from cltr.kernels.lane_functions import exp_lanes, highest_lane, log_lanes, sum_of_lanes
from cltr.kernels.lanes import LANES, lanes_at, put_lanes

ULP = 2.0**-52


@njit
def compute(rows, out, folded):
    for i in range(len(rows)):
        row = lanes_at(rows, (i,))
        put_lanes(out, (0, i), exp_lanes(row))
        put_lanes(out, (1, i), log_lanes(row))
        folded[0, i], folded[1, i] = sum_of_lanes(row), highest_lane(row)


def computed(numbers):
    rows = np.asarray(numbers, np.float64).reshape(-1, LANES)
    out, folded = np.empty((2, *rows.shape)), np.empty((2, len(rows)))
    compute(rows, out, folded)
    return rows, *out, *folded


def test_exponentials_of_negative_numbers():
    rng = np.random.default_rng(0)
    sizes = np.repeat([1e-12, 1e-3, 1.0, 50.0, 150.0], 800)
    rows, found, *_ = computed(np.clip(-rng.exponential(sizes), -699.9, 0))
    np.testing.assert_allclose(found, np.exp(rows), rtol=2 * ULP, atol=0)


def test_exponentials_of_very_low_numbers_are_nothing():
    _, found, *_ = computed([0.0, -0.0, -700.5, -1e6, -1e300, -np.inf, 1.0, 699.0])
    assert found[0, :6].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert found[0, 6:] == pytest.approx(np.exp([1.0, 699.0]), rel=1e-13)


def test_logarithms_of_probabilities_and_more():
    rng = np.random.default_rng(1)
    near = 1.0 - rng.exponential(1e-6, size=800)
    numbers = np.concatenate([rng.random(8000), near, np.exp(rng.uniform(-690, 690, size=800))])
    rows, _, found, *_ = computed(numbers)
    np.testing.assert_allclose(found, np.log(rows), rtol=2 * ULP, atol=0)


def test_logarithms_at_the_edges():
    roots = np.nextafter(np.sqrt(0.5), [0, 1]).tolist()
    rows, _, found, *_ = computed([0.0, 1.0, 2.0, 0.5, *roots, np.sqrt(2.0), 2.3e-308])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, np.log(rows), rtol=2 * ULP, atol=0)


def test_sums_and_maxima_of_a_row():
    rows, *_, total, highest = computed(np.random.default_rng(2).normal(size=(50, LANES)))
    np.testing.assert_allclose(total, rows.sum(1), atol=1e-14)
    np.testing.assert_array_equal(highest, rows.max(1))
