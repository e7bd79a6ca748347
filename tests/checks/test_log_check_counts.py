"""Guards what a check says of overlap, of rows that were lost and of the parts of a log."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.checks import Evidence
from cltr.checks.completeness import LARGE_LOSS
from cltr.clicks.models import PositionBased
from cltr.clicks.simulation import simulate_statistics
from cltr.logs.log_file import LogFile
from cltr.logs.log_lists import lists_of_log
from cltr.types import ClickStatistics
from tests.checks.checked_logs import TOP_K, findings, lists, simulated


def test_overlap_by_hand():
    """Random ranking: ω = (1/2, 1/2); counted ρ = (9/10, 1/10); weights 5/9 and 5."""
    offsets = np.array([0, 2])
    part = ClickStatistics(np.array([[9], [1]]), np.array([[1], [1]]), np.array([10]), offsets)
    data = lists_of_log(offsets, np.array(["q"]), np.array(["a", "b"]))
    log = LogFile({"train": part, "valid": part}, None, lists=data)
    weights = np.repeat([5 / 9, 5.0], [18, 2])
    kish = weights.sum() ** 2 / (weights**2).sum()
    found = findings(log)["overlap"]
    assert found.number == pytest.approx(kish, abs=0.1)
    assert found.details["close"]["clicks"] == pytest.approx(4.0)  # one rank has no neighbours


def test_uniform_logging_is_worth_all_interactions():
    found = findings(simulated(0.0, n=4000), PositionBased(eta=0.0))["overlap"]
    assert found.number == pytest.approx(6000, rel=0.01)


@pytest.mark.parametrize(
    ("far", "near", "hidden", "level"),
    [
        (400, 9000, 0.0, "good"),
        (400, 9000, 0.11, "note"),
        (399, 9000, 0.0, "warning"),
        (400, 9000, 0.51, "warning"),
        (20, 100, 0.9, "warning"),
        (99, 99, 0.0, "fatal"),
    ],
)
def test_effective_clicks_decide_on_evaluation(far, near, hidden, level):
    from cltr.checks.effective import EffectiveSize
    from cltr.checks.support import _worth

    sizes = EffectiveSize(1.0, far, 1.0, hidden), EffectiveSize(1.0, near, 1.0, hidden)
    assert _worth(*sizes) == {"evaluation": level, "training": level}


def test_what_is_never_shown_is_told():
    found = findings(simulated(200.0, scores=False))["overlap"]
    assert "is on documents that were never shown" in found.text
    assert found.level == "note"


@pytest.mark.parametrize(
    ("dropped", "level"),
    [(0, "good"), (9, "good"), (50, "warning"), (251, "fatal"), (900, "fatal")],
)
def test_lost_rows_count_by_their_share(dropped, level):
    """1,000 rows are left; of those that were dropped, two problems share the blame."""
    part = simulated(n=250).statistics["train"]
    rows = int(part.impressions.sum())
    half = {"unit": "rows", "action": "drop", "what": "wrong", "count": dropped * rows // 2000}
    problems = [half | {"problem": "duplicates"}, half | {"problem": "missing-values"}]
    never = replace(part, impressions=0 * part.impressions, clicks=0 * part.clicks)
    log = LogFile(
        {"train": part, "valid": replace(never, displays=0 * part.displays)},
        None,
        {"problems": problems},
        lists=lists(),
    )
    found = findings(log)["rows-lost"]
    assert found.level == level and LARGE_LOSS == 0.2
    share = dropped * rows // 2000 / (rows + dropped * rows // 2000)
    assert found.number == pytest.approx(2 * share, abs=1e-3)


def test_a_noted_total_is_the_share():
    log = simulated()
    row = {"problem": "conflicts", "count": 30, "of": 100, "unit": "interactions"}
    log = replace(log, description={"problems": [row | {"action": "drop", "what": "twice"}]})
    assert findings(log)["rows-lost"].number == 0.3
    assert findings(log)["conflicts"].details["share"] == 0.3


def test_merged_logs_count_lost_rows_of_all_days(tmp_path):
    """A short day lost half of its interactions, a long one hardly any: little is lost in all."""
    from cltr.logs.merging import merge_logs

    days = []
    for seed, (count, of) in enumerate(((50, 100), (1, 9000))):
        row = {"problem": "conflicts", "count": count, "of": of, "unit": "interactions"}
        noted = {"format": "long", "problems": [row | {"action": "drop", "what": "twice"}]}
        days.append(replace(simulated(seed=seed), scores=None, description=noted))
    found = findings(merge_logs(days[::-1]))["rows-lost"]
    assert found.number == pytest.approx(51 / (18_000 + 51), abs=1e-4)


def test_lost_clicks_are_a_share_of_clicks():
    log = simulated()
    there = sum(part.clicks.sum() for part in log.statistics.values())
    row = {"problem": "clicks-without-impression", "count": int(there), "unit": "clicks"}
    log = replace(log, description={"problems": [row | {"action": "drop", "what": "lost"}]})
    assert findings(log)["rows-lost"].number == 0.5


def test_rows_left_out_on_purpose_are_not_lost():
    row = {"problem": "beyond-top-k", "count": 10**6, "unit": "rows", "action": "drop", "what": ""}
    assert findings(replace(simulated(), description={"problems": [row]}))["rows-lost"].number == 0


def test_parts_on_shared_lists_are_looked_at_together():
    """On a data set without splits all parts have the same lists; with splits they may look so."""
    log = replace(simulated(), lists=None)
    train, valid = log.statistics["train"], log.statistics["valid"]
    assert Evidence(log).whole is train
    together = Evidence(replace(log, description={"shared_lists": True})).whole
    assert together.n_interactions == train.n_interactions + valid.n_interactions


def with_test(n) -> LogFile:
    """The same log, and n interactions for testing."""
    log = simulated()
    rng = np.random.default_rng(3)
    judged = replace(lists(), labels=np.full(lists().n_documents, 2.0))
    test = simulate_statistics(judged, log.scores, PositionBased(), n=n, top_k=TOP_K, rng=rng)
    return replace(log, statistics={**log.statistics, "test": test})


def test_the_test_part_is_named_and_changes_no_other_finding():
    before, after = findings(simulated()), findings(with_test(4000))
    assert "test-part" not in before
    found = after.pop("test-part")
    assert found.level == "good" and "in 4,000 interactions; no other finding" in found.text
    assert found.number == with_test(4000).statistics["test"].clicks.sum()
    assert after == before


def test_a_small_test_part_is_noted():
    found = findings(with_test(20))
    assert found["test-part"].level == "note" and "--test-share" in found["test-part"].advice
    assert found["clicks"].level == "good"
