"""Guards the log doctor: each finding is true of a log made to have it, and not of others."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltr.checks import Evidence, find_all
from cltr.checks.log_check import check_log, plot_ranks
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.errors import CltrError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import LogFile, write_log
from cltr.logs.log_lists import lists_of_log
from cltr.logs.published_formats import OpenBanditReader
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.policies import PlackettLuce
from cltr.types import ClickStatistics, Dataset
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
    return {one.name: one for one in find_all(Evidence(log, model or PositionBased()))}


def test_a_good_log_is_sound():
    found = findings(simulated())
    assert {one.level for one in found.values()} <= {"good", "note"}
    assert found["clicks"].number == sum(p.clicks.sum() for p in simulated().statistics.values())
    assert found["overlap"].number == 1.0
    assert found["deterministic-logging"].number == 0.0
    assert found["exposure"].number <= 0.02


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


def test_a_fixed_list_is_deterministic():
    found = findings(simulated(1e6, scores=False))
    assert found["deterministic-logging"].number == 1.0
    assert found["deterministic-logging"].level == "warning"
    assert found["overlap"].number == 0.0 and found["overlap"].level == "warning"


def test_overlap_is_counted_by_hand():
    """Three documents: one at two ranks, one at one rank only, one never shown."""
    offsets = np.array([0, 3])
    part = ClickStatistics(
        np.array([[3, 2], [2, 0], [0, 0]]),
        np.array([[1, 0], [1, 0], [0, 0]]),
        np.array([5]),
        offsets,
    )
    data = lists_of_log(offsets, np.array(["q"]), np.array(["a", "b", "c"]))
    log = LogFile({"train": part, "valid": part}, None, lists=data)
    assert findings(log)["overlap"].number == 0.5


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
    found = findings(log)["position-bias"]
    assert (found.level, "chance" in found.text) == (level, says_chance)
    assert found.number == round(clicks[1] / clicks[0], 4)


def test_queries_that_came_once_cannot_support_an_estimate():
    log = simulated()
    ranks = np.tile(np.eye(DOCUMENTS, TOP_K, dtype=np.int64), (QUERIES, 1))
    once = replace(
        log.statistics["train"],
        impressions=ranks,
        clicks=ranks * (np.arange(len(ranks)) % 3 == 0)[:, None],
        displays=np.ones(QUERIES, np.int64),
    )
    never = replace(once, impressions=0 * ranks, clicks=0 * ranks, displays=0 * once.displays)
    log = replace(log, statistics={"train": once, "valid": never})
    bare = findings(replace(log, scores=None))["displays-per-query"]
    assert (bare.number, bare.level) == (1, "fatal")
    assert findings(log)["displays-per-query"].level == "note"  # scores tell exposure all the same


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
    assert "effective-sample" in findings(simulated(), short)


def test_effective_sample_by_hand():
    """Uniform logging is worth all interactions; weights that differ are worth fewer."""
    uniform = simulated(0.0, n=4000)
    assert findings(uniform, PositionBased(eta=0.0))["effective-sample"].number == pytest.approx(
        6000, rel=0.01
    )
    offsets = np.array([0, 2])
    part = ClickStatistics(np.array([[9], [1]]), np.array([[1], [1]]), np.array([10]), offsets)
    data = lists_of_log(offsets, np.array(["q"]), np.array(["a", "b"]))
    log = LogFile({"train": part, "valid": part}, None, lists=data)
    # Random ranking: ω = (1/2, 1/2); counted ρ = (9/10, 1/10); weights 5/9 and 5.
    weights = np.repeat([5 / 9, 5.0], [18, 2])
    kish = weights.sum() ** 2 / (weights**2).sum()
    assert findings(log)["effective-sample"].number == pytest.approx(kish, abs=0.1)


def test_what_is_never_shown_is_told():
    log = simulated(200.0, scores=False)
    found = findings(log)["effective-sample"]
    assert "of its weight is on what is never in the first 4" in found.text
    assert found.level in ("note", "warning")


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


def names(report, level=None):
    return {one["name"] for one in report["findings"] if level in (None, one["level"])}


def test_lists_that_end_with_a_click_look_cut(tmp_path):
    cut = [row for i in range(120) for row in shown(i, depth=1 + i % 4, clicks=(1 + i % 4,))]
    report = check_log(ingested(tmp_path, cut), PositionBased())
    assert "truncated-lists" in names(report, "warning")
    whole = [row for i in range(120) for row in shown(i, depth=1 + i % 4, clicks=(1,))]
    report = check_log(ingested(tmp_path, whole), PositionBased())
    assert "truncated-lists" in names(report, "note")


def test_robots_are_noticed(tmp_path):
    greedy = table() + [row for i in range(200, 205) for row in shown(i, clicks=(1, 2, 3, 4))]
    report = check_log(ingested(tmp_path, greedy), PositionBased())
    (found,) = [one for one in report["findings"] if one["name"] == "clicked-everything"]
    assert (found["number"], found["level"]) == (5, "warning")


def test_the_busiest_user_is_noticed(tmp_path):
    busy = [row | {"user": "robot" if i % 2 else f"u{i}"} for i in range(300) for row in shown(i)]
    busy[0]["click"] = busy[500]["click"] = busy[900]["click"] = 1
    path = ingested(tmp_path, busy, user_column="user", split=Split(seed=2))
    found = {one["name"]: one for one in check_log(path, PositionBased())["findings"]}
    assert found["busiest-user"]["level"] == "warning"
    assert "'robot' has 150 interactions" in found["busiest-user"]["text"]
    assert found["shared-users"]["number"] == 1
    assert "1 are in the test part and in another" in found["shared-users"]["text"]


def test_time_order_is_told(tmp_path):
    mixed = check_log(ingested(tmp_path, table(), time_column="time"), PositionBased())
    assert "time-order" in names(mixed, "note")
    path = ingested(tmp_path, table(), time_column="time", split=Split(by="time"))
    assert "time-order" in names(check_log(path, PositionBased()), "good")


def test_validation_on_other_queries_is_a_warning(tmp_path):
    other = [row | {"query": "new", "session": f"v{row['session']}"} for row in table(30)]
    paths = [write_jsonl(tmp_path / f"{i}.jsonl", part) for i, part in enumerate((table(), other))]
    out = tmp_path / "log.h5"
    ingest_log(LogSource(paths[:1], LongReader(), paths[1:]), out)
    (found,) = [
        one
        for one in check_log(out, PositionBased())["findings"]
        if one["name"] == "shared-queries"
    ]
    assert (found["number"], found["level"]) == (0.0, "warning")


def test_problems_of_ingestion_are_repeated(tmp_path):
    report = check_log(ingested(tmp_path, table() + shown(0, clicks=(2,))), PositionBased())
    assert "duplicates" in names(report, "note")


# Pictures and logs that exist.


def test_the_plot_is_a_picture(tmp_path):
    write_log(tmp_path / "log.h5", simulated())
    report = check_log(tmp_path / "log.h5", PositionBased())
    plot_ranks(report, tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(CltrError, match="must end in"):
        plot_ranks(report, tmp_path / "ranks.txt")


@needs_real
def test_something_true_of_yandex(tmp_path):
    out = tmp_path / "log.h5"
    source = LogSource([REAL / "yandex-relpred" / "train.tsv.gz"], LongReader())
    ingest_log(source, out, options=IngestOptions(split=Split(test_share=0.0)))
    report = check_log(out, TrustBias())
    found = {one["name"]: one for one in report["findings"]}
    assert "538 of 1,024" in found["overlap"]["text"]
    assert found["click-model"]["level"] == "warning"  # the paper's values are not Yandex's
    assert found["clicked-everything"]["number"] == 70
    assert report["verdict"] == "careful"


@needs_real
def test_something_true_of_trec(tmp_path):
    folder, out = REAL / "trec-session-2014", tmp_path / "log.h5"
    source = LogSource([folder / "train.tsv.gz"], LongReader(), [folder / "valid.tsv.gz"])
    ingest_log(source, out)
    report = check_log(out, TrustBias())
    found = {one["name"]: one for one in report["findings"]}
    assert report["verdict"] == "meaningless"
    assert found["displays-per-query"]["number"] == 1
    assert found["overlap"]["level"] == "warning"
    assert found["shared-queries"]["level"] == "warning"


@needs_real
@pytest.mark.parametrize(("policy", "level"), [("random", "good"), ("bts", "note")])
def test_something_true_of_open_bandit(tmp_path, policy, level):
    """Too few clicks; uniform propensities are those of the log, those of bandits drift."""
    out = tmp_path / "log.h5"
    ingest_log(LogSource([REAL / "open-bandit" / policy / "men"], OpenBanditReader()), out)
    found = {one["name"]: one for one in check_log(out, TrustBias())["findings"]}
    assert found["clicks"]["level"] == "warning"
    assert found["exposure"]["level"] == level
    assert found["overlap"]["number"] == 1.0
