"""Guards verdicts: of logs with known truth, each use is possible, possible with care, or not."""

import numpy as np
import pytest

from cltr.checks.findings import ANSWERS, USES, Finding, verdict_on
from cltr.checks.log_check import check_log
from cltr.checks.rank_swaps import rank_swaps
from cltr.clicks.models import PositionBased
from cltr.logs.log_file import LogFile
from tests.checks.made_logs import World, answers, checked, choose, ingested, join

EVERY_CLICK = ("gaps=keep", "no-first-position=keep", "only-clicks=keep")
DROP = ("conflicts=drop", "repeated-rows=drop", "repeated-documents=drop")


def possible(*words):
    """Actions on problems that this version knows."""
    from cltr.logs.problems import PROBLEMS

    return tuple(word for word in words if word.split("=")[0] in PROBLEMS)


# Worlds: production, users and logging.


def test_a_varied_production_supports_every_use(tmp_path):
    assert answers(checked(World().rows(), tmp_path)) == ("yes", "yes", "yes")


def test_a_deterministic_production_supports_none(tmp_path):
    check = checked(World(noise=0).rows(), tmp_path)
    assert answers(check) == ("no", "no", "no")
    for verdict in check.verdicts.values():
        assert verdict.findings[0] == "production" and "deterministic" in verdict.reason
        assert "explor" in verdict.advice
    meaning = check.finding("production").details["meaning"]
    assert set(meaning) == set(USES) and "cannot be estimated" in meaning["position-bias"]
    assert "points of NDCG@5" in check.finding("exploration").text


def test_a_click_model_from_elsewhere_helps_a_deterministic_log(tmp_path):
    check = check_log(ingested(World(noise=0).rows(), tmp_path), PositionBased())
    assert answers(check) == ("no", "with care", "with care")


def test_production_that_changes_by_time_is_recognised(tmp_path):
    """Four fixed lists in turn: position bias follows, and time is named as what varies."""
    check = checked(World(noise=0, changes=3).rows(), tmp_path)
    assert answers(check) == ("yes", "with care", "with care")
    found = check.finding("production").details
    assert found["kind"] == "changes by time"
    assert found["repeat_next"] > 0.95 and found["repeat"] < 0.5


def test_drawn_lists_do_not_look_like_changes_by_time(tmp_path):
    found = checked(World(noise=0.2).rows(), tmp_path).finding("production").details
    assert found["kind"] == "varied"
    assert found["repeat_next"] == pytest.approx(found["repeat"], abs=0.03)


def test_rare_exploration_is_not_deterministic(tmp_path):
    """One request in ten is shuffled; on 20,000 requests that determines position bias."""
    fixed, free = World(n=20_000, noise=0).rows(), World(n=20_000, noise=3.0).rows()
    explored = fixed["session"] % 10 == 0
    rows = {name: np.where(explored, free[name], fixed[name]) for name in fixed}
    check = checked(rows, tmp_path)
    assert check.finding("production").details["kind"] == "varied"
    assert answers(check)[0] in ("yes", "with care")


def test_one_query_with_most_of_the_traffic(tmp_path):
    check = checked(World(traffic=0.8).rows(), tmp_path)
    assert answers(check) == ("yes", "with care", "with care")
    assert check.verdicts["evaluation"].findings[0] == "largest-query"
    assert check.finding("largest-query").number == pytest.approx(0.8, abs=0.03)


def test_swaps_of_one_query_do_not_speak_for_all(tmp_path):
    """29 queries have fixed lists, one is shuffled: its position bias may be its own."""
    fixed, free = World(noise=0, n=20_000).rows(), World(noise=3.0, n=20_000, seed=1).rows()
    rows = join(
        choose(fixed, fixed["query"] != 0),
        {**choose(free, free["query"] < 10), "query": 0 * choose(free, free["query"] < 10)["query"],
         "session": 10**6 + choose(free, free["query"] < 10)["session"]},
    )  # fmt: skip
    check = checked(rows, tmp_path)
    assert check.verdicts["position-bias"].answer == "with care"
    assert "one query contributes" in check.verdicts["position-bias"].reason


def test_a_click_rate_that_falls_to_a_fifth_is_drift(tmp_path):
    check = checked(World(late=0.2).rows(), tmp_path)
    assert answers(check) == ("with care",) * 3
    assert check.verdicts["training"].findings == ("drift",)
    assert check.finding("drift").number == pytest.approx(0.2, abs=0.02)


def test_clicks_that_were_not_logged_for_a_while_are_noticed(tmp_path):
    check = checked(World(late=0.0).rows(), tmp_path)
    assert check.finding("periods-without-clicks").number == pytest.approx(0.3, abs=0.001)
    assert answers(check) == ("with care",) * 3


def test_without_times_drift_is_not_claimed(tmp_path):
    check = checked(World(late=0.2).rows(), tmp_path, times=False)
    assert check.finding("drift").uses == {} and "cannot be seen" in check.finding("drift").text


