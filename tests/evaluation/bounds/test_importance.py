"""Guards limits of weighted clicks: no ranking goes beyond them, and some reach them."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.evaluation.bounds import click_limits
from cltr.types import Affine, Lists


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3))
def test_law_every_ranking_and_every_click_lies_within(seed, n, top_k):
    rng = np.random.default_rng(seed)
    differences, propensities = rng.normal(size=n), rng.uniform(0.01, 1, size=n)
    propensities[rng.random(n) < 0.2] = 0.0
    trust = np.sort(rng.uniform(0, 0.4, size=top_k))[::-1]
    lists = Lists.of_offsets(np.array([0, n]))
    limits = click_limits(differences, propensities, Affine(np.ones(top_k), trust), lists)
    shown = [d for d in range(n) if propensities[d] > 0]
    for ranking in permutations(shown, min(top_k, len(shown))):
        for clicks in product((0, 1), repeat=len(ranking)):
            term = sum(
                differences[d] * (c - trust[k]) / propensities[d]
                for k, (d, c) in enumerate(zip(ranking, clicks, strict=True))
            )
            assert limits.low - 1e-9 <= term <= limits.high + 1e-9


def test_without_trust_both_limits_are_reached():
    lists = Lists.of_offsets(np.array([0, 3, 5]))
    differences = np.array([0.2, -0.1, -0.1, 0.5, -0.5])
    propensities = np.array([0.5, 0.1, 0.2, 1.0, 0.25])
    limits = click_limits(differences, propensities, Affine(np.ones(2), np.zeros(2)), lists)
    assert limits.high == pytest.approx(0.5)  # the fourth is clicked
    assert limits.low == pytest.approx(-2.0)  # the last is
