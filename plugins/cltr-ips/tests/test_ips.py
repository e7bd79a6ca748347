"""Guards the rewards ips and snips: arithmetic, exact unbiasedness, the bias of clipping, laws."""

import importlib.util
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.errors import DataError, UnsupportedError
from cltr.plugins import registry
from cltr.testing import check_reward
from cltr.types import ClickData, ClickStatistics, Dataset, Exposure
from cltr_ips import IPS, SNIPS
from tests import enumeration

SEVERAL = settings(deadline=None, max_examples=40, derandomize=True)
TOP_K = 3
MODEL = TrustBias()
AFFINE = MODEL.affine(TOP_K)
DCG = 1 / np.log2(np.arange(2, TOP_K + 2))


def dataset(n_documents):
    return Dataset(
        features=np.zeros((n_documents, 1), np.float32),
        labels=np.zeros(n_documents),
        offsets=np.array([0, n_documents]),
        query_ids=np.array(["q"]),
        document_ids=np.arange(n_documents),
    )


def click_data(statistics, exposure):
    return ClickData(dataset(len(exposure.weights)), statistics, exposure)


def expected_data(scores, relevance, *, affine=AFFINE, displays=7.0):
    ranks = enumeration.rank_distribution(scores, TOP_K)
    return click_data(
        enumeration.expected_statistics(ranks, relevance, affine, displays=displays),
        enumeration.exposure_of(ranks, affine, DCG),
    )


def fitted(reward, data, model=MODEL):
    reward.fit(data, model)
    return reward


scores_and_relevance = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        arrays(float, n, elements=st.floats(-3, 3)), arrays(float, n, elements=st.floats(0, 1))
    )
)


def log_of_three():
    """Three documents, ten displays of two ranks; the third document is never shown."""
    return ClickStatistics(
        impressions=np.array([[6, 4], [4, 6], [0, 0]]),
        clicks=np.array([[5, 1], [3, 2], [0, 0]]),
        displays=np.array([10]),
        offsets=np.array([0, 3]),
    )


def exposure_of_three(last=0.0):
    return Exposure(np.ones(3), np.array([0.45, 0.4, last]), np.ones(3))


def test_ips_arithmetic_of_dr22_eq_25():
    data = click_data(log_of_three(), exposure_of_three())
    (b1, b2) = AFFINE.trust[:2]
    expected = [
        (6 / 10 - (6 * b1 + 4 * b2) / 10) / 0.45,
        (5 / 10 - (4 * b1 + 6 * b2) / 10) / 0.4,
        0.0,
    ]
    assert fitted(IPS(), data).mu(data) == pytest.approx(expected, abs=1e-15)


def test_ips_clips_small_propensities_only():
    data = click_data(log_of_three(), exposure_of_three(last=0.01))
    reward = fitted(IPS(), data)
    ratio = reward.mu(data, propensity_clip=0.42)[:2] / reward.mu(data)[:2]
    assert ratio == pytest.approx([1.0, 0.4 / 0.42])


def test_snips_arithmetic():
    data = click_data(log_of_three(), exposure_of_three())
    (a1, a2), (b1, b2) = AFFINE.examination[:2], AFFINE.trust[:2]
    expected = [
        (6 - 6 * b1 - 4 * b2) / (6 * a1 + 4 * a2),
        (5 - 4 * b1 - 6 * b2) / (4 * a1 + 6 * a2),
        0.0,
    ]
    assert fitted(SNIPS(), data).mu(data) == pytest.approx(expected, abs=1e-15)


@SEVERAL
@given(scores_and_relevance)
def test_expected_ips_is_the_true_utility(case):
    scores, relevance = case
    data = expected_data(scores, relevance)
    mu = fitted(IPS(), data).mu(data)
    other_policy = np.random.default_rng(0).dirichlet(np.ones(len(scores)))
    assert other_policy @ mu == pytest.approx(other_policy @ relevance, abs=1e-10)
    assert mu == pytest.approx(relevance, abs=1e-10)


@SEVERAL
@given(scores_and_relevance, st.floats(0.01, 1))
def test_bias_of_clipping_is_that_of_dr22_eq_38(case, clip):
    scores, relevance = case
    data = expected_data(scores, relevance)
    mu = fitted(IPS(), data).mu(data, propensity_clip=clip)
    rho = data.exposure.propensities
    clipped = np.maximum(rho, clip)
    assert mu - relevance == pytest.approx((rho - clipped) / clipped * relevance, abs=1e-10)


@SEVERAL
@given(scores_and_relevance)
def test_snips_at_expected_statistics_is_the_relevance(case):
    scores, relevance = case
    data = expected_data(scores, relevance)
    assert fitted(SNIPS(), data).mu(data) == pytest.approx(relevance, abs=1e-9)


