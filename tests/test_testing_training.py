"""Guards the checks of estimators, rankers and scorers: each fault is named in one line."""

import numpy as np
import pytest

from cltr import testing
from cltr.interfaces import Enforced, Estimator, Model, Penalised
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.training.exact_ranker import Exact
from cltr.training.scorers import Linear
from tests.broken_components import NOISE, broken, refused


def of_weights(function):
    """A method with the contract's names, which the loader asks for."""

    def method(self, weights, logging_weights, rewards):
        return function(weights, logging_weights, rewards)

    return method


@pytest.mark.parametrize(
    ("methods", "line"),
    [
        ({"slope": of_weights(lambda w, w0, mu: 2 * mu + 0 * w)}, "slope is not the derivative"),
        ({"gain": of_weights(lambda w, w0, mu: w * mu + 1.0)}, "padding"),
        ({"gain": of_weights(lambda w, w0, mu: (w * mu).sum())}, "not elementwise"),
        (
            {"gain": of_weights(lambda w, w0, mu: w * mu * np.arange(w.shape[-1]))},
            "depends on the order",
        ),
        ({"gain": of_weights(lambda w, w0, mu: w * mu / w0)}, "not finite"),
        ({"guarantee": "some"}, "must be one of none, incentive, enforced"),
        ({"guarantee": "enforced"}, "if, and only if, it is an Enforced estimator"),
        ({"diagnostics": lambda self, *given: {"share": np.nan}}, "diagnostics is not finite"),
    ],
)
def test_estimators(methods, line):
    with np.errstate(all="ignore"):
        refused(testing.check_estimator, broken(Plain, **methods), line)


def test_estimators_that_serve_no_share():
    class Greedy(Plain, Enforced):
        """Serves more than there is."""

        name = "greedy"

        def served_share(self, weights, logging_weights, lists):
            return np.full(len(lists.lengths), 1.5)

    refused(testing.check_estimator, Greedy(), "served_share is no share")


def test_estimators_whose_divergence_has_another_slope():
    class Slanted(Plain, Penalised):
        """Half of the slope."""

        name = "slanted"

        def divergence(self, weights, exposure):
            return weights**2

        def divergence_slope(self, weights, exposure):
            return weights

        def penalty(self, mean_divergence):
            return mean_divergence

        def penalty_slope(self, mean_divergence):
            return 1.0

    refused(testing.check_estimator, Slanted(), "divergence_slope is not the derivative")


SQUARE = {
    "divergence": lambda self, weights, exposure: weights**2,
    "divergence_slope": lambda self, weights, exposure: 2 * weights,
    "penalty": lambda self, mean_divergence: mean_divergence**0.5,
    "penalty_slope": lambda self, mean_divergence: 0.5 / mean_divergence**0.5,
    "gain": of_weights(lambda w, w0, mu: w * mu),
}


@pytest.mark.parametrize(
    ("methods", "line"),
    [
        ({}, None),
        ({"penalty_slope": lambda self, mean_divergence: 1.0}, "penalty_slope is not the deriv"),
        (
            {
                "penalty": lambda self, mean_divergence: -mean_divergence,
                "penalty_slope": lambda self, mean_divergence: -1.0,
            },
            "a larger divergence costs less",
        ),
    ],
)
def test_penalties(methods, line):
    estimator = broken(Penalised, **(SQUARE | methods))
    if line is None:
        testing.check_estimator(estimator)
    else:
        refused(testing.check_estimator, estimator, line)


def _scaled(weights, rewards):
    rewards *= 2
    return weights * rewards / 2


@pytest.mark.parametrize(
    ("gain", "line"),
    [
        (lambda w, w0, mu: -w * mu, "wrong sign"),
        (lambda w, w0, mu: w * mu / w.sum(-1)[..., None], "gain is not separable"),
        (lambda w, w0, mu: _scaled(w, mu), "it changes rewards in place"),
    ],
)
def test_gains(gain, line):
    estimator = broken(Estimator, gain=of_weights(gain))
    refused(testing.check_estimator, estimator, line)


