"""Guards what flows between the stages: views, sums that add up, means per display."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import DataError
from cltr.types import ClickLog, ClickStatistics, Dataset, Exposure, Lists

OFFSETS = np.array([0, 2, 5, 6])


def dataset() -> Dataset:
    return Dataset(
        features=np.arange(12, dtype=np.float32).reshape(6, 2),
        labels=np.array([0.0, 4.0, 2.0, 1.0, 0.0, 3.0]),
        offsets=OFFSETS,
        query_ids=np.array(["a", "b", "c"]),
        document_ids=np.array([f"d{i}" for i in range(6)]),
        splits={"train": (0, 2), "test": (2, 3)},
        name="tiny",
    )


def statistics(impressions, clicks, displays) -> ClickStatistics:
    return ClickStatistics(
        np.array(impressions), np.array(clicks), np.array(displays), np.array([0, 2, 3])
    )


@st.composite
def counted(draw) -> ClickStatistics:
    """Statistics of three documents at two ranks."""
    numbers = st.lists(st.integers(0, 9), min_size=6, max_size=6)
    impressions = np.array(draw(numbers)).reshape(3, 2)
    clicks = np.minimum(impressions, np.array(draw(numbers)).reshape(3, 2))
    return statistics(
        impressions, clicks, draw(st.lists(st.integers(0, 9), min_size=2, max_size=2))
    )


def test_dataset_counts():
    data = dataset()
    assert (data.n_queries, data.n_documents, data.n_features) == (3, 6, 2)
    assert data.lists.lengths.tolist() == [2, 3, 1]


def test_relevance_is_the_grade_over_the_highest_the_papers_quarter():
    np.testing.assert_allclose(dataset().relevance, 0.25 * dataset().labels)


def test_a_split_is_a_view_that_knows_its_ids():
    data = dataset()
    test = data.part("test")
    assert (test.n_queries, test.n_documents) == (1, 1)
    assert test.query_ids.tolist() == ["c"]
    assert test.document_ids.tolist() == ["d5"]
    assert test.offsets.tolist() == [0, 1]
    assert test.labels.tolist() == [3.0]
    assert np.shares_memory(test.features, data.features)
    assert data.documents_of("train") == slice(0, 5)
    assert data.documents_of("test") == slice(5, 6)


def test_queries_can_be_cut_out_of_what_was_cut_out():
    inner = dataset().queries(1, 3).queries(1, 2)
    assert inner.query_ids.tolist() == ["c"]
    assert inner.document_ids.tolist() == ["d5"]
    assert inner.offsets.tolist() == [0, 1]


def test_an_unknown_split_is_named_with_those_there_are():
    with pytest.raises(DataError) as caught:
        dataset().part("valid")
    assert str(caught.value) == "tiny: no split 'valid'; it has train, test"


@pytest.mark.parametrize("value", [dataset(), statistics([[0]] * 3, [[0]] * 3, [1, 1])])
def test_what_flows_is_frozen(value):
    with pytest.raises(FrozenInstanceError):
        value.offsets = OFFSETS


def test_a_log_knows_its_length_and_ranks():
    log = ClickLog(np.zeros(4, np.int64), np.zeros((4, 3), np.int64), np.zeros((4, 3), np.bool_))
    assert (len(log), log.top_k) == (4, 3)


@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=5), extra=st.integers(0, 2))
def test_law_lists_of_offsets_and_of_a_mask_name_the_same_documents(lengths, extra):
    flat = Lists.of_offsets(np.concatenate([[0], np.cumsum(lengths)]))
    width = max(lengths) + extra
    mask = np.arange(width) < np.array(lengths)[:, None]
    padded = Lists.of_mask(mask)
    assert flat.lengths.tolist() == padded.lengths.tolist() == lengths
    assert flat.members.tolist() == list(range(sum(lengths)))
    np.testing.assert_array_equal(padded.members, np.flatnonzero(mask))
    np.testing.assert_array_equal(flat.owners, np.nonzero(mask)[0])
    np.testing.assert_array_equal(flat.places, np.nonzero(mask)[1])


def test_click_rate_is_per_display_of_the_query_eq_44():
    counts = statistics([[3, 1], [1, 3], [0, 0]], [[2, 1], [0, 1], [0, 0]], [4, 0])
    np.testing.assert_allclose(counts.click_rate, [3 / 4, 1 / 4, 0])
    np.testing.assert_array_equal(counts.displays_per_document, [4, 4, 0])


def test_average_of_a_value_by_rank_eq_44():
    counts = statistics([[3, 1], [1, 2], [0, 0]], [[0, 0]] * 3, [4, 0])
    alpha = np.array([0.35, 0.53])
    expected = [(3 * 0.35 + 1 * 0.53) / 4, (1 * 0.35 + 2 * 0.53) / 4, 0]
    np.testing.assert_allclose(counts.average(alpha), expected)


@pytest.mark.parametrize(
    ("displays", "weights"), [([3, 1], [0.75, 0.25]), ([1, 0], [1, 0]), ([0, 0], [0, 0])]
)
def test_query_weights_are_shares_of_the_interactions(displays, weights):
    np.testing.assert_allclose(statistics([[0]] * 3, [[0]] * 3, displays).query_weights, weights)


@given(counted(), counted(), counted())
def test_law_statistics_add_up_in_any_order(one, two, three):
    left, right = (one + two) + three, three + (two + one)
    np.testing.assert_array_equal(left.impressions, right.impressions)
    np.testing.assert_array_equal(left.clicks, right.clicks)
    np.testing.assert_array_equal(left.displays, right.displays)
    assert left.n_interactions == sum(part.n_interactions for part in (one, two, three))


def test_statistics_of_other_lists_cannot_be_added():
    two_ranks = statistics([[1, 0]] * 3, [[0, 0]] * 3, [1, 1])
    with pytest.raises(DataError, match=r"cannot be added: shapes \(3, 2\) and \(3, 1\)"):
        two_ranks + statistics([[1]] * 3, [[0]] * 3, [1, 1])
    moved = ClickStatistics(
        two_ranks.impressions, two_ranks.clicks, two_ranks.displays, np.array([0, 1, 3])
    )
    with pytest.raises(DataError, match="statistics of different lists cannot be added"):
        two_ranks + moved


def test_inverse_propensities_eq_23_are_clipped_from_below():
    exposure = Exposure(*3 * [np.array([0.5, 0.1, 0.0])])
    np.testing.assert_allclose(
        exposure.inverse_propensities(np.zeros(3), propensity_clip=0.2), [1 / 0.5, 1 / 0.2, 1 / 0.2]
    )
    np.testing.assert_allclose(exposure.inverse_propensities(np.zeros(3)), [1 / 0.5, 1 / 0.1, 0])


def test_an_exposure_that_contradicts_the_log_is_refused():
    exposure = Exposure(*3 * [np.array([0.5, 0.0, 0.0])])
    with pytest.raises(
        DataError, match=r"^1 documents were shown that production never shows by its"
    ):
        exposure.inverse_propensities(np.array([0.1, 0.1, 0.0]))


def test_counts_take_32_bits_until_a_product_of_two_might_not_fit():
    small, large = statistics([[32767]] * 3, [[0]] * 3, [32767] * 2), 2**40
    assert (small.impressions.dtype, small.clicks.dtype) == (np.int32, np.int32)
    assert (small.impressions * small.impressions).max() == 32767**2
    grown = small + small
    assert grown.impressions.dtype == np.int64
    assert grown.impressions.max() == 65534
    assert statistics([[large]] * 3, [[0]] * 3, [large] * 2).impressions.max() == large


def test_counts_that_became_small_take_32_bits_again():
    grown = statistics([[50000], [1], [1]], [[1]] * 3, [50000, 1])
    kept = grown.of_queries(np.array([False, True]))
    assert kept.impressions.tolist() == [[0], [0], [1]]
    assert kept.impressions.dtype == np.int32


def test_sums_of_counts_have_64_bits():
    counts = statistics([[32767]] * 3, [[0]] * 3, [32767] * 2)
    for total in (counts.impressions.sum(0), np.cumsum(counts.impressions, axis=0)):
        assert total.dtype == np.int64


def test_expected_counts_stay_fractions():
    counts = statistics([[0.25]] * 3, [[0]] * 3, [1, 1])
    assert counts.impressions.tolist() == [[0.25]] * 3
