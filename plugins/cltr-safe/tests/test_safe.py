"""Guards the safe estimator: its constants, its gradient, its stated confidence, its refusals."""

import importlib.util
import math
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cltr.clicks.models import PositionBased, TrustBias
from cltr.errors import OptionError, UnsupportedError
from cltr.interfaces import EstimatorContext, Objective
from cltr.objectives.rewards import Labels, Naive
from cltr.plugins import registry
from cltr.policies import PlackettLuce
from cltr.testing import check_estimator
from cltr.types import Exposure, Lists
from cltr_safe import Safe
from tests import enumeration

SEVERAL = settings(deadline=None, max_examples=40, derandomize=True)
PAPER = TrustBias()
DCG = 1 / np.log2(np.arange(2, 7))


class OneFold(Naive):
    """Stands for ips."""

    name = "one-fold"
    variance_factor = 1.0


class TwoFold(Naive):
    """Stands for dr."""

    name = "two-fold"
    variance_factor = 2.0


def context(n=100, *, metric="clicks", model=PAPER, top_k=5):
    affine = model.affine(top_k)
    weights = affine.examination + affine.trust if metric == "clicks" else DCG[:top_k]
    return EstimatorContext(n, weights, metric, model)


def prepared(reward, *, n=100, metric="clicks", model=PAPER, top_k=5, **options):
    estimator = Safe(reward=reward, **options)
    estimator.prepare(context(n, metric=metric, model=model, top_k=top_k))
    return estimator


@pytest.mark.parametrize(
    ("delta", "coefficient"), [(0.01, 40.2), (0.1, 12.1), (0.45, 4.47), (0.95, 0.927)]
)
def test_paper_constants_of_cikm24_eq_18(delta, coefficient):
    n, z = 400, 3.74
    estimator = prepared(TwoFold(), n=n, confidence=1 - delta, form="paper")
    constant = 1 + 0.65 / 0.35
    at_logging = Exposure(np.full(5, z / 5), np.full(5, 0.5), np.full(5, z / 5))
    divergence = estimator.divergence(at_logging.weights, at_logging).sum()
    assert divergence == pytest.approx(2 * z)  # d2 = 1 at the logging policy
    expected = constant * math.sqrt(2 * z / n * (1 - delta) / delta)
    assert estimator.penalty(divergence) == pytest.approx(expected)
    rounded = estimator.penalty(2.0) * math.sqrt(n)
    assert rounded == pytest.approx(coefficient, rel=2e-3)


def test_paper_form_without_trust_is_sigir23_eq_26():
    model = PositionBased()
    estimator = prepared(OneFold(), n=50, confidence=0.9, form="paper", model=model)
    z = model.affine(5).examination.sum()
    ratio = np.array([2.0, 0.5])
    logging = z * np.array([1 / 3, 2 / 3])
    divergence = estimator.divergence(ratio * logging, Exposure(logging, logging, logging)).sum()
    renyi = (logging / z * ratio**2).sum()
    assert estimator.penalty(divergence) == pytest.approx(math.sqrt(z / 50 * 0.9 / 0.1 * renyi))


def test_general_form_arithmetic():
    estimator = prepared(TwoFold(), n=200, confidence=0.8, metric="dcg")
    exposure = Exposure(np.array([9.0, 9.0]), np.array([0.5, 0.25]), np.array([0.9, 0.4]))
    weights = np.array([0.3, 0.6])
    expected = 2 * 0.9 * 0.3**2 / 0.5**2 + 2 * 0.4 * 0.6**2 / 0.25**2
    divergence = estimator.divergence(weights, exposure).sum()
    assert divergence == pytest.approx(expected)
    assert estimator.penalty(divergence) == pytest.approx(math.sqrt(0.8 / 0.2 / 200 * expected))


