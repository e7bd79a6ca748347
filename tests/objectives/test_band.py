"""Guards: what band serves keeps the band on every document, and its slope is its gain's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr import testing
from cltr.experiment import train_run
from cltr.experiment.config import resolve
from cltr.objectives.band import Band
from cltr.objectives.ratios import ratio_extremes
from cltr.policies import PlackettLuce
from cltr.types import Lists

LISTS = Lists.of_offsets(np.array([0, 4, 4, 5, 11]))
RANKS = 1 / np.log2(np.arange(2, 7))
scores = st.lists(st.floats(-8, 8), min_size=11, max_size=11).map(np.array)
bounds = st.floats(0.01, 1.0)


def served(band, weights, logging_weights):
    share = np.repeat(band.served_share(weights, logging_weights, LISTS), LISTS.lengths)
    return (1 - share) * logging_weights + share * weights


@given(scores, scores, bounds, bounds)
def test_the_mixture_keeps_the_band_on_every_query(new, old, low, high):
    band = Band(low=low, high=1 / high)
    weights, logging_weights = (
        PlackettLuce().expected_weights(s, LISTS, RANKS) for s in (new, old)
    )
    mixed = served(band, weights, logging_weights)
    lowest, highest = ratio_extremes(mixed, logging_weights, LISTS)
    assert (lowest >= low * (1 - 1e-9)).all()
    assert (highest <= (1 / high) * (1 + 1e-9)).all()


@given(scores, scores, bounds)
def test_no_relevance_loses_more_than_the_lower_bound(new, old, low):
    band = Band(low=low, high=1e9)
    weights, logging_weights = (
        PlackettLuce().expected_weights(s, LISTS, RANKS) for s in (new, old)
    )
    mixed = served(band, weights, logging_weights)
    for relevance in np.random.default_rng(0).random((20, 11)) ** 4:
        assert mixed @ relevance >= low * (logging_weights @ relevance) * (1 - 1e-9)


@given(scores, scores, st.floats(0.01, 0.999), st.floats(0.01, 0.999))
def test_rounding_does_not_break_the_bound(new, old, low, high):
    band = Band(low=low, high=1 / high)
    weights, logging_weights = (
        PlackettLuce().expected_weights(s, LISTS, RANKS) for s in (new, old)
    )
    lowest, highest = ratio_extremes(served(band, weights, logging_weights), logging_weights, LISTS)
    assert lowest.min() >= band.low
    assert highest.max() <= band.high


@given(scores, scores, st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(new, old, random):
    lists = Lists.of_offsets(np.array([0, 11]))
    order = random.sample(range(11), 11)
    weights, logging_weights = np.exp(new), np.exp(old)
    share = Band().served_share(weights, logging_weights, lists)
    assert Band().served_share(weights[order], logging_weights[order], lists) == share


@given(scores, scores)
def test_padding_does_not_matter(new, old):
    weights, logging_weights = np.exp(new), np.exp(old)
    mask = np.arange(7) < LISTS.lengths[:, None]

    def pad(values):
        padded = np.zeros(mask.shape)
        padded[mask] = values
        return padded.reshape(-1)

    share = Band().served_share(pad(weights), pad(logging_weights), Lists.of_mask(mask))
    assert share.tolist() == Band().served_share(weights, logging_weights, LISTS).tolist()


def test_inside_the_band_nothing_is_mixed():
    weights = np.array([1.0, 0.9, 1.1])
    lists = Lists.of_offsets(np.array([0, 3]))
    assert Band(clip=0.5).served_share(weights, np.ones(3), lists) == 1.0


@pytest.mark.parametrize(
    ("weights", "share"),
    [
        ([0.2, 1.0, 1.0], 0.5 / 0.8),  # (1 - low) / (1 - min ratio)
        ([1.0, 1.0, 5.0], 1.0 / 4.0),  # (high - 1) / (max ratio - 1)
        ([0.2, 1.0, 5.0], 1.0 / 4.0),  # the smaller of the two
    ],
)
def test_share_by_arithmetic(weights, share):
    lists = Lists.of_offsets(np.array([0, 3]))
    found = Band(clip=0.5, box=True).served_share(np.array(weights), np.ones(3), lists)
    assert found == pytest.approx([share])
    lowest = min(weights)
    alone = Band(clip=0.5).served_share(np.array(weights), np.ones(3), lists)
    assert alone == pytest.approx([0.5 / (1 - lowest) if lowest < 0.5 else 1.0])


def test_in_a_box_a_document_that_production_never_shows_is_not_shown():
    lists, logging_weights = Lists.of_offsets(np.array([0, 2])), np.array([1.0, 0.0])
    moved = np.array([0.9, 0.1])
    assert Band(clip=0.5, box=True).served_share(moved, logging_weights, lists) == 0.0
    assert Band(clip=0.5).served_share(moved, logging_weights, lists) == 1.0


def test_an_upper_bound_is_held_if_it_is_asked_for():
    assert Band().high == np.inf
    assert (Band(high=3.0).high, Band(clip=0.25, box=True).high) == (3.0, 4.0)
    assert Band(high=3.0, box=False).high == np.inf
    assert (Band().price, Band(high=3.0).price, Band(price=0.5).price) == (0.0, 1.0, 0.5)
    assert resolve({"estimator": {"name": "band"}}).estimator.options == {"box": True}
    assert resolve({"version": "0.2", "estimator": {"name": "band"}}).estimator.options == {}


def test_without_a_box_nothing_lies_above():
    band = Band(clip=0.5, price=3.0)
    weights, logging_weights = np.array([0.4, 1.0, 9.0, 1.0]), np.array([1.0, 1.0, 1.0, 0.0])
    assert band.outside(weights, logging_weights).tolist() == [True, False, False, False]
    slope = band.slope(weights, logging_weights, np.full(4, 0.25))
    np.testing.assert_allclose(slope, [3.25, 0.25, 0.25, 0.25])
    gain = band.gain(weights, logging_weights, np.full(4, 0.25))
    np.testing.assert_allclose(gain, 0.25 * weights - [0.3, 0, 0, 0])


def test_slope_is_reward_inside_and_priced_outside():
    band = Band(clip=0.5, price=3.0, box=True)
    weights = np.array([1.0, 2.5, 0.4, 2.0, 0.5])  # inside, above, below, at either bound
    slope = band.slope(weights, np.ones(5), np.full(5, 0.25))
    np.testing.assert_allclose(slope, [0.25, 0.25 - 3, 0.25 + 3, 0.25, 0.25])


@pytest.mark.parametrize("box", [False, True])
def test_conforms(box):
    testing.check_estimator(Band(box=box, price=0.1))


def test_a_run_is_certified_within_the_band_on_training_and_test_queries(tmp_path, monkeypatch):
    monkeypatch.setattr("cltr.data.loading.load_dataset", lambda name: testing.tiny_dataset(40))
    config = resolve(
        {
            "estimator": {"name": "band", "low": 0.8, "high": 1.5, "price": 0.0},
            "reward": {"name": "ips"},
            "interactions": 5000,
            "training": {"epochs": 20, "learning_rate": 0.05},
            "skyline": False,
        }
    )
    result = train_run.train(config, out=tmp_path / "run")
    assert result["best_epoch"] > 0  # it did move, and had to be held
    for split in ("train", "test"):
        assert result["certificate"][split]["ratio_min"] >= 0.8 * (1 - 1e-9)
        assert result["certificate"][split]["ratio_max"] <= 1.5 * (1 + 1e-9)
