"""Guards position bias from documents shown at several ranks, whatever their relevance."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks.harvesting import adjacent_chain, all_pairs, harvest, pivot, randomised
from cltr.clicks.models import PositionBased
from cltr.errors import DataError
from cltr.studies.portable_arithmetic import CHOICES
from cltr.types import ClickStatistics

THETA = np.array([1.0, 0.5, 0.25, 0.2])


def statistics_of(impressions, relevance, theta=THETA):
    """Exactly the expected clicks, so that estimates must be exact; counts may be fractions."""
    impressions = np.asarray(impressions, dtype=np.float64)
    clicks = impressions * relevance[:, None] * theta[: impressions.shape[1]]
    offsets = np.array([0, len(impressions)])
    return ClickStatistics(impressions, clicks, np.array([impressions.sum(0).max()]), offsets)


@given(st.integers(0, 10**6), st.sampled_from([pivot, adjacent_chain, all_pairs]))
def test_law_expected_clicks_give_the_exact_examination(seed, method):
    rng = np.random.default_rng(seed)
    impressions = rng.integers(1, 100, size=(6, 4))
    found = method(statistics_of(impressions, rng.uniform(0.05, 0.95, size=6)))
    assert found == pytest.approx(THETA, rel=1e-3)


def test_better_documents_above_do_not_mislead():
    """Relevance by rank would: the click rates fall much faster than examination."""
    impressions = np.array([[90, 9, 1, 1], [9, 80, 9, 1], [1, 9, 80, 9], [1, 1, 9, 90]])
    statistics = statistics_of(impressions, np.array([0.9, 0.5, 0.2, 0.1]))
    rates = statistics.clicks.sum(0) / statistics.impressions.sum(0)
    assert rates[1] / rates[0] < 0.4
    for method in (pivot, adjacent_chain, all_pairs):
        assert method(statistics) == pytest.approx(THETA, rel=1e-4)


def test_interventions_arithmetic():
    statistics = statistics_of([[10, 4], [0, 7]], np.array([0.5, 0.9]))
    found = harvest(statistics)
    # only the first document was shown at both, four times at the rank where it was shown less
    assert found.clicks[0, 1] == pytest.approx(4 * 0.5 * 1.0)
    assert found.clicks[1, 0] == pytest.approx(4 * 0.5 * 0.5)
    assert found.skips[0, 1] == pytest.approx(4 * (1 - 0.5))


HARVEST = """
import json
import numpy as np
from cltr.clicks.harvesting import all_pairs, harvest
from cltr.types import ClickStatistics

rng = np.random.default_rng(0)
impressions = rng.integers(0, 50, (3_000, 6))
clicks = rng.binomial(impressions, rng.random((3_000, 6)))
statistics = ClickStatistics(impressions, clicks, np.array([50]), np.array([0, 3_000]))
found = harvest(statistics)
print(json.dumps([*map(float.hex, found.clicks.ravel()), *map(float.hex, all_pairs(statistics))]))
"""


def test_the_bits_are_those_of_any_processor_and_number_of_threads():
    def printed(settings):
        environment = {**os.environ, **settings}
        command = [sys.executable, "-c", HARVEST]
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert printed({"OPENBLAS_NUM_THREADS": "2"}) == printed(CHOICES)


def test_a_broken_chain_is_told_and_all_pairs_finds_a_way_round():
    impressions = np.array([[9, 0, 9, 0], [9, 0, 0, 9], [0, 9, 0, 9]])
    statistics = statistics_of(impressions, np.array([0.4, 0.6, 0.3]))
    assert np.isnan(adjacent_chain(statistics)).tolist() == [False, True, True, True]
    assert np.isnan(pivot(statistics)).tolist() == [False, True, False, False]
    assert all_pairs(statistics) == pytest.approx(THETA, rel=1e-3)


def test_ranks_that_share_no_document_are_not_guessed():
    impressions = np.array([[9, 9, 0, 0], [0, 0, 9, 9]])
    found = all_pairs(statistics_of(impressions, np.array([0.4, 0.6])))
    assert np.isnan(found).tolist() == [False, False, True, True]
    assert found[:2] == pytest.approx(THETA[:2], rel=1e-4)


def test_all_pairs_does_not_confuse_pairs_with_the_same_product():
    """Ranks (2, 6) and (3, 4) have one product, and another relevance."""
    theta = 1.0 / np.arange(1, 7)
    impressions = np.zeros((3, 6))
    impressions[0, [1, 5]] = impressions[1, [2, 3]] = 100
    impressions[2] = 100
    statistics = statistics_of(impressions, np.array([0.9, 0.1, 0.5]), theta)
    assert all_pairs(statistics) == pytest.approx(theta, rel=1e-3)


def test_random_ranks_give_examination_as_click_rates():
    impressions = np.full((3, 4), 50)
    relevance = np.array([0.2, 0.5, 0.9])
    assert randomised(statistics_of(impressions, relevance)) == pytest.approx(THETA)
    mixed = np.vstack([impressions, [500, 1, 1, 1]])
    statistics = statistics_of(mixed, np.array([0.2, 0.5, 0.9, 1.0]))
    assert randomised(statistics, np.arange(4) < 3) == pytest.approx(THETA)
    assert np.abs(randomised(statistics) - THETA).max() > 0.05


def test_no_document_at_two_ranks_is_an_error():
    with pytest.raises(DataError, match="shown at two ranks"):
        all_pairs(statistics_of([[9, 0], [0, 9]], np.array([0.5, 0.5])))


def test_a_lower_rank_may_be_examined_more_than_the_first():
    """As where an advertisement stands first; EM must not start where it cannot move."""
    examination = np.array([0.4, 0.8, 0.3, 0.2])
    impressions = np.full((6, 4), 1000)
    relevance = np.linspace(0.2, 0.9, 6)
    clicks = np.round(impressions * relevance[:, None] * examination).astype(np.int64)
    statistics = ClickStatistics(impressions, clicks, np.array([24_000]), np.array([0, 6]))
    assert all_pairs(statistics) == pytest.approx(examination / 0.4, rel=0.02)
    model = PositionBased()
    model.fit(statistics)
    assert model.affine(4).examination == pytest.approx(examination / 0.8, abs=0.02)
