"""Sums over pairs: long lists are interpolated, to the same numbers."""

import numpy as np
import pytest

from cltr.policies import Gaussian, PlackettLuce, pair_sums
from cltr.types import Lists


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("policy", [PlackettLuce(), Gaussian(sigma=0.3)])
def test_long_lists_have_the_same_expected_ranks(monkeypatch, policy, spread):
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=spread, size=1500)
    scores[:50] = scores[50]  # ties
    lists, rows = Lists.of_offsets(np.array([0, 1490, 1500])), np.arange(1500)
    direct = policy.expected_ranks(scores, lists, rows)
    monkeypatch.setattr(pair_sums, "PAIRS", 100_000)
    assert policy.expected_ranks(scores, lists, rows) == pytest.approx(direct, rel=1e-11)


def test_a_list_of_a_hundred_thousand_documents_works():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=100_000)
    rows = np.arange(0, 100_000, 2)
    found = PlackettLuce().expected_ranks(scores, Lists.of_offsets(np.array([0, 100_000])), rows)
    few = rows[:3]
    exact = [0.5 + (1 / (1 + np.exp(scores[d] - scores))).sum() for d in few]
    assert found[:3] == pytest.approx(exact, rel=1e-11)


def test_sums_have_the_bits_of_those_along_the_list():
    rng = np.random.default_rng(2)
    lists = Lists.of_offsets(np.cumsum([0, 3, 0, 400, 1, 700, 2]))
    scores = rng.normal(scale=3.0, size=1106)
    rows = np.flatnonzero(rng.random(1106) < 0.6)
    found = PlackettLuce().expected_ranks(scores, lists, rows)
    for row, rank in zip(rows, found, strict=True):
        query = np.searchsorted(lists.starts + lists.lengths, row, side="right")
        mine = scores[lists.starts[query] :][: lists.lengths[query]]
        total = 0.0
        for before in 0.5 + 0.5 * np.tanh(0.5 * (mine - scores[row])):
            total += before
        assert rank == total + 0.5


def test_whole_numbers_are_scores_too():
    for n in (50, 2001):  # pair by pair, and by interpolation
        whole, lists, rows = np.arange(n) // 5, Lists.of_offsets(np.array([0, n])), np.arange(n)
        found = PlackettLuce().expected_ranks(whole, lists, rows)
        expected = PlackettLuce().expected_ranks(whole.astype(np.float64), lists, rows)
        np.testing.assert_array_equal(found, expected)