def test_the_counterexample_to_the_paper_form_is_covered_by_the_general_form():
    """Precision weights, alpha = (1, .1, .1, .1, .1), policy = logging policy: variance 36."""
    examination = np.array([1.0, 0.1, 0.1, 0.1, 0.1])
    ranks = np.eye(5)  # one ranking, always
    exposure = Exposure(np.ones(5), ranks @ examination, ranks @ examination)
    estimator = prepared(OneFold(), metric="precision", confidence=0.5, n=1)
    assert estimator.divergence(np.ones(5), exposure).sum() >= 36


def bound_of(estimator, weights, exposure, shares):
    terms = estimator.divergence(weights, exposure).sum(-1)
    return estimator.penalty(float(np.sum(shares * terms)))


@SEVERAL
@given(st.data(), st.sampled_from([OneFold(), TwoFold()]))
def test_general_form_is_never_larger_than_the_papers(data, reward):
    scores = data.draw(arrays(float, 4, elements=st.floats(-4, 4)))
    target = data.draw(arrays(float, 4, elements=st.floats(-4, 4)))
    affine = PAPER.affine(3)
    clicks = affine.examination + affine.trust
    exposure = enumeration.exposure_of(enumeration.rank_distribution(scores, 3), affine, clicks)
    weights = enumeration.rank_distribution(target, 3) @ clicks
    general, paper = (
        bound_of(prepared(reward, form=form, top_k=3), weights, exposure, 1.0)
        for form in ("general", "paper")
    )
    assert general <= paper * (1 + 1e-12)


def lists_of_two_queries():
    """Lists of 4 and 3 documents, padded; scores, exposure, rewards and shares of the log."""
    rng = np.random.default_rng(5)
    mask = np.array([[True] * 4, [True] * 3 + [False]])
    affine = PAPER.affine(3)
    rank_weights = DCG[:3]
    rows = [enumeration.rank_distribution(rng.normal(size=n), 3) for n in (4, 3)]
    exposures = [enumeration.exposure_of(ranks, affine, rank_weights) for ranks in rows]

    def pad(name):
        parts = [getattr(exposure, name) for exposure in exposures]
        return np.stack([np.append(part, np.zeros(4 - len(part))) for part in parts])

    exposure = Exposure(pad("weights"), pad("propensities"), pad("attention"))
    scores = np.where(mask, rng.normal(size=(2, 4)), -np.inf)
    return scores, mask, exposure, rng.normal(size=(2, 4)) * mask, np.array([0.3, 0.7])


@pytest.mark.parametrize(
    ("reward", "form", "metric"),
    [(OneFold(), "general", "dcg"), (TwoFold(), "general", "dcg"), (TwoFold(), "paper", "clicks")],
)
def test_gradient_is_that_of_the_enumerated_value(reward, form, metric):
    scores, mask, exposure, rewards, shares = lists_of_two_queries()
    estimator = prepared(reward, n=30, metric=metric, form=form, confidence=0.7, top_k=3)
    rank_weights = DCG[:3]

    def weights_at(at):
        rows = [
            enumeration.rank_distribution(row[keep], 3) @ rank_weights
            for row, keep in zip(at, mask, strict=True)
        ]
        return np.stack([np.append(row, np.zeros(4 - len(row))) for row in rows])

    def value(at):
        weights = weights_at(at)
        gain = estimator.gain(weights, exposure.weights, rewards).sum(-1)
        return shares @ gain - bound_of(estimator, weights, exposure, shares)

    weights = weights_at(scores)
    mean = float(shares @ estimator.divergence(weights, exposure).sum(-1))
    price = estimator.penalty_slope(mean)
    slope = shares[:, None] * Objective(estimator, weights, exposure, rewards, price).slope
    gradient = PlackettLuce(accuracy=1e-12).gradient(
        scores, slope, Lists.of_mask(mask), rank_weights
    )
    step = 1e-5
    for place in zip(*np.nonzero(mask), strict=True):
        up, down = scores.copy(), scores.copy()
        up[place] += step
        down[place] -= step
        assert gradient[place] == pytest.approx((value(up) - value(down)) / (2 * step), abs=1e-7)
    assert (gradient[~mask] == 0).all()