def test_gains_of_another_type():
    half = broken(Plain, gain=of_weights(lambda w, w0, mu: (w * mu).astype(np.float32)))
    refused(testing.check_estimator, half, "gain: float32, not float64")


def test_a_kink_is_no_offence():
    testing.check_estimator(PRPO(clip=0.8, rollback=0.5))


def gradient_of(change):
    def gradient(self, batch, objective, rng):
        return change(Exact.gradient(self, batch, objective, rng), batch.mask)

    return gradient


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda g, mask: -g, "lowers the objective"),
        (lambda g, mask: g[:, :3], "another shape"),
        (lambda g, mask: np.where(g > 0, np.nan, g), "not finite"),
        (lambda g, mask: g + 1e-3 * ~mask, "not 0 at padding"),
        (lambda g, mask: g + mask, "a list of one document is not 0"),
        (lambda g, mask: g + NOISE.normal(size=g.shape) * (mask & (mask.sum(1) > 1)[:, None]),
         "another gradient"),
        (lambda g, mask: g * mask.shape[1], "more padding changes"),
        (lambda g, mask: g.astype(np.float32), "float32, not float64"),
    ],
)  # fmt: skip
def test_rankers(change, line):
    refused(testing.check_ranker, broken(Exact, gradient=gradient_of(change)), line)


def test_rankers_that_change_the_slope():
    def gradient(self, batch, objective, rng):
        found = Exact.gradient(self, batch, objective, rng)
        objective.slope[:] = 0.0
        return found

    refused(
        testing.check_ranker, broken(Exact, gradient=gradient), r"changes objective\.slope in place"
    )


def test_rankers_without_a_policy():
    refused(testing.check_ranker, broken(Exact, policy=None), "policy is not a cltr")


class Faulty(Model):
    """A weight for each feature, moved by a small step; its faults are arguments."""

    def __init__(self, setup, **faults):
        self.weights, self.steps = np.zeros(setup.n_features), 0
        self.faults = faults

    def of(self, fault, default):
        return self.faults.get(fault, default)

    def scores(self, documents):
        self.of("input", lambda features: None)(documents.features)
        return self.of("scores", lambda s: s)(documents.features.astype(float) @ self.weights)

    def step(self, documents, ascent):
        direction = ascent(documents.features.astype(float) @ self.weights)
        move = documents.features.T.astype(float) @ direction
        move = self.of("move", lambda m, model: m)(move, self)
        if self.of("in_place", False):
            self.weights += 0.01 * move
        else:
            self.weights = self.weights + 0.01 * move
        self.steps += 1

    def state(self):
        return {"weights": self.weights}

    def load_state(self, state):
        self.weights = state["weights"] if self.of("loads", True) else self.weights


@pytest.mark.parametrize(
    ("faults", "line"),
    [
        ({"scores": lambda s: s[:, None]}, "one number per document"),
        ({"scores": lambda s: s.astype(np.float32)}, "scores are float32"),
        ({"input": lambda features: features.fill(0)}, "it changes features in place"),
        ({"scores": lambda s: s + np.nan}, "not finite"),
        ({"scores": lambda s: s + NOISE.normal()}, "scoring twice gives other scores"),
        ({"scores": lambda s: s + len(s)}, "depend on other lists"),
        ({"move": lambda m, model: -m}, "steps lead downhill"),
        ({"move": lambda m, model: m / (1 + model.steps)}, "a resumed model steps otherwise"),
        ({"loads": False}, "scores otherwise than the model that gave it"),
        ({"in_place": True}, "changes arrays of a state that was given away"),
    ],
)
def test_scorers(faults, line):
    scorer = broken(Linear, build=lambda self, setup, *, seed: Faulty(setup, **faults))
    refused(testing.check_scorer, scorer, line)


def test_a_model_of_numpy_alone_is_no_offence():
    scorer = broken(Linear, build=lambda self, setup, *, seed: Faulty(setup))
    testing.check_scorer(scorer)
