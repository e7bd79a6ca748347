"""Guards what a check says of interactions, and of logs that exist."""

from pathlib import Path

import numpy as np
import pytest

from cltr.checks import Evidence
from cltr.checks.completeness import FEW_CLICKS
from cltr.checks.log_check import check_log
from cltr.clicks.models import TrustBias
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import open_log
from cltr.logs.published_formats import OpenBanditReader
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from tests.checks.checked_logs import shown
from tests.checks.made_logs import answers
from tests.plain_logs import REAL, write_jsonl

needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the click logs are not there")


def ingested(tmp_path, table, *, split=None, **columns) -> Path:
    out = tmp_path / "log.h5"
    source = LogSource([write_jsonl(tmp_path / "log.jsonl", table)], LongReader(**columns))
    ingest_log(source, out, options=IngestOptions(split=split or Split()))
    return out


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
    assert mixed.finding("time-order").advice == "ingest with --split-by time"
    path = ingested(tmp_path, table(), time_column="time", split=Split(by="time"))
    assert "time-order" in names(check_log(path), "good")


def test_one_split_is_advised_first_where_two_are_possible(tmp_path):
    known = [row | {"user": f"u{i % 7}"} for i in range(120) for row in shown(i, clicks=(i % 4,))]
    path = ingested(tmp_path, known, user_column="user", time_column="time")
    check = check_log(path)
    assert check.finding("time-order").advice.startswith("split by user first, as shared-users")
    assert check.finding("shared-users").advice == "ingest with --split-by user"
    (note,) = open_log(path).description["notes"]
    assert "--split-by user keeps all interactions of a user in one part" in note


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