def test_wrong_trust_biases_ips():
    data = expected_data(np.array([1.0, 0.0, -1.0, 0.5]), np.array([0.2, 0.8, 0.5, 0.0]))
    wrong = fitted(IPS(), data, TrustBias(trust=(0.5, 0.2, 0.1), examination=(0.35, 0.53, 0.55)))
    assert np.abs(wrong.mu(data) - np.array([0.2, 0.8, 0.5, 0.0])).max() > 0.1


def test_counted_exposure_makes_ips_snips():
    statistics = log_of_three()
    examined = statistics.average(AFFINE.examination[:2])
    data = click_data(statistics, Exposure(np.ones(3), examined, np.ones(3), "counted"))
    assert fitted(IPS(), data).mu(data) == pytest.approx(fitted(SNIPS(), data).mu(data))


def test_a_query_without_displays_gets_zero():
    empty = ClickStatistics(
        impressions=np.zeros((3, 2), np.int64),
        clicks=np.zeros((3, 2), np.int64),
        displays=np.array([0]),
        offsets=np.array([0, 3]),
    )
    data = click_data(empty, exposure_of_three())
    assert fitted(IPS(), data).mu(data).tolist() == [0.0] * 3
    assert fitted(SNIPS(), data).mu(data).tolist() == [0.0] * 3


@pytest.mark.parametrize("reward", [IPS(), SNIPS()])
def test_cost_and_value_do_not_depend_on_the_number_of_clicks(reward):
    one, many = (
        expected_data(np.array([0.3, 0.0]), np.array([0.4, 0.9]), displays=n) for n in (1.0, 1e9)
    )
    reward.fit(one, MODEL)
    assert reward.mu(one) == pytest.approx(reward.mu(many))


def test_clicks_on_what_cannot_be_shown_are_an_error():
    exposure = Exposure(np.ones(3), np.array([0.45, 0.0, 0.0]), np.ones(3))
    data = click_data(log_of_three(), exposure)
    with pytest.raises(DataError, match="1 documents were shown that production never shows"):
        fitted(IPS(), data).mu(data)


def test_users_reversed_on_purpose_are_an_error_for_ips():
    data = expected_data(np.zeros(3), np.ones(3), affine=Adversarial(MODEL).affine(TOP_K))
    with pytest.raises(DataError, match="that production never shows"):
        fitted(IPS(), data, Adversarial(MODEL)).mu(data)


@pytest.mark.parametrize("reward", [IPS(), SNIPS()])
def test_mu_before_fit_says_so(reward):
    data = click_data(log_of_three(), exposure_of_three())
    with pytest.raises(UnsupportedError, match="call fit first"):
        reward.mu(data)


def test_no_fixed_factor_bounds_the_variance_of_snips():
    """The docstring's example: 5 displays on average with alpha = 1, 10 with alpha near 0."""
    counts = np.arange(60)
    factorial = np.cumprod(np.maximum(counts, 1.0))
    often, seldom = (np.exp(-mean) * mean**counts / factorial for mean in (5.0, 10.0))
    seen, unseen = np.meshgrid(counts, counts, indexing="ij")
    needed = []
    for small in (0.1, 0.01, 0.001):
        examined = np.where(seen + unseen > 0, seen + small * unseen, np.inf)
        variance = (often[:, None] * seldom * 0.25 * (seen + unseen) / examined**2).sum()
        bound = (1.0 * 5 + 0.5 * 10) / (5 + small * 10) ** 2
        needed.append(variance / bound)
    assert needed[0] < needed[1] < needed[2]
    assert needed[2] > 100
    assert SNIPS.variance_factor is None


@SEVERAL
@given(scores_and_relevance, st.sampled_from([TrustBias(), PositionBased()]))
def test_variance_factor_bounds_the_exact_variance_of_each_document(case, model):
    scores, relevance = case
    examination, trust = model.affine(TOP_K)
    ranks = enumeration.rank_distribution(scores, TOP_K)
    clicked = relevance[:, None] * examination + trust
    square = (ranks * (clicked * (1 - trust) ** 2 + (1 - clicked) * trust**2)).sum(-1)
    propensities, attention = ranks @ examination, ranks @ (examination + trust)
    variance = square / propensities**2 - relevance**2
    assert np.all(variance <= IPS.variance_factor * attention / propensities**2 + 1e-9)


def test_both_are_registered():
    assert registry().find("reward", "ips") is IPS
    assert registry().find("reward", "snips") is SNIPS


@pytest.mark.parametrize("reward", [IPS(), SNIPS()])
def test_they_conform(reward):
    check_reward(reward)


def test_the_readme_example_is_a_plugin_that_conforms(tmp_path):
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    code = textwrap.dedent(re.search(r"^( *)```python\n(.*?)```", readme, re.S | re.M)[2])
    (tmp_path / "example.py").write_text(code)
    spec = importlib.util.spec_from_file_location("example", tmp_path / "example.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (component,) = module.cltr_rewards()
    check_reward(component())
