"""Guards the guards: each conformance check refuses a component that breaks its contract."""

from dataclasses import replace

import click
import numpy as np
import pytest
from pydantic import Field

from cltr import testing
from cltr.checks import Finding
from cltr.checks.leakage import Leakage
from cltr.clicks.models import PositionBased
from cltr.evaluation.further_metrics import RankBiasedPrecision
from cltr.extensions import Command, DataLayout
from cltr.interfaces import Enforced, Estimator, LogReader, Model, Penalised
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.objectives.rewards import Naive
from cltr.options import Options
from cltr.training.exact_ranker import Exact
from cltr.training.scorers import Linear
from cltr.types import Affine


def broken(base: type, *, name: str = "broken", doc: str = "Breaks its contract.", **methods):
    """A component that is as ``base`` but for some methods."""
    return type(base)("Broken", (base,), {"name": name, "__doc__": doc, **methods})()


def refused(check, component, line: str, *args, **kwargs) -> None:
    with pytest.raises(AssertionError, match=line) as caught:
        check(component, *args, **kwargs)
    assert "\n" not in str(caught.value)


# What all share.


def test_names_are_one_lower_case_word():
    refused(testing.check_reward, broken(Naive, name="My Reward"), "a name has lower-case letters")


def test_a_component_says_what_it_is():
    refused(testing.check_reward, broken(Naive, doc=""), "has no docstring")


def test_options_are_described_and_closed():
    class Undescribed(Options):
        strength: float = 1.0

    class Open(Options, extra="allow"):
        strength: float = Field(1.0, description="how strong.")

    bare = broken(Naive, Options=Undescribed)
    refused(testing.check_reward, bare, r"option 'broken\.strength' has no description")
    refused(testing.check_reward, broken(Naive, Options=Open), "takes any option")


# Click models.


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


# Rewards.


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


# Estimators.


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


# Rankers.


def gradient_of(change):
    def gradient(self, batch, objective, rng):
        return change(Exact.gradient(self, batch, objective, rng), batch.mask)

    return gradient


NOISE = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda g, mask: -g, "downhill"),
        (lambda g, mask: g[:, :3], "another shape"),
        (lambda g, mask: np.where(g > 0, np.nan, g), "not finite"),
        (lambda g, mask: g + 1e-3 * ~mask, "padding is not 0"),
        (lambda g, mask: g + mask, "a single document has a gradient"),
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


# Scorers.


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


# Log readers.

SHOWN = """
    SELECT * FROM (VALUES
        ('s1', 'q1', 'a', 1, 1), ('s1', 'q1', 'b', 2, 0),
        ('s2', 'q1', 'b', 1, 0), ('s2', 'q1', 'a', 2, 1)
    ) AS log (session, query, document, position, click)
"""
"""Two interactions of two documents each, two of them clicked."""


@pytest.mark.parametrize(
    ("query", "line"),
    [
        (SHOWN, None),
        (f"{SHOWN} WHERE position = 1", "2 impressions are read, not 4"),
        (f"SELECT * REPLACE (0 AS click) FROM ({SHOWN})", "0 clicks are read, not 2"),
        (f"SELECT * REPLACE (session AS query) FROM ({SHOWN})", "no row .* is read"),
        (f"SELECT * EXCLUDE (session) FROM ({SHOWN})", "sessions are lost or invented"),
        (
            f"SELECT * REPLACE ('s1' AS session) FROM ({SHOWN})",
            "the log is refused: .* contradict",
        ),
    ],
)
def test_log_readers(query, line, tmp_path):
    class Reading(LogReader):
        """Reads what it likes."""

        name = "reading"

        def select(self, connection, paths):
            return query

    path = tmp_path / "log.csv"
    path.write_text("its content is not looked at\n")
    row = {"query": "q1", "document": "a", "position": 2, "click": True}
    numbers = {"n_impressions": 4, "n_clicks": 2, "n_interactions": 2, "row": row}
    if line is None:
        testing.check_log_reader(Reading(), path, **numbers)
    else:
        refused(testing.check_log_reader, Reading(), line, path, **numbers)


