"""Guards the limits of ``cltr check``: a log just on either side of each gets another level."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.checks import Evidence
from cltr.checks.completeness import outliers
from cltr.checks.dominance import busiest_user, largest_query
from cltr.checks.drift import drift
from cltr.checks.position import identification
from cltr.checks.production import variation
from cltr.logs.log_file import LogFile
from cltr.types import ClickStatistics


def log_of(shown, clicks, lengths, description=None) -> Evidence:
    """All interactions are training interactions; every document's impressions count once."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    owners = np.repeat(np.arange(len(lengths)), lengths)
    displays = np.bincount(owners, shown.sum(-1)).astype(np.int64)
    part = ClickStatistics(shown, clicks, displays, offsets)
    never = replace(part, impressions=0 * shown, clicks=0 * clicks, displays=0 * displays)
    return Evidence(LogFile({"train": part, "valid": never}, None, description or {}))


def level_of(question, evidence, use) -> str:
    (finding,) = [one for one in question(evidence) if use in one.uses]
    return finding.uses[use]


def compared(clicks):
    """Twenty queries with a document each, shown at two ranks, equally often and clicked alike."""
    shown = np.full((20, 2), 10_000)
    each = clicks // 20 + (np.arange(20) < clicks % 20)
    return log_of(shown, np.stack([each, each], -1), [1] * 20)


@pytest.mark.parametrize(
    ("error", "bias", "training"),
    [
        (0.095, "good", "good"),
        (0.105, "warning", "warning"),
        (0.24, "warning", "warning"),
        (0.26, "fatal", "warning"),
        (0.31, "fatal", "warning"),
    ],
)
def test_standard_errors_decide_on_position_bias(error, bias, training):
    """Two ranks with c clicks each: the error is sqrt(2 / c)."""
    evidence = compared(round(2 / error**2))
    assert evidence.swaps.errors[1] == pytest.approx(error, rel=0.02)
    assert level_of(identification, evidence, "position-bias") == bias
    assert level_of(identification, evidence, "training") == training


@pytest.mark.parametrize(
    ("below", "bias"), [(0.19, "good"), (0.21, "warning"), (0.49, "warning"), (0.51, "fatal")]
)
def test_most_clicks_must_lie_at_ranks_that_are_known(below, bias):
    """A third rank has a share of the clicks below the first, on documents that never moved."""
    moved = np.tile([10_000, 10_000, 0], (20, 1))
    clicks = np.tile([500, 500, 0], (20, 1))
    third = round(20 * 500 * below / (1 - below))
    shown = np.concatenate([moved, [[0, 0, 10_000]]])
    clicks = np.concatenate([clicks, [[0, 0, third]]])
    evidence = log_of(shown, clicks, [1] * 20 + [1])
    assert level_of(identification, evidence, "position-bias") == bias


def test_one_rank_has_no_position_bias():
    evidence = log_of(np.array([[50], [50]]), np.array([[5], [6]]), [2])
    assert level_of(identification, evidence, "position-bias") == "fatal"


@pytest.mark.parametrize(
    ("share", "level"), [(0.19, "good"), (0.21, "note"), (0.49, "note"), (0.51, "warning")]
)
def test_one_query_may_have_half_of_the_traffic(share, level):
    shown = np.concatenate([[1000 * share], np.full(10, 100 * (1 - share))]).astype(int)[:, None]
    evidence = log_of(10 * shown, shown, [1] * 11)
    assert level_of(largest_query, evidence, "training") == level
    assert level_of(largest_query, evidence, "position-bias") == "good"


def test_one_query_with_half_of_the_clicks_counts_too():
    shown = np.full((3, 1), 1000)
    evidence = log_of(shown, np.array([[600], [200], [200]]), [1] * 3)
    assert level_of(largest_query, evidence, "evaluation") == "warning"


def users(top, median, total=1000, number=100):
    busiest = [{"user": "u", "interactions": top, "clicks": 0}]
    return {"users": number, "interactions": total, "median": median, "busiest": busiest}


