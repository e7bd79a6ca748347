"""Guards each finding of the log doctor: true of a log made to have it, and not of others."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.checks import Evidence
from cltr.checks.completeness import FEW_CLICKS, MANY_CLICKS, ONLY_CLICKS
from cltr.checks.log_check import judge
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.logs.log_file import LogFile
from cltr.logs.log_lists import lists_of_log
from cltr.policies import PlackettLuce
from cltr.types import ClickStatistics
from tests.checks.checked_logs import DOCUMENTS, QUERIES, TOP_K, findings, lists, simulated


def test_a_good_log_supports_every_use():
    found = findings(simulated())
    assert {one.level for one in found.values()} <= {"good", "note"}
    assert found["clicks"].number == sum(p.clicks.sum() for p in simulated().statistics.values())
    assert found["production"].number == 0.0
    assert found["exposure"].number <= 0.02
    check = judge(Evidence(simulated()))
    assert [verdict.answer for verdict in check.verdicts.values()] == ["yes"] * 3
    assert check.supports("training")


def test_every_finding_says_why_and_what_to_do():
    for log in (simulated(), simulated(40.0, scores=False), simulated(n=4, scores=False)):
        for finding in findings(log, TrustBias()).values():
            assert finding.text and finding.why
            assert finding.advice or finding.level in ("good", "note")


def test_no_clicks_are_fatal():
    log = simulated()
    silent = replace(log.statistics["valid"], clicks=0 * log.statistics["valid"].clicks)
    found = findings(replace(log, statistics={**log.statistics, "valid": silent}))
    assert found["clicks"].level == "fatal"


def test_few_clicks_are_a_warning():
    assert findings(simulated(n=60))["clicks"].level == "warning"
    assert FEW_CLICKS == 100  # 1 / sqrt(100) is an error of 10%


def test_a_fixed_list_is_deterministic():
    found = findings(simulated(1e6, scores=False))["production"]
    assert found.number == 1.0 and found.details["kind"] == "deterministic"
    assert set(found.uses.values()) == {"fatal"}


def test_a_known_click_model_allows_estimates_from_fixed_lists():
    """Position bias stays unknown to the log; a model that the log contradicts does not help."""
    log = simulated(1e6, scores=False)
    uses = findings(log, PositionBased())["production"].uses
    assert uses == {"position-bias": "fatal", "evaluation": "warning", "training": "warning"}
    assert set(findings(log, TrustBias())["production"].uses.values()) == {"fatal"}


def test_sorted_scores_are_told_from_drawn_ones():
    """Production sorts by scores that would rarely give this order if it drew from them."""
    log = simulated(1e6)
    mild = replace(log, scores=log.scores / 1e6)
    evidence = Evidence(mild)
    assert evidence.rank_distribution[1] == "sorted scores"
    assert findings(mild)["exposure"].level == "good"
    assert "sample-scores" in findings(mild)["exploration"].details


def test_scores_tell_of_queries_that_came_once():
    """No query came again; its list is in the order of scores, or is not."""
    data = lists()
    scores = np.tile(np.arange(DOCUMENTS, 0.0, -1), QUERIES)
    ranks = np.tile(np.eye(DOCUMENTS, TOP_K, dtype=np.int64), (QUERIES, 1))
    once = ClickStatistics(ranks, ranks, np.ones(QUERIES, np.int64), data.offsets)
    never = replace(once, impressions=0 * ranks, clicks=0 * ranks, displays=0 * once.displays)
    log = LogFile({"train": once, "valid": never}, 9 * scores, lists=data)
    assert findings(log)["production"].details["kind"] == "deterministic"
    assert findings(replace(log, scores=None))["production"].details["kind"] == "unknown"


@pytest.mark.parametrize(
    ("clicked", "level"),
    [(1.0, "fatal"), (0.96, "fatal"), (0.94, "warning"), (0.61, "warning"), (0.59, "good")],
)
def test_impressions_without_a_click_are_asked_for(clicked, level):
    shown = np.full((2, 2), 1000)
    data = lists_of_log(np.array([0, 2]), np.array(["q"]), np.array(["a", "b"]))
    part = ClickStatistics(
        shown, np.full((2, 2), int(1000 * clicked)), np.array([2000]), data.offsets
    )
    found = findings(LogFile({"train": part, "valid": part}, None, lists=data))
    assert found["impressions-without-click"].level == level
    if level != "fatal":
        told = found["impressions-without-click"].text
        assert told == f"{1 - clicked:.1%} of the impressions have no click"
    assert (ONLY_CLICKS, MANY_CLICKS) == (0.95, 0.6)


@pytest.mark.parametrize(
    ("clicks", "level", "says_chance"),
    [
        ((10, 14), "note", True),  # more at the bottom, by chance
        ((12, 10), "note", True),  # a fall of the same kind
        ((300, 500), "warning", False),  # beyond chance
        ((500, 300), "note", False),
    ],
)
def test_click_rates_by_rank_are_compared_beyond_chance(clicks, level, says_chance):
    part = ClickStatistics(
        np.array([[3300, 0], [0, 3300]]), np.diag(clicks), np.array([3300]), np.array([0, 2])
    )
    data = lists_of_log(np.array([0, 2]), np.array(["q"]), np.array(["a", "b"]))
    nothing = replace(part, impressions=0 * part.impressions, clicks=0 * part.clicks)
    log = LogFile({"train": part, "valid": nothing}, None, lists=data)
    found = findings(log)["click-rate-by-rank"]
    assert (found.level, "chance" in found.text) == (level, says_chance)
    assert found.number == round(clicks[1] / clicks[0], 4)


@pytest.mark.parametrize(
    ("often", "level"), [(90, "good"), (79, "warning"), (30, "warning"), (19, "fatal")]
)
def test_traffic_of_rare_queries_is_counted(often, level):
    """One query with some of 100 interactions, all others came once; their lists are of 8."""
    data = lists_of_log(
        np.arange(102) * 2, np.array([f"q{q}" for q in range(101)]), np.array(["a", "b"] * 101)
    )
    displays = np.concatenate([[often], np.arange(100) < 100 - often]).astype(np.int64)
    shown = np.repeat(displays, 2)[:, None] * np.tile(np.eye(2, dtype=np.int64), (101, 1))
    part = ClickStatistics(shown, shown // 2, displays, data.offsets)
    never = replace(part, impressions=0 * shown, clicks=0 * shown, displays=0 * displays)
    log = LogFile({"train": part, "valid": never}, None, lists=data)
    found = findings(log)["repeated-queries"]
    assert found.number == often / 100
    assert found.uses == {"evaluation": level, "training": level}
    known = findings(replace(log, scores=np.zeros(202)))["repeated-queries"]
    assert known.uses["evaluation"] == "good"  # scores tell exposure all the same


def test_scores_of_another_ranker_are_noticed():
    log = simulated()
    turned = findings(replace(log, scores=-log.scores))["exposure"]
    assert turned.level == "warning" and turned.number > 0.1


def test_propensities_are_checked_against_what_was_shown():
    log = simulated()
    right = PlackettLuce().rank_distribution(log.scores, log.lists.lists, TOP_K)
    bare = replace(log, scores=None)
    assert findings(replace(bare, propensities=right))["exposure"].level == "good"
    assert findings(replace(bare, propensities=right[::-1]))["exposure"].level == "warning"


def test_a_click_model_that_cannot_be_is_noticed():
    assert findings(simulated(), TrustBias())["click-model"].level == "warning"
    assert (
        "rank 1 is clicked between 0.65 and 1.00"
        in findings(simulated(), TrustBias())["click-model"].text
    )
    assert findings(simulated(users=TrustBias()), TrustBias())["click-model"].level == "good"
    assert (
        findings(simulated(users=TrustBias()), Adversarial(TrustBias()))["click-model"].level
        != "good"
    )


def test_a_model_for_fewer_ranks_is_asked_for_those():
    short = PositionBased(examination=(1.0, 0.5))
    assert len(Evidence(simulated(), short).examination) == 2
    assert "overlap" in findings(simulated(), short)


def test_documents_of_all_parts_are_counted():
    """The headline counts the interactions of all parts; so it counts what they show."""
    data = lists_of_log(np.array([0, 2]), np.array(["q"]), np.array(["a", "b"]))
    first, second = np.array([[9], [0]]), np.array([[0], [9]])
    parts = [
        ClickStatistics(shown, shown // 3, np.array([9]), data.offsets)
        for shown in (first, first, second)
    ]
    log = LogFile(dict(zip(("train", "valid", "test"), parts, strict=True)), None, lists=data)
    numbers = judge(Evidence(log)).numbers
    assert (numbers["documents"], numbers["queries"]) == (2, 1)
