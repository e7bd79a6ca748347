"""Guards what swaps say of position bias: arithmetic, connection of ranks, and true errors."""

from itertools import product

import numpy as np
import pytest

from cltr.checks.rank_swaps import rank_swaps
from cltr.types import ClickStatistics


def part(shown, clicks, lengths=None):
    shown, clicks = np.array(shown), np.array(clicks)
    offsets = np.concatenate([[0], np.cumsum(lengths or [len(shown)])])
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    displays = np.zeros(len(offsets) - 1, np.int64)
    np.maximum.at(displays, owners, shown.sum(-1))
    return ClickStatistics(shown, clicks, displays, offsets)


def drawn(examination, *, rng, documents=200, impressions=100):
    """Clicks of a position-based model on documents that each were shown at two ranks."""
    top_k = len(examination)
    shown = np.zeros((documents, top_k), np.int64)
    for document in range(documents):
        shown[document, rng.choice(top_k, 2, replace=False)] = impressions
    relevance = rng.uniform(0.1, 0.9, (documents, 1))
    return part(shown, rng.binomial(shown, relevance * examination), [2] * (documents // 2))


def test_swaps_are_counted_by_hand():
    """One document at ranks 1 and 2, one at 2 and 3, one at 3 alone."""
    found = rank_swaps(part([[5, 2, 0], [0, 3, 9], [0, 0, 4]], [[2, 1, 0], [0, 1, 2], [0, 0, 1]]))
    assert found.impressions.tolist() == [[0, 2, 0], [2, 0, 3], [0, 3, 0]]
    assert found.documents.tolist() == [[1, 1, 0], [1, 2, 1], [0, 1, 2]]
    assert found.groups == ((1, 2, 3),)
    # Click rates 2/5 and 1/2, then 1/3 and 2/9, of the same documents.
    assert found.examination == pytest.approx([1, (1 / 2) / (2 / 5), 1.25 * (2 / 9) / (1 / 3)])


def test_information_of_two_ranks_is_that_of_their_clicks():
    """One document with equal impressions: var log(c1 / c2) = 1 / c1 + 1 / c2."""
    found = rank_swaps(part([[50, 50]], [[30, 15]]))
    assert found.errors[1] == pytest.approx(np.sqrt(1 / 30 + 1 / 15))
    assert found.errors[0] == 0.0
    assert found.information[0, 1] == pytest.approx(45 * (30 / 45) * (15 / 45))


def test_ranks_without_a_common_document_are_not_connected():
    found = rank_swaps(part([[5, 5, 0, 0], [0, 0, 9, 9]], [[2, 1, 0, 0], [0, 0, 4, 2]]))
    assert found.groups == ((3, 4), (1, 2))  # the group with most impressions first
    assert found.connected == (3, 4)
    assert np.isnan(found.examination[:2]).all() and np.isinf(found.errors[:2]).all()
    assert found.examination[2:].tolist() == pytest.approx([1, 0.5])


def test_a_document_without_clicks_connects_nothing():
    found = rank_swaps(part([[50, 50], [50, 50]], [[0, 0], [0, 0]]))
    assert found.connected == () and found.determined(1e9) == 0.0
    assert found.impressions[0, 1] == 100


def test_a_rank_that_is_never_clicked_is_not_determined():
    found = rank_swaps(part([[50, 50, 50]], [[20, 10, 0]]))
    assert found.connected == (1, 2) and found.groups == ((1, 2), (3,))
    assert found.errors[2] == np.inf


def test_a_fixed_list_connects_nothing():
    found = rank_swaps(part(100 * np.eye(3, dtype=int), 50 * np.eye(3, dtype=int)))
    assert found.connected == () and found.groups == ((1,), (2,), (3,))


def test_relevance_does_not_matter_under_exact_expectations():
    """Clicks as expected give examination back, however documents were placed."""
    theta = np.array([1.0, 0.5, 0.25])
    shown = np.array(list(product((0, 400, 1200), repeat=3)))[1:]
    relevance = np.linspace(0.2, 1.0, len(shown))[:, None]
    clicks = shown * theta * relevance
    found = rank_swaps(
        ClickStatistics(shown, clicks, np.array([40_000]), np.array([0, len(shown)]))
    )
    assert found.examination == pytest.approx(theta, abs=1e-8)


def test_determined_counts_clicks_below_the_reference_rank():
    found = rank_swaps(part([[400, 400, 0], [0, 0, 10]], [[200, 100, 0], [0, 0, 50]]))
    error = np.sqrt(1 / 200 + 1 / 100)
    assert found.determined(error * 1.01) == pytest.approx(100 / 150)
    assert found.determined(error * 0.99) == 0.0


@pytest.mark.parametrize("impressions", [30, 300])
def test_errors_are_those_of_repeated_logs(impressions):
    """Estimates lie within two standard errors of the truth in 95% of logs."""
    theta = np.array([1.0, 0.6, 0.4, 0.3, 0.1])
    rng = np.random.default_rng(5)
    away = []
    for _ in range(200):
        found = rank_swaps(drawn(theta, rng=rng, documents=60, impressions=impressions))
        away.append((np.log(found.examination) - np.log(theta))[1:] / found.errors[1:])
    covered = (np.abs(away) < 1.96).mean()
    assert 0.93 <= covered <= 0.99


def test_position_bias_that_differs_between_queries_widens_the_errors():
    rng = np.random.default_rng(0)
    shown = np.full((40, 2), 1000)
    steep = np.where(np.arange(40)[:, None] % 2, [0.5, 0.1], [0.5, 0.4])
    mixed = rank_swaps(part(shown, rng.binomial(shown, steep), [1] * 40))
    same = rank_swaps(part(shown, rng.binomial(shown, [0.5, 0.25]), [1] * 40))
    assert mixed.errors[1] > 4 * same.errors[1]
