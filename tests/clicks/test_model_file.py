"""Guards fitted click models at rest: what is read predicts what was written."""

import json

import h5py
import numpy as np
import pytest

from cltr.clicks.model_file import load_click_model, save_click_model
from cltr.clicks.models import PositionBased, TrustBias
from cltr.clicks.simulation import simulate_sessions
from cltr.errors import DataError, UnknownNameError, UnsupportedError
from cltr.plugins import registry
from cltr.testing import tiny_dataset

DATASET = tiny_dataset()
SCORES = DATASET.features[:, 1].astype(np.float64)
NAMES = sorted(set(registry().names("click-model")) - {"adversarial"})


def log_of(users, n=3000):
    rng = np.random.default_rng(0)
    (chunk,) = simulate_sessions(DATASET, SCORES, users, n=n, top_k=5, rng=rng)
    return chunk


def fitted(name, **options):
    model = registry().find("click-model", name)(**options)
    model.fit(model.count(log_of(model), DATASET.offsets), DATASET)
    return model


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_is_read_predicts_the_same_clicks(name, tmp_path):
    model, chunk = fitted(name), log_of(TrustBias(), n=100)
    save_click_model(tmp_path / "model.h5", model)
    found = load_click_model(tmp_path / "model.h5")
    assert type(found) is type(model)
    assert found.options == model.options
    np.testing.assert_array_equal(found.predict(chunk), model.predict(chunk))
    np.testing.assert_array_equal(
        found.predict_given_clicks(chunk), model.predict_given_clicks(chunk)
    )
    assert found.fitted.convergence.notes == model.fitted.convergence.notes
    if name != "rank-ctr":
        part = DATASET.part("valid")
        np.testing.assert_array_equal(found.relevance(part), model.relevance(part))


def test_a_file_may_lack_what_its_values_rest_on(tmp_path):
    """As files of 0.1.0 do: the model serves, and is not tested."""
    model, path = fitted("pbm"), tmp_path / "model.h5"
    save_click_model(path, model)
    found = load_click_model(path).fitted.compared
    np.testing.assert_array_equal(found, model.fitted.compared)
    assert (found > 0).all()
    covariance = load_click_model(path).fitted.covariance
    np.testing.assert_array_equal(covariance, model.fitted.covariance)
    with h5py.File(path, "r+") as file:
        del file["compared"], file["covariance"]
    assert load_click_model(path).fitted.compared is None
    assert load_click_model(path).fitted.covariance is None


def test_a_regression_is_read_with_its_weights(tmp_path):
    model = fitted("pbm", relevance="regression", hidden=(4,), iterations=5)
    save_click_model(tmp_path / "model.h5", model)
    found = load_click_model(tmp_path / "model.h5")
    other = tiny_dataset(seed=7)
    np.testing.assert_array_equal(found.relevance(other), model.relevance(other))


def test_a_model_without_ids_keeps_none(tmp_path):
    model = PositionBased()
    model.fit(model.count(log_of(model), DATASET.offsets))
    save_click_model(tmp_path / "model.h5", model)
    assert load_click_model(tmp_path / "model.h5").fitted.query_ids is None


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(UnsupportedError, match="'pbm' is not fitted; fit it before saving"):
        save_click_model(tmp_path / "model.h5", PositionBased())
    assert list(tmp_path.iterdir()) == []


def change(path, **header):
    with h5py.File(path, "r+") as file:
        file.attrs["header"] = json.dumps(json.loads(file.attrs["header"]) | header)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"shared": {"examination": [9]}}, "'shared' has 10 values; its header says 9"),
        ({"shared": {"examination": [-10], "trust": [20]}}, "'shared' has 10 values"),
        ({"documents": {}}, "'documents' has 1 rows; its header names 0"),
        ({"surprise": 1}, "its header is not that of a click model"),
        ({"notes": 3}, "its header is not that of a click model"),
    ],
)
def test_a_header_that_does_not_fit_is_refused_in_one_line(header, reason, tmp_path):
    path = tmp_path / "model.h5"
    save_click_model(path, fitted("pbm"))
    change(path, **header)
    with pytest.raises(DataError) as caught:
        load_click_model(path)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_of_a_package_that_is_not_installed_is_named(tmp_path):
    path = tmp_path / "model.h5"
    save_click_model(path, fitted("pbm"))
    change(path, name="pmb")
    with pytest.raises(UnknownNameError, match="Did you mean 'pbm'"):
        load_click_model(path)
