"""Guards opening a data set: features that are not finite are refused, large files once."""

import numpy as np
import pytest

from cltr.data import finite_features
from cltr.data.dataset_file import save_dataset
from cltr.data.loading import open_dataset
from cltr.errors import NotFiniteError
from cltr.types import Dataset
from tests import small


def stored(path, value=None):
    data = small.dataset()
    if value is not None:
        data.features[-1, 2] = value
    save_dataset(data, path)
    return path


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_opening_refuses_features_that_are_not_finite(tmp_path, value):
    path = stored(tmp_path / "a.h5", value)
    with pytest.raises(NotFiniteError, match=rf"^{path}: feature 3 of document 'd\d+' of query"):
        open_dataset(path)


@pytest.fixture
def looked(monkeypatch, tmp_path):
    """How often features were looked at; files of any size are remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(finite_features, "LARGE", 0)
    times = []
    own = Dataset.unusable_feature.func
    monkeypatch.setattr(Dataset, "unusable_feature", property(lambda d: times.append(1) or own(d)))
    return times


def test_a_large_file_is_looked_at_once(tmp_path, looked):
    path = stored(tmp_path / "a.h5")
    for _ in range(3):
        open_dataset(path)
    assert len(looked) == 1


def test_a_file_that_changed_is_looked_at_again_whatever_its_fingerprint(tmp_path, looked):
    path = stored(tmp_path / "a.h5")
    found = open_dataset(path).fingerprint
    path.unlink()
    data = small.dataset()
    data.features[0, 0] = np.nan
    save_dataset(data, path, fingerprint=found)
    with pytest.raises(NotFiniteError):
        open_dataset(path)


def test_no_place_to_remember_is_no_error(tmp_path, looked, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    open_dataset(stored(tmp_path / "a.h5"))
    open_dataset(tmp_path / "a.h5")
    assert len(looked) == 2