def test_closed_form_slopes_are_those_of_autograd():
    estimator = prepared(TwoFold(), metric="dcg")
    _, mask, exposure, rewards, _ = lists_of_two_queries()
    weights = np.abs(rewards)
    base = super(Safe, estimator)
    assert estimator.divergence_slope(weights, exposure) == pytest.approx(
        base.divergence_slope(weights, exposure)
    )
    assert estimator.slope(weights, exposure.weights, rewards) == pytest.approx(
        base.slope(weights, exposure.weights, rewards)
    )
    assert mask.any()


@SEVERAL
@given(st.floats(1e-6, 1e6))
def test_penalty_slope_is_the_derivative(divergence):
    estimator = prepared(OneFold())
    step = divergence * 1e-5
    difference = estimator.penalty(divergence + step) - estimator.penalty(divergence - step)
    assert estimator.penalty_slope(divergence) == pytest.approx(difference / (2 * step), rel=1e-6)


def variance_of_one_interaction(scores, relevance, regression, weights, affine):
    """Exact, covariances between documents included: all rankings, all clicks."""
    rankings = enumeration.all_rankings(len(scores), len(affine.trust))
    chances = enumeration.plackett_luce(scores, rankings)
    propensities = enumeration.rank_distribution(scores, len(affine.trust)) @ affine.examination
    ratio = (weights / propensities)[rankings]
    clicked = relevance[rankings] * affine.examination + affine.trust
    residual = clicked - affine.trust - affine.examination * regression[rankings]
    mean = (ratio * residual).sum(-1)
    return chances @ ((ratio**2 * clicked * (1 - clicked)).sum(-1) + (mean - chances @ mean) ** 2)


@pytest.mark.parametrize("model", [PAPER, PositionBased(), PositionBased(eta=0)])
@pytest.mark.parametrize("metric", ["clicks", "dcg"])
def test_divergence_is_at_least_the_exact_variance(model, metric):
    rng = np.random.default_rng(3)
    rank_weights = context(metric=metric, model=model, top_k=3).rank_weights
    affine = model.affine(3)
    for _ in range(50):
        scores, target = rng.normal(size=(2, 5)) * rng.choice([0.1, 1.0, 3.0], size=(2, 1))
        relevance, guess = rng.random((2, 5)).round(int(rng.integers(0, 3)))
        exposure = enumeration.exposure_of(
            enumeration.rank_distribution(scores, 3), affine, rank_weights
        )
        weights = enumeration.rank_distribution(target, 3) @ rank_weights
        for reward, regression in ((OneFold(), np.zeros(5)), (TwoFold(), guess)):
            estimator = prepared(reward, metric=metric, model=model, top_k=3)
            variance = variance_of_one_interaction(scores, relevance, regression, weights, affine)
            assert variance <= estimator.divergence(weights, exposure).sum() * (1 + 1e-9)


def logged_terms(rng, *, model, weights, regression, n_logs, n):
    """Each log's estimated utility, drawn from all rankings of five documents; and exposure."""
    affine = model.affine(3)
    relevance = np.array([0.9, 0.1, 0.5, 0.0, 0.7])
    scores = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
    rankings = enumeration.all_rankings(5, 3)
    drawn = rng.choice(
        len(rankings), size=(n_logs, n), p=enumeration.plackett_luce(scores, rankings)
    )
    shown = rankings[drawn]
    clicks = rng.random(shown.shape) < relevance[shown] * affine.examination + affine.trust
    exposure = enumeration.exposure_of(
        enumeration.rank_distribution(scores, 3), affine, affine.examination + affine.trust
    )
    residual = clicks - affine.examination * regression[shown] - affine.trust
    corrections = ((weights / exposure.propensities)[shown] * residual).sum(-1)
    return weights @ regression + corrections.mean(-1), exposure, weights @ relevance


