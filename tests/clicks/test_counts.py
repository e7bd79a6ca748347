"""Guards sparse counts by cell: they count what dense statistics count, and add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks.counts import CellCounts
from cltr.errors import DataError
from cltr.types import ClickLog, ClickStatistics

OFFSETS = np.array([0, 3, 7])


@st.composite
def logs(draw):
    n, top_k = draw(st.integers(0, 12)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    queries = rng.integers(0, 2, size=n)
    first = 3 * queries[:, None] + np.argsort(rng.random((n, 3)), axis=1)[:, :top_k]
    documents = np.where(rng.random(first.shape) < 0.2, -1, first)
    return ClickLog(queries, documents, (rng.random(first.shape) < 0.4) & (documents >= 0))


def by_keys(log):
    shown = log.documents >= 0
    keys = (log.documents * log.top_k + np.arange(log.top_k))[shown]
    return CellCounts.of_keys(keys, log.clicks[shown], log.top_k, offsets=OFFSETS)


def dense(counts):
    found = np.zeros((2, counts.n_documents * counts.n_cells))
    found[:, counts.keys] = counts.impressions, counts.clicks
    return found


@given(logs())
def test_law_keys_and_statistics_count_the_same(log):
    sparse, known = by_keys(log), CellCounts.of_statistics(ClickStatistics.count(log, OFFSETS))
    np.testing.assert_array_equal(dense(sparse), dense(known))
    np.testing.assert_array_equal(sparse.keys, known.keys)


@given(logs(), st.integers(0, 12))
def test_law_parts_add_up_to_the_whole(log, cut):
    first, second = (
        by_keys(ClickLog(log.queries[rows], log.documents[rows], log.clicks[rows]))
        for rows in (slice(0, cut), slice(cut, None))
    )
    np.testing.assert_array_equal(dense(first + second), dense(by_keys(log)))


@given(logs())
def test_law_starts_cut_the_entries_by_document(log):
    counts = by_keys(log)
    for d in range(counts.n_documents):
        mine = counts.documents[counts.starts[d] : counts.starts[d + 1]]
        assert (mine == d).all()
    assert counts.starts[-1] == len(counts.keys)


def test_sums_by_cell_and_document():
    counts = CellCounts(
        np.array([0, 1, 7]), np.array([4.0, 2.0, 5.0]), np.array([1.0, 2.0, 0.0]), 2, OFFSETS
    )
    assert counts.by_cell(counts.impressions).tolist() == [4.0, 7.0]
    assert counts.by_document(counts.clicks).tolist() == [3.0, 0, 0, 0, 0, 0, 0]


@given(st.lists(st.integers(0, 20), unique=True))
def test_law_entries_begin_where_their_document_does(keys):
    rising = np.array(sorted(keys), np.int64)
    counts = CellCounts(rising, np.ones(len(keys)), np.zeros(len(keys)), 3, OFFSETS)
    expected = [sum(key < 3 * document for key in keys) for document in range(8)]
    assert counts.starts.tolist() == expected


def test_counts_of_different_lists_cannot_be_added():
    empty = np.empty(0)
    one = CellCounts(np.empty(0, np.int64), empty, empty, 2, OFFSETS)
    with pytest.raises(DataError, match="2 and 3 cells of 2 and 2 queries"):
        one + CellCounts(np.empty(0, np.int64), empty, empty, 3, OFFSETS)


@given(st.integers(0, 10**6), st.booleans())
def test_law_grouped_documents_are_all_there(seed, alike):
    """Whether many are alike or none: written out again, they are the same documents."""
    rng = np.random.default_rng(seed)
    shown = rng.integers(0, 50, size=(40, 3))
    if alike:
        shown = (shown > 25) * np.array([1, 0, 0])
    clicks, strata = rng.binomial(shown, 0.5), rng.integers(0, 2, size=40)
    statistics = ClickStatistics(shown, clicks, np.array([999]), np.array([0, 40]))
    found = CellCounts.of_statistics(statistics).grouped(strata)
    cells, n, c = (column[found.kinds] for column in found.of_kinds)
    again = []
    for group, times in enumerate(found.times):
        rows = slice(found.starts[group], found.starts[group + 1])
        row = np.zeros((2, 3))
        row[:, cells[rows]] = n[rows], c[rows]
        again += [(found.strata[group], *row.ravel())] * int(times)
    seen = shown.sum(1) > 0
    expected = np.column_stack([strata, shown, clicks])[seen]
    assert sorted(again) == sorted(map(tuple, expected.astype(float)))
    assert len(found.times) == len(set(again))
    assert len(found.of_kinds[0]) == len(set(zip(cells, n, c, strict=True)))
