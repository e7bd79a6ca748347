"""Guards each finding of the log doctor: true of a log made to have it, and not of others."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltr.checks import Evidence, find_all
from cltr.checks.completeness import FEW_CLICKS, LARGE_LOSS, MANY_CLICKS, ONLY_CLICKS
from cltr.checks.log_check import check_log, judge
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import LogFile, open_log
from cltr.logs.log_lists import lists_of_log
from cltr.logs.published_formats import OpenBanditReader
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.policies import PlackettLuce
from cltr.types import ClickStatistics, Dataset
from tests.checks.made_logs import answers
from tests.plain_logs import REAL, write_jsonl

needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the click logs are not there")
QUERIES, DOCUMENTS, TOP_K = 6, 8, 4


def lists() -> Dataset:
    offsets = np.arange(QUERIES + 1) * DOCUMENTS
    ids = np.array([f"d{d}" for d in range(QUERIES * DOCUMENTS)])
    return lists_of_log(offsets, np.array([f"q{q}" for q in range(QUERIES)]), ids)


def simulated(scale=1.0, *, users=None, n=6000, seed=0, scores=True, lists_of=lists) -> LogFile:
    """A log that stands alone, of a Plackett-Luce policy with scores of some scale."""
    data = lists_of()
    rng = np.random.default_rng(seed)
    policy = scale * rng.normal(size=data.n_documents)
    judged = replace(data, labels=np.round(rng.uniform(0, 4, data.n_documents)))
    model = users or PositionBased()
    parts = {
        split: simulate_statistics(judged, policy, model, n=m, top_k=TOP_K, rng=rng)
        for split, m in (("train", n), ("valid", n // 2))
    }
    return LogFile(parts, policy if scores else None, {"format": "long"}, data.fingerprint, data)


def findings(log: LogFile, model=None) -> dict:
    return {one.name: one for one in find_all(Evidence(log, model))}


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
    assert FEW_CLICKS == 100  # 1 / sqrt(100) is an error of 10 %


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


# The test part.


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


# What only interactions tell.


def ingested(tmp_path, table, *, split=None, **columns) -> Path:
    out = tmp_path / "log.h5"
    source = LogSource([write_jsonl(tmp_path / "log.jsonl", table)], LongReader(**columns))
    ingest_log(source, out, options=IngestOptions(split=split or Split()))
    return out


def shown(i, depth=4, clicks=()):
    return [
        {"session": i, "query": f"q{i % 3}", "position": p, "doc": (i + p) % 7,
         "click": int(p in clicks), "user": f"u{i % 30}", "time": i}
        for p in range(1, depth + 1)
    ]  # fmt: skip


def table(n=120, **special):
    return [row for i in range(n) for row in shown(i, **{**{"clicks": (i % 4,)}, **special})]


def names(check, level=None):
    return {one.name for one in check.findings if level in (None, one.level)}


def test_lists_that_end_with_a_click_look_cut(tmp_path):
    cut = [row for i in range(120) for row in shown(i, depth=1 + i % 4, clicks=(1 + i % 4,))]
    report = check_log(ingested(tmp_path, cut))
    assert "truncated-lists" in names(report, "warning")
    whole = [row for i in range(120) for row in shown(i, depth=1 + i % 4, clicks=(1,))]
    report = check_log(ingested(tmp_path, whole))
    assert "truncated-lists" in names(report, "note")


def test_robots_are_noticed(tmp_path):
    greedy = table() + [row for i in range(200, 205) for row in shown(i, clicks=(1, 2, 3, 4))]
    report = check_log(ingested(tmp_path, greedy))
    found = report.finding("clicked-everything")
    assert (found.number, found.level) == (5, "warning")


def test_the_busiest_user_is_noticed(tmp_path):
    busy = [row | {"user": "robot" if i % 2 else f"u{i}"} for i in range(300) for row in shown(i)]
    busy[0]["click"] = busy[500]["click"] = busy[900]["click"] = 1
    path = ingested(tmp_path, busy, user_column="user", split=Split(seed=2))
    check = check_log(path)
    assert check.finding("busiest-user").level == "warning"
    assert "'robot' has 150 interactions" in check.finding("busiest-user").text
    assert check.finding("shared-users").number == 1
    assert "1 are in the test part and in another" in check.finding("shared-users").text


def test_time_order_is_told(tmp_path):
    mixed = check_log(ingested(tmp_path, table(), time_column="time"))
    assert "time-order" in names(mixed, "note")
    path = ingested(tmp_path, table(), time_column="time", split=Split(by="time"))
    assert "time-order" in names(check_log(path), "good")


def test_validation_on_other_queries_is_a_warning(tmp_path):
    other = [row | {"query": "new", "session": f"v{row['session']}"} for row in table(30)]
    paths = [write_jsonl(tmp_path / f"{i}.jsonl", part) for i, part in enumerate((table(), other))]
    out = tmp_path / "log.h5"
    ingest_log(LogSource(paths[:1], LongReader(), paths[1:]), out)
    found = check_log(out).finding("shared-queries")
    assert (found.number, found.level) == (0.0, "warning")


def test_problems_of_ingestion_are_repeated(tmp_path):
    report = check_log(ingested(tmp_path, table() + shown(0, clicks=(2,))))
    assert "repeated-rows" in names(report, "note")


# Logs that exist.


@needs_real
def test_something_true_of_yandex(tmp_path):
    """Half of the documents were seen at several ranks; one query has most of the traffic."""
    out = tmp_path / "log.h5"
    source = LogSource([REAL / "yandex-relpred" / "train.tsv.gz"], LongReader())
    ingest_log(source, out, options=IngestOptions(split=Split(test_share=0.0)))
    check = check_log(out)
    assert answers(check) == ("yes", "with care", "with care")
    known = check.finding("position-bias-known")
    assert "538 of 1,024" in known.text
    assert max(known.details["standard_errors_of_log"]) < 0.15
    assert check.finding("largest-query").details["traffic"] > 0.5
    assert check.finding("overlap").number < 100
    assert check.finding("clicked-everything").number == 70
    contradicted = check_log(out, TrustBias()).finding("click-model")
    assert contradicted.level == "warning"  # the paper's values are not Yandex's


@needs_real
def test_yandex_position_bias_is_that_of_another_estimate(tmp_path):
    """Harvesting from all pairs, which weights documents otherwise, agrees within 3 errors."""
    from cltr.clicks.harvesting import all_pairs

    out = tmp_path / "log.h5"
    ingest_log(LogSource([REAL / "yandex-relpred" / "train.tsv.gz"], LongReader()), out)
    swaps = Evidence(open_log(out)).swaps
    away = np.log(swaps.examination[1:] / all_pairs(Evidence(open_log(out)).whole)[1:])
    assert (np.abs(away) < 3 * swaps.errors[1:]).all()


@needs_real
def test_something_true_of_trec(tmp_path):
    folder, out = REAL / "trec-session-2014", tmp_path / "log.h5"
    source = LogSource([folder / "train.tsv.gz"], LongReader(), [folder / "valid.tsv.gz"])
    ingest_log(source, out)
    check = check_log(out)
    assert answers(check) == ("no", "no", "no")
    assert check.finding("repeated-queries").details["median_displays"] == 1
    assert check.finding("repeated-queries").number < 0.1
    assert min(filter(None, check.finding("position-bias-known").details[
        "standard_errors_of_log"])) > 0.5  # fmt: skip
    assert check.finding("shared-queries").level == "warning"


@needs_real
@pytest.mark.parametrize(("policy", "level"), [("random", "good"), ("bts", "good")])
def test_something_true_of_open_bandit(tmp_path, policy, level):
    """Too few clicks; uniform propensities are those of the log, those of bandits are counted."""
    out = tmp_path / "log.h5"
    ingest_log(LogSource([REAL / "open-bandit" / policy / "men"], OpenBanditReader()), out)
    check = check_log(out)
    assert answers(check) == ("no", "no", "no")
    assert check.finding("clicks").level == "warning"
    assert check.finding("exposure").level == level
    assert check.finding("production").details["kind"] == "varied"
    assert check.finding("overlap").details["very_different"]["clicks"] < FEW_CLICKS
