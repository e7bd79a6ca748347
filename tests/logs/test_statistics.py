"""Guards counting: a log becomes impressions and clicks by document and rank, and chunks add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import DataError
from cltr.types import ClickLog, ClickStatistics
from tests.counting import count_log

OFFSETS = np.array([0, 3, 3, 5])  # three queries: three documents, none, two
TOP_K = 3


def log(rows: list[tuple[int, list[int], list[bool]]]) -> ClickLog:
    queries, documents, clicks = zip(*rows, strict=True) if rows else ((), (), ())
    return ClickLog(
        np.array(queries, np.int64),
        np.array(documents, np.int64).reshape(-1, TOP_K),
        np.array(clicks, np.bool_).reshape(-1, TOP_K),
    )


@st.composite
def interactions(draw):
    """A query with documents, some of them shown in some order, some of those clicked."""
    query = draw(st.sampled_from([0, 2]))
    own = range(OFFSETS[query], OFFSETS[query + 1])
    shown = draw(st.permutations(own))[:TOP_K]
    row = [*shown, *[-1] * (TOP_K - len(shown))]
    return query, row, draw(st.lists(st.booleans(), min_size=TOP_K, max_size=TOP_K))


def counted_by_hand(chunk: ClickLog) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    impressions, clicks = np.zeros((2, OFFSETS[-1], TOP_K), np.int64)
    displays = np.zeros(len(OFFSETS) - 1, np.int64)
    for query, documents, clicked in zip(chunk.queries, chunk.documents, chunk.clicks, strict=True):
        displays[query] += 1
        for rank, document in enumerate(documents):
            if document >= 0:
                impressions[document, rank] += 1
                clicks[document, rank] += clicked[rank]
    return impressions, clicks, displays


def test_counts_of_three_interactions():
    chunk = log(
        [
            (0, [2, 0, 1], [True, False, False]),
            (0, [2, 1, 0], [True, True, False]),
            (2, [4, 3, -1], [False, True, True]),  # a click where nothing was shown is none
        ]
    )
    counts = ClickStatistics.count(chunk, OFFSETS)
    assert counts.impressions.tolist() == [[0, 1, 1], [0, 1, 1], [2, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert counts.clicks.tolist() == [[0, 0, 0], [0, 1, 0], [2, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert counts.displays.tolist() == [2, 0, 1]
    assert counts.n_interactions == 3
    assert counts.top_k == TOP_K


@given(rows=st.lists(interactions(), max_size=12))
def test_law_equals_counting_one_by_one(rows):
    chunk = log(rows)
    counts = ClickStatistics.count(chunk, OFFSETS)
    impressions, clicks, displays = counted_by_hand(chunk)
    np.testing.assert_array_equal(counts.impressions, impressions)
    np.testing.assert_array_equal(counts.clicks, clicks)
    np.testing.assert_array_equal(counts.displays, displays)


@given(rows=st.lists(interactions(), min_size=1, max_size=12), cut=st.integers(0, 12))
def test_law_chunks_add_up_to_the_whole(rows, cut):
    whole = ClickStatistics.count(log(rows), OFFSETS)
    chunks = count_log([log(rows[:cut]), log(rows[cut:])], OFFSETS)
    np.testing.assert_array_equal(chunks.impressions, whole.impressions)
    np.testing.assert_array_equal(chunks.clicks, whole.clicks)
    np.testing.assert_array_equal(chunks.displays, whole.displays)


@given(rows=st.lists(interactions(), max_size=12))
def test_law_each_display_fills_the_ranks_it_has(rows):
    counts = ClickStatistics.count(log(rows), OFFSETS)
    lengths = np.minimum(np.diff(OFFSETS), TOP_K)
    assert counts.impressions.sum() == (counts.displays * lengths).sum()
    assert (counts.clicks <= counts.impressions).all()


def test_a_log_without_chunks_is_an_error():
    with pytest.raises(DataError, match="the log is empty"):
        count_log([], OFFSETS)
