"""Guards how a deterministic production is recognised from counts."""

import numpy as np
import pytest

from cltr.checks.repetition import NEARLY_FIXED, deterministic_share, repeat_probabilities
from cltr.types import ClickLog, ClickStatistics


def counted(*lists, queries=None):
    """Statistics of interactions: lists of documents 0 to 5 of one query, or of queries given."""
    owners = np.array(queries or [0] * len(lists))
    documents = np.array(lists) + 6 * owners[:, None]
    log = ClickLog(owners, documents, np.zeros(documents.shape, bool))
    return ClickStatistics.count(log, 6 * np.arange(owners.max() + 2))


def test_a_fixed_list_repeats_always():
    assert repeat_probabilities(counted(*[(0, 1, 2)] * 7)) == pytest.approx([1.0])


def test_two_lists_half_and_half():
    """Of 4 displays, 6 pairs; 2 of them are of the same list, at both ranks."""
    assert repeat_probabilities(counted((0, 1), (0, 1), (1, 0), (1, 0))) == pytest.approx([2 / 6])


def test_repetition_does_not_depend_on_the_number_of_displays():
    """Ranks drawn at random among three documents: one third, for 2 displays as for 200."""
    rng = np.random.default_rng(1)
    for n, queries in ((2, 3000), (200, 30)):
        owners = np.repeat(np.arange(queries), n)
        documents = rng.permuted(np.tile(np.arange(3), (len(owners), 1)), axis=1)
        log = ClickLog(owners, documents + 3 * owners[:, None], np.zeros(documents.shape, bool))
        part = ClickStatistics.count(log, 3 * np.arange(queries + 1))
        assert repeat_probabilities(part).mean() == pytest.approx(1 / 3, abs=0.02)


def test_the_share_is_of_interactions_with_queries_that_came_again():
    fixed, free = [(0, 1)] * 3, [(0, 1), (1, 0)]
    part = counted(*fixed, *free, (2, 3), queries=[0, 0, 0, 1, 1, 2])
    assert np.isnan(repeat_probabilities(part)[2])
    assert deterministic_share(part) == pytest.approx(3 / 5)


def test_queries_that_came_once_say_nothing():
    assert np.isnan(deterministic_share(counted((0, 1), (0, 1), queries=[0, 1])))


@pytest.mark.parametrize(("other", "share"), [(5, 1.0), (40, 0.0)])
def test_nearly_fixed_means_one_display_in_a_hundred(other, share):
    """A query with 0.5% other lists counts as deterministic, one with 4% does not."""
    part = counted(*[(0, 1)] * (1000 - other), *[(1, 0)] * other)
    assert deterministic_share(part) == share
    assert NEARLY_FIXED == 0.98