# Metrics.


def values_of(change):
    def values(self, policy, *, top_k):
        return change(RankBiasedPrecision.values(self, policy, top_k=top_k), policy)

    return values


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda values, policy: values[:-1], "one number per query"),
        (lambda values, policy: values * np.nan, "not finite"),
        (lambda values, policy: -values, "the ideal ranking is not better"),
        (lambda values, policy: values * 0, "the ideal ranking is not better"),
        (lambda values, policy: values + NOISE.normal(), "another value each time"),
        (lambda values, policy: values + abs(policy.dataset.features).sum(), "depends on features"),
        (lambda values, policy: None, "sorted rankings have no value"),
    ],
)
def test_metrics(change, line):
    metric = broken(RankBiasedPrecision, values=values_of(change))
    refused(testing.check_metric, metric, line)


# Data layouts, questions, commands.


def finding(**changes):
    given = {"name": "odd", "uses": {"training": "warning"}, "number": 1.0}
    given |= {"text": "1 thing", "why": "it is odd", "advice": "look"}
    return Finding(**(given | changes))


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (["odd"], "which is no Finding"),
        ([finding(text="")], "does not say what and why"),
        ([finding(uses={"lunch": "note"})], "no use lunch"),
        ([finding(advice="")], "does not say what to do"),
        (iter([finding()]), "the same log gives other findings"),
        ([finding()], None),
    ],
)
def test_questions(found, line):
    asking = broken(Leakage, ask=lambda self, evidence: found)
    if line is None:
        testing.check_question(asking)
    else:
        refused(testing.check_question, asking, line)


def built(name="broken", help="Does it.", option_help="How many."):
    option = click.Option(["--many"], help=option_help)
    return click.Command(name, help=help, params=[option], callback=lambda many: None)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (lambda: None, "does not return a click command"),
        (lambda: built(name="other"), "it is called 'other', not 'broken'"),
        (lambda: built(help=""), "has no docstring"),
        (lambda: built(option_help=""), "option --many has no help"),
        (built, None),
    ],
)
def test_commands(command, line):
    one = broken(Command, build=lambda self: command())
    if line is None:
        testing.check_command(one)
    else:
        refused(testing.check_command, one, line)


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (None, "is not found, although"),
        ({"test": ["a.txt"]}, "no training files"),
        ({"train": ["a.txt"], "exam": ["b.txt"]}, "there is no split exam"),
        ({"train": ["a.txt"]}, "1 files are found, not 2"),
        ({"train": ["a.txt", "a.txt"]}, "in two splits"),
        ({"train": ["a.txt", "c.txt"]}, "c.txt is found but does not exist"),
        ({"train": ["a.txt"], "test": ["b.txt"]}, "an empty folder is taken for it"),
    ],
)
def test_data_layouts(tmp_path, files, line):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1 qid:1 1:1\n")

    def find(self, folder, *, fold):
        if files is None:
            return None
        return {split: [tmp_path / name for name in names] for split, names in files.items()}, []

    layout = broken(DataLayout, find=find, title="Broken", highest_grade=4)
    refused(testing.check_data_layout, layout, line, tmp_path, n_files=2)


# The data that checks run on.


def test_the_tiny_data_has_all_that_goes_wrong():
    data = testing.tiny_dataset()
    lengths = data.lists.lengths
    assert lengths.min() == 1
    assert lengths.max() > testing.TOP_K
    assert all(first < last for first, last in data.splits.values())
    np.testing.assert_array_equal(data.labels, testing.tiny_dataset().labels)
    clicks = testing.tiny_clicks()
    assert clicks.statistics.n_interactions == 2000
    assert clicks.exposure.weights.shape == data.labels.shape
