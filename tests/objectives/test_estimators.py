"""Guards the plain estimator, and what the base class gives to every estimator for free."""

import numpy as np
import pytest
import torch
from hypothesis import given

from cltr.errors import PluginError
from cltr.interfaces import Enforced, Estimator, Objective, Penalised
from cltr.objectives.band import Band
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.types import Exposure
from tests import strategies

DOCS = 4


class Quadratic(Penalised):
    """A gain and a divergence whose derivatives are known, with nothing else defined."""

    name = "quadratic"

    def gain(self, weights, logging_weights, rewards):
        return rewards * weights - logging_weights * weights**2

    def divergence(self, weights, exposure):
        return exposure.attention * weights**2 / exposure.propensities

    def penalty(self, mean_divergence):
        return 2 * mean_divergence

    def penalty_slope(self, mean_divergence):
        return 2.0


class Constant(Estimator):
    """A gain that ignores the policy."""

    name = "constant"

    def gain(self, weights, logging_weights, rewards):
        return logging_weights * rewards


def exposure() -> Exposure:
    return Exposure(np.array([0.5, 0.2]), np.array([0.4, 0.1]), np.array([0.6, 0.3]))


def test_plain_gain_is_eq_44_weight_times_reward():
    weights, rewards = np.array([1.0, 0.5, 0.0]), np.array([0.2, -0.4, 3.0])
    expected = [1.0 * 0.2, 0.5 * -0.4, 0.0 * 3.0]
    np.testing.assert_array_equal(Plain().gain(weights, np.ones(3), rewards), expected)


@given(
    weights=strategies.arrays(DOCS, 0, 1),
    logging_weights=strategies.arrays(DOCS, 0, 1),
    rewards=strategies.arrays(DOCS, -3, 3),
)
def test_law_plain_slope_is_the_reward_by_closed_form_and_by_autograd(
    weights, logging_weights, rewards
):
    plain = Plain()
    np.testing.assert_array_equal(plain.slope(weights, logging_weights, rewards), rewards)
    np.testing.assert_array_equal(
        Estimator.slope(plain, weights, logging_weights, rewards), rewards
    )


def test_plain_is_alike_in_numpy_and_torch():
    arrays = np.array([0.3, 0.2]), np.array([0.1, 0.9]), np.array([1.0, -2.0])
    by_torch = Plain().gain(*(torch.as_tensor(array) for array in arrays))
    np.testing.assert_array_equal(by_torch.numpy(), Plain().gain(*arrays))


def test_base_slope_is_the_derivative_of_the_gain():
    weights, logging_weights, rewards = (
        np.array([0.3, 0.6]),
        np.array([0.5, 0.2]),
        np.array([1, -2]),
    )
    expected = [1 - 2 * 0.5 * 0.3, -2 - 2 * 0.2 * 0.6]
    np.testing.assert_allclose(Quadratic().slope(weights, logging_weights, rewards), expected)


def test_base_slope_of_a_gain_that_ignores_the_policy_is_zero():
    ones = np.ones(3)
    np.testing.assert_array_equal(Constant().slope(ones, ones, ones), np.zeros(3))


def test_base_divergence_slope_is_the_derivative_of_the_divergence():
    weights = np.array([0.3, 0.6])
    expected = [2 * 0.3 * 0.6 / 0.4, 2 * 0.6 * 0.3 / 0.1]
    np.testing.assert_allclose(Quadratic().divergence_slope(weights, exposure()), expected)


@pytest.mark.parametrize(
    ("method", "contract"), [("penalty", "Penalised"), ("served_share", "Enforced")]
)
def test_what_nobody_would_call_is_refused(method, contract):
    """A penalty, or a share, of an estimator that is not asked for it would be lost in silence."""
    lost = type("Lost", (Plain,), {"name": "lost", method: lambda self, *given: 0.0})
    with pytest.raises(PluginError, match=rf"'lost' defines {method}, .*interfaces\.{contract}"):
        lost()


def test_a_penalty_needs_its_slope():
    half = type("Half", (Plain, Penalised), {"penalty": lambda self, mean: mean})
    with pytest.raises(TypeError, match=r"abstract methods? '?divergence'?, '?penalty_slope"):
        half()


def test_what_serves_a_bound_is_enforced():
    assert Band().guarantee == "enforced"
    assert isinstance(Band(), Enforced)
    assert Plain().diagnostics(np.ones(2), exposure(), np.ones(2), None) == {}


def test_objective_subtracts_the_price_of_divergence_from_gain_and_slope():
    weights, rewards = np.array([[0.3, 0.6]]), np.array([[1.0, -2.0]])
    at = Exposure(*(array[None] for array in (np.array([0.5, 0.2]), *exposure_parts())))
    objective = Objective(Quadratic(), weights, at, rewards, price=0.7)
    quadratic = Quadratic()
    np.testing.assert_allclose(
        objective.slope,
        quadratic.slope(weights, at.weights, rewards)
        - 0.7 * quadratic.divergence_slope(weights, at),
    )
    other = weights / 2
    np.testing.assert_allclose(
        objective.gain(other),
        quadratic.gain(other, at.weights, rewards) - 0.7 * quadratic.divergence(other, at),
    )


def exposure_parts() -> tuple[np.ndarray, np.ndarray]:
    return exposure().propensities, exposure().attention


@pytest.mark.parametrize("estimator", [Plain(), PRPO(clip=0.5)])
def test_objective_without_a_price_is_the_estimator(estimator):
    weights, rewards = np.array([0.3, 0.6]), np.array([1.0, -2.0])
    objective = Objective(estimator, weights, exposure(), rewards)
    logging_weights = exposure().weights
    np.testing.assert_array_equal(
        objective.slope, estimator.slope(weights, logging_weights, rewards)
    )
    np.testing.assert_array_equal(
        objective.gain(weights), estimator.gain(weights, logging_weights, rewards)
    )
