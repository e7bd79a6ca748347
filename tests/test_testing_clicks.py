"""Guards the checks of click models and rewards: each fault is named in one line."""

from dataclasses import replace

import numpy as np
import pytest

from cltr import testing
from cltr.clicks.models import PositionBased
from cltr.objectives.rewards import Naive
from cltr.types import Affine
from tests.broken_components import broken, refused


def probabilities_of(change):
    def probabilities(self, relevance, context):
        return change(PositionBased.probabilities(self, relevance, context))

    return probabilities


def sample_of(change):
    def sample(self, relevance, context, rng):
        return change(PositionBased.sample(self, relevance, context, rng))

    return sample


def affine_of(values):
    """Says one thing of its clicks and does another."""
    honest = PositionBased()
    return {
        "affine": lambda self, top_k: values(top_k),
        "probabilities": lambda self, relevance, context: honest.probabilities(relevance, context),
    }


def _in_place(relevance):
    np.nan_to_num(relevance, copy=False)
    return PositionBased().probabilities(relevance, {})


def reversed_users():
    honest = PositionBased()

    def probabilities(self, relevance, context):
        return honest.probabilities(1.0 - relevance, context)

    return {"probabilities": probabilities, "affine": lambda self, top_k: None}


class Unseeded:
    """Draws without the generator that it is given."""

    rng = np.random.default_rng(5)

    def __call__(self, clicks):
        return clicks & (self.rng.random(clicks.shape) < 0.999)


@pytest.mark.parametrize(
    ("methods", "line"),
    [
        ({"probabilities": probabilities_of(lambda p: p + 0.5)}, "lies outside"),
        ({"probabilities": probabilities_of(lambda p: p * np.nan)}, "is NaN"),
        ({"probabilities": probabilities_of(lambda p: p[:, :3])}, "another shape"),
        ({"sample": sample_of(lambda c: c.astype(float))}, "not Boolean"),
        ({"sample": sample_of(lambda c: ~c)}, "do not follow probabilities"),
        ({"sample": sample_of(Unseeded())}, "the same seed gives other clicks"),
        ({"probabilities": probabilities_of(np.float32)}, "float32, not float64"),
        (
            {"probabilities": lambda self, relevance, context: _in_place(relevance)},
            "it changes relevance in place",
        ),
        (reversed_users(), "the sign is wrong"),
        (affine_of(lambda k: Affine(np.ones(2), np.zeros(2))), "another length"),
        (affine_of(lambda k: Affine(1.0 / np.arange(k, 0, -1), np.zeros(k))), "affine disagrees"),
        (affine_of(lambda k: Affine(np.zeros(k), 0.5 / np.arange(1, k + 1))), "affine disagrees"),
    ],
)
def test_click_models(methods, line):
    refused(testing.check_click_model, broken(PositionBased, **methods), line)


def changed_fit(change):
    def fit(self, counts, dataset=None):
        found = PositionBased.fit(self, counts, dataset)
        self.fitted = change(found)
        return self.fitted

    return fit


class Late:
    """Counts only what it sees second."""

    def __init__(self, counts=None):
        self.counts = counts

    def __add__(self, other):
        return other


@pytest.mark.parametrize(
    ("methods", "line"),
    [
        ({"fit": lambda self, counts, dataset=None: None}, "fit returns NoneType, not Parameters"),
        (
            {"fit": lambda self, counts, dataset=None: PositionBased().fit(counts, dataset)},
            "fit does not keep what it found",
        ),
        (
            {"fit": changed_fit(lambda found: replace(found, query_ids=np.arange(30)))},
            "query_ids is not one per document",
        ),
        (
            {"infer": lambda self, counts, dataset=None: np.zeros(3)},
            "infer is not one number per document",
        ),
        (
            {"predict": lambda self, chunk: PositionBased.predict(self, chunk) ** 4},
            "the fit predicts click rates by rank",
        ),
        (
            {
                "needs_sessions": True,
                "count": lambda self, chunk, offsets: Late(
                    PositionBased.count(self, chunk, offsets)
                ),
                "fit": lambda self, counts, dataset=None: PositionBased.fit(
                    self, counts.counts, dataset
                ),
                "infer": lambda self, counts, dataset=None: None,
            },
            "counts of parts do not add up",
        ),
        ({"needs_sessions": True}, "declares needs_sessions if, and only if"),
    ],
)
def test_fits_of_click_models(methods, line):
    refused(testing.check_click_model, broken(PositionBased, **methods), line)


def mu_of(change):
    def mu(self, data, *, propensity_clip=0.0):
        return change(Naive.mu(self, data), data)

    return mu


def _cleared(values, data):
    data.statistics.clicks[:] = 0
    return values


class Drifting:
    """Another result each time."""

    calls = 0

    def __call__(self, values, data):
        self.calls += 1
        return values + self.calls


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda values, data: values[:-1], "one number per document"),
        (lambda values, data: values / 0.0 * 0.0, "NaN or infinite"),
        (
            lambda values, data: values / (data.statistics.n_interactions > 1),
            "not finite where nothing was shown",
        ),
        (Drifting(), "the same seed gives another mu"),
        (lambda values, data: -values, "the sign is wrong, or clicks are not used"),
        (lambda values, data: values * 0, "the sign is wrong, or clicks are not used"),
        (lambda values, data: values.astype(np.float32), "float32, not float64"),
        (lambda values, data: list(values), "mu is list, not an array"),
        (lambda values, data: data.dataset.labels / 4, "it looks at labels"),
        (_cleared, "it changes clicks in place"),
    ],
)
def test_rewards(change, line):
    with np.errstate(all="ignore"):
        refused(testing.check_reward, broken(Naive, mu=mu_of(change)), line)


def test_rewards_that_ignore_the_clip():
    careless = broken(Naive, assumes=frozenset({"propensities"}))
    refused(testing.check_reward, careless, "propensity_clip changes nothing")


def test_rewards_that_know_only_the_queries_they_were_fitted_on():
    class Remembering(Naive):
        """Keeps what it saw first."""

        name = "remembering"

        def fit(self, data, click_model, *, seed=0):
            self.seen = data.statistics.click_rate

        def mu(self, data, *, propensity_clip=0.0):
            return self.seen

    refused(testing.check_reward, Remembering(), "does not work on other queries")