def test_searches_without_a_click_that_are_missing_are_noticed(tmp_path):
    rows = World().rows()
    clicked = np.isin(rows["session"], rows["session"][rows["click"] == 1])
    check = checked(choose(rows, clicked), tmp_path)
    assert check.finding("interactions-without-click").uses["training"] == "warning"
    assert checked(rows, tmp_path).finding("interactions-without-click").level == "good"


def test_new_document_ids_at_every_request_support_nothing(tmp_path):
    rows = World().rows()
    rows["doc"] = np.arange(len(rows["doc"]))
    assert answers(checked(rows, tmp_path)) == ("no", "no", "no")


def test_queries_that_all_differ_support_nothing(tmp_path):
    rows = World().rows()
    rows["query"] = rows["session"]
    assert answers(checked(rows, tmp_path)) == ("no", "no", "no")


def test_few_interactions_support_nothing(tmp_path):
    assert answers(checked(World(n=150).rows(), tmp_path)) == ("no", "no", "no")


def test_positions_that_are_not_what_users_saw_need_care(tmp_path):
    """Positions are shuffled after the clicks, so rank makes no difference."""
    rows = World(n=20_000).rows()
    rng = np.random.default_rng(0)
    rows["position"] = rng.permuted(rows["position"].reshape(-1, 5), axis=1).ravel()
    check = checked(rows, tmp_path)
    assert answers(check) == ("with care",) * 3
    assert check.finding("rank-matters").number > 0.9
    assert checked(World().rows(), tmp_path).finding("rank-matters").level == "good"


def test_deep_lists_are_judged_by_their_first_ranks(tmp_path):
    """Of 120 ranks 100 are compared; clicks below them count as not known."""
    from cltr.checks import Evidence
    from cltr.types import ClickStatistics

    shown = np.full((2, 120), 900)
    part = ClickStatistics(shown, shown // 3, np.array([108_000]), np.array([0, 2]))
    found = rank_swaps(part)
    assert len(found.errors) == len(found.information) == 100
    assert found.determined(1.0) == pytest.approx(99 / 119)
    log = LogFile({"train": part, "valid": part}, None)
    assert len(Evidence(log).examination) == 120


# The three misjudgements of version 0.1.0.


def test_a_log_that_lost_much_of_its_rows_is_not_sound(tmp_path):
    """In half of the interactions every position holds two documents."""
    rows = World(n=4000).rows()
    some = choose(rows, rows["session"] % 2 == 0)
    other = {**some, "doc": (some["doc"] + 1) % 10, "click": some["click"][::-1].copy()}
    check = checked(join(rows, other), tmp_path, on=possible(*DROP))
    assert check.finding("rows-lost").number > 0.25
    assert answers(check) == ("no", "no", "no")
    assert check.verdicts["training"].findings[0] == "rows-lost"


def test_a_log_of_clicks_alone_supports_nothing(tmp_path):
    rows = World().rows()
    clicks = choose(rows, rows["click"] == 1)
    check = checked(clicks, tmp_path, on=possible(*EVERY_CLICK))
    assert answers(check) == ("no", "no", "no")
    assert check.verdicts["training"].findings[0] == "impressions-without-click"
    assert "100.0% of the rows are clicks" in check.verdicts["training"].reason


def test_a_median_query_that_came_once_does_not_spoil_position_bias(tmp_path):
    """Most queries came once; those that came often determine examination, and it is right."""
    check = checked(World(n=20_000, traffic=0.55, tail=True).rows(), tmp_path)
    assert check.finding("repeated-queries").details["median_displays"] == 1
    assert answers(check) == ("yes", "with care", "with care")
    known = check.finding("position-bias-known").details
    truth = 1 / np.arange(1, 6)
    away = np.log(np.array(known["examination"]) / truth)[1:]
    assert (np.abs(away) < 3 * np.array(known["standard_errors_of_log"][1:])).all()


# How findings become verdicts.


@pytest.mark.parametrize("level", list(ANSWERS))
def test_the_worst_finding_decides(level):
    mild = Finding("mild", {"training": "note"}, 1.0, "a", "b")
    bad = Finding("bad", {"training": level, "evaluation": "good"}, 2.0, "c", "d", "e")
    verdict = verdict_on("training", [mild, bad])
    assert verdict.answer == ANSWERS[level]
    assert verdict_on("evaluation", [mild, bad]).answer == "yes"
    if verdict.answer != "yes":
        assert (verdict.reason, verdict.number, verdict.findings) == ("c", 2.0, ("bad",))


def test_a_use_that_nothing_speaks_about_is_possible():
    assert verdict_on("training", []).answer == "yes"


def test_the_first_of_equally_bad_findings_is_the_reason():
    found = [Finding(name, {"training": "fatal"}, None, name, "") for name in ("one", "two")]
    assert verdict_on("training", found).reason == "one"
    assert verdict_on("training", found).findings == ("one", "two")
