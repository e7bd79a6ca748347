"""Guards the sort of documents within their lists: the same order as numpy's lexsort."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cltr.policies.sort_order import order_within, places_by_score, ranks_by_score
from cltr.types import Lists

keys = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, float("inf"), -float("inf"), float("nan")])


@given(st.lists(st.lists(keys, max_size=9), max_size=8))
def test_law_the_order_is_that_of_lexsort(values):
    lists = Lists.of_offsets(np.cumsum([0, *map(len, values)]))
    flat = np.array([key for one in values for key in one])
    expected = np.lexsort((flat, lists.owners))
    np.testing.assert_array_equal(order_within(flat, lists), expected)


def test_lists_of_very_different_lengths():
    rng = np.random.default_rng(0)
    lengths = np.array([1, 5000, 0, 3, 4, 5, 0, 17, 16])
    lists = Lists.of_offsets(np.cumsum([0, *lengths]))
    flat = rng.integers(0, 50, lengths.sum()).astype(np.float64)
    np.testing.assert_array_equal(order_within(flat, lists), np.lexsort((flat, lists.owners)))


@given(st.lists(st.lists(keys, max_size=40), max_size=8))
def test_law_ranks_and_places_are_those_of_lexsort(values):
    lists = Lists.of_offsets(np.cumsum([0, *map(len, values)]))
    flat = np.array([key for one in values for key in one])
    expected = np.lexsort((-flat, lists.owners))
    np.testing.assert_array_equal(
        lists.starts[lists.owners] + places_by_score(flat, lists), expected
    )
    np.testing.assert_array_equal(ranks_by_score(flat, lists)[expected], lists.places)


def test_entries_of_no_list_rank_last():
    lists = Lists(np.array([1, 5]), np.array([2, 3]))
    scores = np.array([9.0, 1.0, 2.0, 9.0, 9.0, 3.0, 3.0, 4.0])
    none = np.iinfo(np.int64).max
    assert ranks_by_score(scores, lists).tolist() == [none, 1, 0, none, none, 1, 2, 0]
    assert places_by_score(scores, lists).tolist() == [0, 1, 0, 0, 0, 2, 0, 1]


def test_several_threads_may_sort_at_once_and_processes_that_were_forked(run_python):
    code = """
import os
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from cltr.policies.sort_order import ranks_by_score
from cltr.types import Lists
lists = Lists.of_offsets(np.arange(0, 90_001, 90))
scores = np.random.default_rng(0).normal(size=90_000)
expected = np.lexsort((-scores, lists.owners))
def right(turn):
    return bool((ranks_by_score(scores, lists)[expected] == lists.places).all())
with ThreadPoolExecutor(4) as threads:
    assert all(threads.map(right, range(40)))
child = os.fork()
if not child:
    os._exit(0 if right(0) else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    run_python(code, NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER="workqueue")
    run_python(code, NUMBA_NUM_THREADS="2")
