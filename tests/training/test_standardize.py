"""Guards the inputs of networks: wild scales, constants, outliers and long tails."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.documents import Documents, ModelSetup
from cltr.errors import DataError
from cltr.testing import tiny_dataset
from cltr.training import standardize
from cltr.training.scorers import Linear, Mlp
from cltr.training.standardize import FARTHEST, Standardization, fit_standardization

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_any_scale_gives_the_same_inputs(scale, shift):
    raw = RNG.normal(size=(500, 1)) + shift
    one = fit_standardization(raw.astype(np.float32)).apply(raw.astype(np.float32))
    scaled = (raw * scale).astype(np.float32)
    np.testing.assert_allclose(fit_standardization(scaled).apply(scaled), one, atol=0.01)
    assert abs(one.mean()) < 0.01 and one.std() == pytest.approx(1, abs=0.01)


def test_constants_become_0():
    raw = np.full((50, 2), [7.0, 0.0], np.float32)
    assert not fit_standardization(raw).apply(raw).any()
    assert not fit_standardization(raw).apply(raw + 5).any()


def test_a_long_tail_does_not_press_the_others_together():
    raw = np.exp(RNG.normal(size=(2000, 1)) * 5).astype(np.float32)
    found = fit_standardization(raw)
    assert found.tailed.all()
    assert np.abs(np.quantile(found.apply(raw), [0.25, 0.75])).min() > 0.3


def test_outliers_are_bounded():
    raw = RNG.normal(size=(500, 1)).astype(np.float32)
    found = fit_standardization(raw)
    assert np.abs(found.apply(np.array([[1e30], [-1e30]], np.float32))).max() == FARTHEST


@given(st.integers(0, 2**32))
def test_order_is_kept(seed):
    rng = np.random.default_rng(seed)
    raw = (rng.standard_cauchy((40, 1)) * 10.0 ** rng.integers(-6, 7)).astype(np.float32)
    inputs = fit_standardization(raw).apply(raw)[:, 0]
    assert (np.diff(inputs[np.argsort(raw[:, 0])]) >= 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 1000, 1001, 1002, 1003])
def test_quantiles_and_sizes_have_the_bits_of_numpy(n):
    rng = np.random.default_rng(n)
    raw = rng.standard_normal((n, 6), np.float32).astype(np.float64)
    raw[:, 1], raw[:, 2], raw[:, 3] = np.exp(9 * raw[:, 1]), 0.0, -np.abs(raw[:, 3])
    raw[rng.random(n) < 0.7, 4] = 0.0
    in_order = np.sort(raw.T)
    for share in (0.25, 0.5, 0.75):
        np.testing.assert_array_equal(
            standardize._quantile(in_order, share), np.quantile(raw, share, axis=0)
        )
    for column, values in zip(raw.T, in_order, strict=True):
        sizes = np.abs(column[column != 0])
        assert standardize._median_size(values) == (np.median(sizes) if len(sizes) else 1.0)
    middle = standardize._quantile(in_order, 0.5)
    reach = np.maximum(in_order[:, -1] - middle, middle - in_order[:, 0])
    np.testing.assert_array_equal(reach, np.abs(raw - middle).max(0))


def test_state_is_whole():
    found = fit_standardization(RNG.normal(size=(20, 3)).astype(np.float32))
    again = Standardization.of_state(found.state())
    raw = RNG.normal(size=(5, 3)).astype(np.float32)
    assert again is not None
    np.testing.assert_array_equal(again.apply(raw), found.apply(raw))
    assert Standardization.of_state({"layers.0.weight": raw}) is None


def setup(dataset, **options):
    return ModelSetup(dataset.n_features, dataset.n_documents, training=dataset, **options)


@pytest.mark.parametrize("scorer", [Mlp(hidden=(6,)), Linear()], ids=lambda one: one.name)
def test_a_model_keeps_its_standardisation_in_its_state(scorer):
    dataset = tiny_dataset(6)
    model = scorer.build(setup(dataset, standardize=True), seed=1)
    plain = scorer.build(setup(dataset), seed=1)
    documents = Documents.of(dataset)
    assert not np.allclose(model.scores(documents), plain.scores(documents))
    plain.load_state(model.state())
    np.testing.assert_array_equal(model.scores(documents), plain.scores(documents))


@pytest.mark.parametrize("scorer", [Mlp(hidden=(6,)), Linear()], ids=lambda one: one.name)
def test_a_model_starts_at_production_itself(scorer):
    from dataclasses import replace

    dataset = tiny_dataset(6)
    production = np.random.default_rng(1).normal(size=dataset.n_documents) * 1e3
    documents = Documents.of(replace(dataset, production=production))
    model = scorer.build(setup(dataset), seed=1)
    model.start_from(documents, np.ones(dataset.n_queries, bool))
    np.testing.assert_array_equal(model.scores(documents), production)
    model.step(documents, np.sign)
    assert not np.array_equal(model.scores(documents), production)
    other = scorer.build(setup(dataset), seed=2)
    other.load_state(model.state())
    np.testing.assert_array_equal(model.scores(documents), other.scores(documents))
    with pytest.raises(DataError, match="production's scores"):
        model.scores(Documents.of(dataset))


@pytest.mark.parametrize("n_features", [1, 2, 7, 8, 9, 17, 26])
def test_features_are_fitted_as_if_all_at_once(n_features, monkeypatch):
    raw = np.random.default_rng(0).lognormal(0, 2, size=(6000, n_features)).astype(np.float32)
    parts = fit_standardization(raw).state()
    monkeypatch.setattr("cltr.training.standardize.COLUMNS_AT_ONCE", 1000)
    whole = fit_standardization(raw).state()
    for name, array in parts.items():
        assert np.array_equal(array, whole[name]), name