@pytest.mark.parametrize("confidence", [0.5, 0.9])
@pytest.mark.parametrize("metric", ["clicks", "dcg"])
@pytest.mark.parametrize("model", [PAPER, PositionBased(eta=2)])
@pytest.mark.parametrize(
    ("reward", "regression"), [(OneFold(), np.zeros(5)), (TwoFold(), np.full(5, 0.6))]
)
def test_bound_holds_at_least_as_often_as_stated(reward, regression, model, metric, confidence):
    n = 40
    estimator = prepared(reward, n=n, metric=metric, model=model, confidence=confidence, top_k=3)
    rank_weights = context(metric=metric, model=model, top_k=3).rank_weights
    target = enumeration.rank_distribution(np.array([-1.0, 1.0, 0.0, 0.5, 1.0]), 3) @ rank_weights
    values, exposure, truth = logged_terms(
        np.random.default_rng(11),
        model=model,
        weights=target,
        regression=regression,
        n_logs=4000,
        n=n,
    )
    assert values.mean() == pytest.approx(truth, abs=5 * values.std() / math.sqrt(4000))
    lower = values - bound_of(estimator, target, exposure, 1.0)
    assert (lower <= truth).mean() >= confidence
    assert (values <= truth).mean() < 0.9  # the estimate alone would fail the higher confidence


def test_a_document_without_support_is_priced_finitely_and_counted():
    estimator = prepared(TwoFold(), metric="dcg", n=1000)
    exposure = Exposure(*3 * [np.array([0.5, 0.0, 0.0, 1e-250])])
    weights = np.array([0.5, 0.4, 0.0, 0.1])
    divergence = estimator.divergence(weights, exposure)
    assert np.isfinite(divergence).all()
    assert np.isfinite(estimator.divergence_slope(weights, exposure)).all()
    assert divergence[1] == pytest.approx(2 * 0.4**2 / 1e-6)
    assert divergence[2] == 0
    assert estimator.unsupported(weights, exposure).tolist() == [False, True, False, True]


def test_support_shrinks_with_the_log():
    assert prepared(OneFold(), n=10).support == 1e-6
    assert prepared(OneFold(), n=10**9).support == 1e-9


def test_padding_adds_nothing():
    estimator = prepared(OneFold(), metric="dcg")
    nothing = Exposure(*3 * [np.zeros(2)])
    assert estimator.divergence(np.zeros(2), nothing).tolist() == [0, 0]
    assert estimator.divergence_slope(np.zeros(2), nothing).tolist() == [0, 0]
    assert estimator.penalty(0.0) == 0
    assert estimator.penalty_slope(0.0) == 0


@pytest.mark.parametrize("reward", [Labels(), Naive()])
def test_rewards_without_a_bound_are_refused(reward):
    with pytest.raises(UnsupportedError, match=f"not '{reward.name}', which has none; choose"):
        Safe(reward=reward)


def test_no_reward_is_refused_when_prepared():
    with pytest.raises(UnsupportedError, match="not no reward"):
        Safe().prepare(context())


def test_paper_form_is_refused_for_other_metrics():
    with pytest.raises(OptionError, match=r"--metric clicks only, not 'dcg'.*form=general"):
        prepared(OneFold(), metric="dcg", form="paper")


def test_paper_form_is_refused_for_ranks_without_examination():
    blind = PositionBased(examination=(1.0, 0.0))
    with pytest.raises(OptionError, match="ranks without examination"):
        prepared(OneFold(), model=blind, form="paper", top_k=2)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, "much"])
def test_confidence_lies_strictly_between_0_and_1(confidence):
    with pytest.raises(OptionError, match=r"safe\.confidence is"):
        Safe(confidence=confidence)


def test_it_is_registered():
    assert registry().find("estimator", "safe") is Safe


@pytest.mark.parametrize("reward", [OneFold(), TwoFold()])
def test_it_conforms(reward):
    check_estimator(Safe(reward=reward))


def test_the_readme_example_is_a_plugin_that_conforms(tmp_path):
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    code = textwrap.dedent(re.search(r"^( *)```python\n(.*?)```", readme, re.S | re.M)[2])
    (tmp_path / "example.py").write_text(code)
    spec = importlib.util.spec_from_file_location("example", tmp_path / "example.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (component,) = module.cltr_estimators()
    check_estimator(component())
