"""Guards what a page says of changes: sums by hand, and the numbers of the result itself."""

import numpy as np
import pytest

from cltr.evaluation.changed_queries import by_risk, by_traffic
from cltr.evaluation.changes import ServedChange, by_frequency, group_rows, totals
from cltr.evaluation.segments import segments
from cltr.evaluation.trade_off import trade_off
from cltr.policies import Deterministic
from cltr.policies.on_dataset import Mixture, ScoredPolicy
from cltr.types import ClickLog, ClickStatistics, Dataset

WEIGHTS = np.array([1.0, 0.5])
IDS = np.array(["a", "b", "c", "x", "y"])


def change(displays=(3, 1), values=None):
    """Two sorted lists, abc and xy; the first one is turned round, the second stays."""
    offsets = np.array([0, 3, 5])
    data = Dataset(
        np.zeros((5, 1), np.float32), np.full(5, np.nan), offsets, np.array(["q", "r"]), IDS
    )
    old = ScoredPolicy(data, np.array([3.0, 2.0, 1.0, 2.0, 1.0]), Deterministic())
    new = ScoredPolicy(data, np.array([1.0, 2.0, 3.0, 2.0, 1.0]), Deterministic())
    counts = np.ones((5, 2), np.int64)
    statistics = ClickStatistics(counts, counts, np.array(displays), offsets)
    return ServedChange(Mixture(new, old, np.ones(2)), WEIGHTS, WEIGHTS, values, statistics)


def test_sums_are_by_traffic():
    found = totals(change())
    assert found["queries"] == 2 and found["documents"] == 5
    # Document a loses its weight of 1 to document c: 1 of 1.5, in 3 of 4 requests.
    assert found["exposure_moved"] == pytest.approx(0.75 * 1 / 1.5)
    assert found["other_first"] == 0.75


def test_gains_and_losses_of_queries():
    found = change(values=np.array([0.0, 1.0, 0.5, 1.0, 1.0]))
    np.testing.assert_allclose(found.gains, [0.5, 0.0])
    np.testing.assert_allclose(found.losses, [1.0, 0.0])  # only document a may be relevant
    assert change().gains is None


def test_the_documents_of_a_changed_query():
    (query,) = by_traffic(change(values=np.arange(5.0)))
    assert query["query"] == "q" and query["traffic"] == 0.75
    rows = {row["document"]: row for row in query["documents"]}
    assert [row["document"] for row in query["documents"]][:2] == ["c", "b"]
    assert (rows["c"]["before"], rows["c"]["after"]) == (None, 1)
    assert (rows["a"]["before"], rows["a"]["after"]) == (1, None)
    assert rows["b"]["exposure_before"] == rows["b"]["exposure_after"] == pytest.approx(0.5 / 1.5)
    assert rows["c"]["relevance"] == 2.0 and rows["c"]["impressions"] == 2
    assert [one["query"] for one in by_risk(change())] == ["q"]


def test_nothing_changes_where_production_stays():
    found = change()
    same = ServedChange(Mixture(found.served.new, found.production, np.zeros(2)), WEIGHTS, WEIGHTS)
    assert totals(same)["exposure_moved"] == 0.0
    assert by_traffic(same) == by_risk(same) == []


def test_alternatives_stand_beside_what_is_served():
    values = np.array([0.0, 1.0, 0.5, 1.0, 1.0])
    points = {one["name"]: one for one in trade_off(change(values=values))}
    assert set(points) == {"policy", "production_sorted"}  # both rankers are sorted already
    assert points["policy"]["gain"] == pytest.approx(0.75 * 0.5)
    assert points["policy"]["worst_case_loss"] == pytest.approx(0.5)  # each query counts once
    assert points["production_sorted"] == {
        "name": "production_sorted",
        "gain": 0.0,
        "worst_case_loss": 0.0,
    }
    (largest, _) = trade_off(change(values=values), only_largest=True)
    assert largest["worst_case_loss"] == pytest.approx(1.0)


def test_head_torso_and_tail_share_the_traffic():
    n = 40
    offsets = np.arange(n + 1) * 2
    data = Dataset(
        np.zeros((2 * n, 1), np.float32),
        np.full(2 * n, np.nan),
        offsets,
        np.arange(n).astype(str),
        np.arange(2 * n).astype(str),
    )
    policy = ScoredPolicy(data, np.arange(2.0 * n), Deterministic())
    displays = np.array([100, 50, 50, *[3] * (n - 3)])
    counts = np.zeros((2 * n, 2), np.int64)
    found = ServedChange(
        Mixture(policy, policy, np.ones(n)),
        WEIGHTS,
        WEIGHTS,
        None,
        ClickStatistics(counts, counts, displays, offsets),
    )
    rows = group_rows(found, by_frequency(found))
    assert [(row["name"], row["queries"]) for row in rows] == [
        ("head", 2),
        ("torso", 4),
        ("tail", 34),
    ]
    assert sum(row["traffic"] for row in rows) == pytest.approx(1.0)
    even = ServedChange(
        found.served,
        WEIGHTS,
        WEIGHTS,
        None,
        ClickStatistics(counts, counts, np.full(n, 5), offsets),
    )
    assert by_frequency(even) == {}


def test_segments_differ_by_their_queries():
    context = {
        "device": np.array(["phone", "phone", "desk", "desk"]),
        "user": np.array(["u1", "u2", "u3", "u4"]),
    }
    log = ClickLog(
        np.array([0, 0, 1, 1]),
        np.zeros((4, 2), np.int64),
        np.array([[1, 0], [1, 1], [0, 0], [1, 0]], bool),
        context,
    )
    found = segments(change((2, 2)), [log])
    rows = {row["name"]: row for row in found["columns"]["device"]}
    assert found["interactions"] == 4
    assert rows["phone"]["worst_case_loss"] == 1.0 and rows["desk"]["worst_case_loss"] == 0.0
    assert rows["phone"]["clicks_per_interaction"] == 1.5 and rows["phone"]["traffic"] == 0.5


def test_columns_with_many_values_are_no_segments():
    many = ClickLog(
        np.zeros(100, np.int64),
        np.zeros((100, 2), np.int64),
        np.zeros((100, 2), bool),
        {"user": np.arange(100).astype(str)},
    )
    found = segments(change(), [many])
    assert found["columns"] == {} and found["left_out"] == ["user"]
