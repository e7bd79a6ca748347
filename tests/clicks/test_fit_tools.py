"""Guards the climb of EM, sums of counts, and matching of fitted tables to other lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks.fit_tools import Convergence, Parameters, add_up, climb, leap
from cltr.errors import DataError
from cltr.testing import tiny_dataset

TRUTH = np.array([0.3, 0.9, 0.01])
RATE = np.array([0.9, 0.99, 0.5])


def slow_step(state):
    """A step of EM as it behaves near its summit: towards the truth, slowly."""
    (x,) = state
    return (TRUTH + RATE * (x - TRUTH),), float(-((x - TRUTH) ** 2).sum())


@pytest.mark.parametrize("walk", [climb, leap])
def test_both_walks_reach_the_summit(walk):
    found = walk(slow_step, (np.full(3, 0.5),), iterations=10_000, tolerance=1e-14)
    assert found.convergence.converged
    assert found.state[0] == pytest.approx(TRUTH, abs=1e-4)


def test_leaps_take_fewer_steps():
    steps = [
        len(walk(slow_step, (np.full(3, 0.5),), iterations=10_000, tolerance=1e-14)[1].objective)
        for walk in (climb, leap)
    ]
    assert steps[1] < steps[0] / 5


@pytest.mark.parametrize("walk", [climb, leap])
def test_a_walk_that_is_cut_short_says_so(walk):
    found = walk(slow_step, (np.full(3, 0.5),), iterations=5, tolerance=0.0)
    assert not found.convergence.converged
    assert 5 <= len(found.convergence.objective) <= 7


@given(st.lists(st.floats(0, 1), min_size=2, max_size=4), st.floats(0.1, 0.999))
def test_law_leaps_stay_in_bounds_and_never_fall(start, rate):
    target = np.linspace(0.0, 1.0, len(start))

    def step(state):
        (x,) = state
        assert ((x >= 0) & (x <= 1)).all()
        return (target + rate * (x - target),), float(-((x - target) ** 2).sum())

    objective = leap(step, (np.array(start),), iterations=100, tolerance=0.0)[1].objective
    assert (np.diff(objective) >= 0).all()


@given(st.lists(st.integers(-5, 5)))
def test_law_add_up_is_the_sum(parts):
    assert add_up(parts) == (sum(parts) if parts else None)


def test_add_up_keeps_the_order():
    assert add_up(["a", "b", "c", "d", "e", "f", "g"]) == "abcdefg"


def parameters(dataset, **ids):
    values = np.arange(dataset.n_documents, dtype=np.float64) / 100
    owners = np.repeat(dataset.query_ids, np.diff(dataset.offsets))
    ids = ids or {"query_ids": owners, "document_ids": dataset.document_ids}
    done = Convergence(np.empty(0), True)
    prior = {"relevance": 0.25}
    return Parameters({}, {"relevance": values}, prior, prior, done, **ids)


def test_tables_follow_the_ids_to_a_part_of_the_lists():
    dataset = tiny_dataset()
    found = parameters(dataset).tables(dataset.part("valid"))["relevance"]
    expected = np.arange(dataset.n_documents)[dataset.documents_of("valid")] / 100
    np.testing.assert_array_equal(found, expected)


def test_unknown_documents_get_what_an_unseen_one_gets():
    dataset = tiny_dataset()
    known = parameters(dataset.queries(0, 4))
    found = known.tables(dataset)["relevance"]
    n = dataset.queries(0, 4).n_documents
    np.testing.assert_array_equal(found[:n], np.arange(n) / 100)
    np.testing.assert_array_equal(found[n:], 0.25)


def test_the_same_document_of_another_query_is_another_one():
    dataset = tiny_dataset()
    renamed = parameters(
        dataset,
        query_ids=np.repeat(["x"], dataset.n_documents),
        document_ids=dataset.document_ids,
    )
    assert (renamed.tables(dataset)["relevance"] == 0.25).all()


def test_tables_without_ids_cannot_be_matched():
    dataset = tiny_dataset()
    nameless = parameters(dataset, query_ids=None, document_ids=None)
    assert len(nameless.tables()["relevance"]) == dataset.n_documents
    with pytest.raises(DataError, match="fit it with its data set"):
        nameless.tables(dataset)
