"""Guards that counts in 32 bits change no number of a run."""

import numpy as np
import pytest

from cltr import types
from cltr.experiment.evaluate_run import evaluate
from cltr.experiment.simulate_log import simulate
from cltr.experiment.train_run import train
from tests import small


@pytest.mark.parametrize("reward", ["dr", "ips", "naive"])
def test_a_run_has_the_same_bits_with_64_bits(tmp_path, monkeypatch, reward):
    config = small.config(data=small.saved(tmp_path), reward={"name": reward})
    first = train(config, out=tmp_path / "first")
    monkeypatch.setattr(types, "LARGEST_IN_32_BITS", -1)
    second = train(config, out=tmp_path / "second")
    assert small.same_numbers(first) == small.same_numbers(second)
    assert small.same_numbers(evaluate(tmp_path / "first")) == small.same_numbers(
        evaluate(tmp_path / "second")
    )


def test_a_log_is_stored_in_64_bits_either_way(tmp_path, monkeypatch):
    from h5py import File

    config = small.config(data=small.saved(tmp_path))
    simulate(config, out=tmp_path / "first.h5")
    monkeypatch.setattr(types, "LARGEST_IN_32_BITS", -1)
    simulate(config, out=tmp_path / "second.h5")
    with File(tmp_path / "first.h5") as first, File(tmp_path / "second.h5") as second:
        for name in ("train/impressions", "train/clicks", "valid/impressions"):
            assert first[name].dtype == np.int64
            np.testing.assert_array_equal(first[name], second[name])