@pytest.mark.parametrize(
    ("noted", "level"),
    [
        (users(top=60, median=1), "warning"),  # more than 1%, and 60 times the median
        (users(top=60, median=2), "good"),
        (users(top=9, median=0.1), "good"),  # less than 1%
        (users(top=101, median=10), "warning"),  # more than 10%
        (users(top=99, median=10), "good"),
        (users(top=1000, median=1000, number=1), "good"),  # there is only one
    ],
)
def test_one_user_may_have_a_tenth_of_the_traffic(noted, level):
    noted = {"interactions": {"users": noted}}
    evidence = log_of(np.full((2, 1), 500), np.full((2, 1), 5), [1, 1], noted)
    assert level_of(busiest_user, evidence, "training") == level


@pytest.mark.parametrize(
    ("everything", "level"), [(0, "good"), (9, "note"), (11, "warning"), (501, "fatal")]
)
def test_interactions_with_every_document_clicked(everything, level):
    noted = {"interactions": {"ends": {"all_clicked": everything}}}
    evidence = log_of(np.full((2, 1), 500), np.full((2, 1), 5), [1, 1], noted)
    assert level_of(outliers, evidence, "training") == level


@pytest.mark.parametrize(
    ("last", "level"),
    [(0.1, "good"), (0.079, "note"), (0.051, "note"), (0.049, "warning"), (0.201, "warning")],
)
def test_drift_is_a_factor_between_the_ends(last, level):
    """The first fifth has a click rate of 0.1; the last one as given."""
    rates = [0.1] * 8 + [last] * 2
    periods = [{"impressions": [50_000], "clicks": [round(50_000 * rate)]} for rate in rates]
    evidence = log_of(np.ones((1, 1), int), np.ones((1, 1), int), [1])
    noted = {"interactions": {"periods": periods}}
    evidence = Evidence(replace(evidence.log, description=noted))
    assert level_of(drift, evidence, "training") == level


def test_drift_within_chance_is_none():
    periods = [{"impressions": [100], "clicks": [c]} for c in (5, 10, 10, 10, 11)]
    noted = {"interactions": {"periods": periods}}
    evidence = log_of(np.ones((1, 1), int), np.ones((1, 1), int), [1], noted)
    (found,) = drift(evidence)
    assert found.level == "good" and "may be chance" in found.text
    assert found.number == pytest.approx(11 / 5)


def test_lists_that_grow_longer_are_drift():
    periods = [{"impressions": n, "clicks": [9, 9]} for n in ([100, 0], [100, 0], [30, 70])]
    noted = {"interactions": {"periods": periods}}
    evidence = log_of(np.ones((1, 1), int), np.ones((1, 1), int), [1], noted)
    assert level_of(drift, evidence, "training") == "warning"


def fixed(share, repeats=None):
    """A share of the interactions has a fixed list; the other queries alternate between two."""
    queries, n = 100, 100
    number = round(share * queries)
    lists = [n * np.eye(2, dtype=int)] * number
    lists += [np.full((2, 2), n // 2)] * (queries - number)
    shown = np.concatenate(lists)
    noted = {"interactions": {"repeats": {"next": repeats}}} if repeats else {}
    offsets = np.arange(queries + 1) * 2
    part = ClickStatistics(shown, shown // 10, np.full(queries, n), offsets)
    return Evidence(LogFile({"train": part, "valid": part}, None, noted))


@pytest.mark.parametrize(
    ("share", "kind"),
    [
        (0.91, "deterministic"),
        (0.89, "partly deterministic"),
        (0.51, "partly deterministic"),
        (0.49, "varied"),
    ],
)
def test_the_share_of_fixed_lists_decides_on_production(share, kind):
    assert variation(fixed(share)).kind == kind


@pytest.mark.parametrize(("following", "kind"), [(0.95, "changes by time"), (0.85, "varied")])
def test_lists_change_by_time_if_neighbours_agree_five_times_as_often(following, kind):
    """Two lists half and half: any two displays differ in about half of the cases."""
    assert variation(fixed(0.0, following)).kind == kind
