"""Guards: rewards by rank are weighted means, never rise, and go to documents by their rank."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.objectives.rank_rewards import FIRST_RANKS, RankRewards, falling_means
from cltr.testing import tiny_dataset
from cltr.types import Exposure, Rewards


def rewards_of(values, propensities) -> Rewards:
    data = tiny_dataset(8).part("train")
    exposure = Exposure(propensities, propensities, propensities)
    shares = np.full(data.n_queries, 1 / data.n_queries)
    return Rewards(data, values, exposure, shares)


def test_they_are_means_by_rank_weighted_by_exposure():
    data = tiny_dataset(8).part("train")
    rng = np.random.default_rng(0)
    scores, seen = rng.normal(size=data.n_documents), rng.random(data.n_documents)
    values = rng.random(data.n_documents)
    first = np.zeros(data.n_documents, bool)
    for start, length in zip(*data.lists, strict=True):
        first[start + np.argmax(scores[start : start + length])] = True
    values[first] += 9.0  # so that nothing is pooled with it
    found = RankRewards.of(scores, rewards_of(values, seen))
    assert found.values[0] == pytest.approx(np.average(values[first], weights=seen[first]))
    assert (np.diff(found.values) <= 0).all()
    assert (found.at(scores, data.lists)[first] == found.values[0]).all()


def test_a_query_that_never_came_does_not_count():
    data = tiny_dataset(8).part("train")
    scores, values = -data.lists.places * 1.0, np.where(data.lists.owners == 0, 50.0, 1.0)
    rewards = rewards_of(values, np.ones(data.n_documents))
    others = rewards.query_weights * (np.arange(data.n_queries) > 0)
    found = RankRewards.of(scores, replace(rewards, query_weights=others))
    np.testing.assert_allclose(found.values, 1.0)


@pytest.mark.parametrize(
    ("sums", "weights", "expected"),
    [
        ([3, 2, 1], [1, 1, 1], [3, 2, 1]),
        ([1, 2, 3], [1, 1, 1], [2, 2, 2]),
        ([1, 2, 0], [1, 3, 1], [1, 2 / 3, 0]),
        ([1, 9, 0], [1, 3, 1], [2.5, 2.5, 0]),
        ([0, 2, 0, 1], [0, 1, 0, 1], [2, 2, 2, 1]),
        ([0, 0, 0], [0, 0, 0], [0, 0, 0]),
    ],
)
def test_neighbours_are_pooled_until_none_rises(sums, weights, expected):
    found = falling_means(np.array(sums, float), np.array(weights, float))
    np.testing.assert_allclose(found, expected)


def test_they_are_read_as_they_were_written():
    values = np.linspace(1, 0, len(FIRST_RANKS))
    again = RankRewards.parse(RankRewards(values).plain())
    np.testing.assert_array_equal(again.values, values)


@pytest.mark.parametrize(
    "change", [{"rewards": [1.0]}, {"first_ranks": [1, 2]}, {"rewards": [*range(9)]}]
)
def test_other_tables_are_refused(change):
    with pytest.raises(ValueError, match="rewards by rank"):
        RankRewards.parse({**RankRewards(np.zeros(9)).plain(), **change})
