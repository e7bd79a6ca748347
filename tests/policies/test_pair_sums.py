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
