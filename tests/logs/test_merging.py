"""Guards merging: days that are ingested apart and merged are those that are ingested together."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import LogFile, open_log, write_log
from cltr.logs.merging import merge_files, merge_logs
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.logs.stored_sessions import read_sessions
from cltr.logs.time_windows import Window
from cltr.testing import tiny_dataset
from cltr.types import LOG_PARTS
from tests import untidy_logs as untidy
from tests.counting import count_log
from tests.plain_logs import counted, rows, write_csv, write_jsonl

MONDAY = rows(*([(("a", "b", "c"), ("a",)), (("b", "a"), ())] * 20))
TUESDAY = [
    row | {"session": f"t{row['session']}"}
    for row in rows(*([(("x", "b", "c", "a"), ("b",))] * 60), query="p")
    + rows(*([(("z", "b"), ("z",))] * 60))
]


@pytest.fixture
def ingest(tmp_path):
    """Ingest a table under a name; the path of the log."""

    def run(name, table, **columns):
        path = write_jsonl(tmp_path / f"{name}.jsonl", table)
        out = tmp_path / f"{name}.h5"
        ingest_log(LogSource([path], LongReader(**columns)), out)
        return out

    return run


def assert_same(found, expected):
    assert found.lists.query_ids.tolist() == expected.lists.query_ids.tolist()
    assert found.lists.document_ids.tolist() == expected.lists.document_ids.tolist()
    for split, part in expected.statistics.items():
        for name in ("impressions", "clicks", "displays", "offsets"):
            np.testing.assert_array_equal(
                getattr(found.statistics[split], name), getattr(part, name)
            )


def test_merged_days_are_those_ingested_together(ingest, tmp_path):
    days = [ingest("monday", MONDAY), ingest("tuesday", TUESDAY)]
    report = merge_files(days, tmp_path / "days.h5")
    merged = open_log(tmp_path / "days.h5")
    whole = open_log(ingest("both", MONDAY + TUESDAY))
    assert_same(merged, whole)
    assert counted(merged) == counted(whole)
    for key in ("top_k", "single_impressions", "n_interactions", "problems", "split"):
        assert merged.description[key] == whole.description[key]
    # Lists that were shorter than four are short only once it is known that four were shown.
    for key in ("lengths", "clicks"):
        assert merged.description["interactions"][key] == whole.description["interactions"][key]
    assert report["files"] == ["monday.jsonl", "tuesday.jsonl"]
    assert report["queries"] == 2


def test_propensities_are_mixed_by_traffic(ingest, tmp_path):
    """Query q: 40 displays on Monday and 60 on Tuesday, on which a and c were never shown."""
    chances = {"propensity_column": "p"}
    monday = [row | {"p": 0.5} for row in MONDAY]
    tuesday = [row | {"p": 0.2} for row in TUESDAY]
    days = [ingest("monday", monday, **chances), ingest("tuesday", tuesday, **chances)]
    merge_files(days, tmp_path / "days.h5")
    merged = open_log(tmp_path / "days.h5")
    found = dict(
        zip(merged.lists.document_ids[-4:].tolist(), merged.propensities[-4:], strict=True)
    )
    np.testing.assert_allclose(found["a"], [0.4 * 0.5, 0.4 * 0.5, 0, 0])
    np.testing.assert_allclose(found["b"], [0.4 * 0.5, 0.4 * 0.5 + 0.6 * 0.2, 0, 0])
    np.testing.assert_allclose(found["z"], [0.6 * 0.2, 0, 0, 0])
    half = merge_logs([open_log(days[0]), open_log(ingest("plain", TUESDAY))])
    assert half.propensities is None


def test_scores_are_kept_if_the_days_agree(ingest):
    def scored(table, shift=0.0):
        return [row | {"points": ord(row["doc"]) + shift} for row in table]

    column = {"score_column": "points"}
    monday = open_log(ingest("monday", scored(MONDAY), **column))
    merged = merge_logs([monday, open_log(ingest("tuesday", scored(TUESDAY), **column))])
    assert merged.scores.tolist() == [float(ord(one)) for one in merged.lists.document_ids]
    assert merged.description["problems"] == []
    changed = merge_logs([monday, open_log(ingest("later", scored(TUESDAY, 1.0), **column))])
    assert changed.scores is None
    assert changed.description["problems"][0]["count"] == 1  # b of query q, on both days


def test_problems_and_times_add_up(ingest):
    gap = [row for row in MONDAY if not (row["session"] == "s2" and row["position"] == 2)]
    timed = [
        open_log(
            ingest(
                name,
                [r | {"when": day, "session": name + r["session"]} for r in table],
                time_column="when",
            )
        )
        for day, name, table in ((5, "a", gap), (9, "b", TUESDAY), (2, "e", gap))
    ]
    merged = merge_logs(timed).description
    assert [(row["problem"], row["count"]) for row in merged["problems"]] == [("gaps", 2)]
    assert merged["interactions"]["time"] == {part: [2, 9] for part in LOG_PARTS}


def test_logs_on_one_data_set_are_added(tmp_path):
    data = tiny_dataset()
    part = data.part("train")
    first, last = part.offsets[:2]
    ids = part.document_ids[first:last]
    table = rows(*([(list(ids), (ids[0],))] * 30), query=str(part.query_ids[0]))
    valid = data.part("valid")
    table += [
        row | {"session": f"v{row['session']}"}
        for row in rows(((valid.document_ids[0],), ()), query=str(valid.query_ids[0]))
    ]
    log = tmp_path / "log.h5"
    source = LogSource([write_csv(tmp_path / "log.csv", table)], LongReader(), data="shop.h5")
    ingest_log(source, log, dataset=data)
    one = open_log(log, data)
    merged = merge_logs([replace(one, digests=None), one])
    assert merged.description["data"] == "shop.h5"
    assert merged.description["notes"][-1] == UNKNOWN
    for split, counts in one.statistics.items():
        np.testing.assert_array_equal(
            merged.statistics[split].impressions, (counts + counts).impressions
        )
    assert merged.fingerprint == data.fingerprint and merged.lists is None
    other = replace(one, fingerprint="another")
    with pytest.raises(DataError, match="log 1 and log 2: were ingested with different data sets"):
        merge_logs([one, other])


UNKNOWN = "it is not known whether these logs share interactions"


def plain_part(log, part):
    """Impressions, clicks and displays of one part, by the names of queries and documents."""
    return counted(replace(log, statistics={part: log.statistics[part]}))


def test_test_parts_are_added(ingest):
    monday, tuesday = open_log(ingest("monday", MONDAY)), open_log(ingest("tuesday", TUESDAY))
    merged = merge_logs([monday, tuesday])
    assert list(merged.statistics) == list(LOG_PARTS) and merged.description["notes"] == []
    assert merged.lists.splits["test"] == merged.lists.splits["train"]
    for part in LOG_PARTS:
        days = zip(plain_part(monday, part), plain_part(tuesday, part), strict=True)
        assert plain_part(merged, part) == tuple(one + other for one, other in days)


def test_a_log_without_a_test_part_adds_none_and_is_named(ingest, tmp_path):
    days = [ingest("monday", MONDAY), ingest("tuesday", TUESDAY)]
    old = open_log(days[0])
    whole = old.lists.n_queries
    lists = replace(old.lists, splits={**old.lists.splits, "test": (whole, whole)})
    parts = {part: old.statistics[part] for part in ("train", "valid")}
    write_log(days[0], replace(old, statistics=parts, lists=lists))
    report = merge_files(days, tmp_path / "days.h5")
    merged = open_log(tmp_path / "days.h5")
    assert plain_part(merged, "test") == plain_part(open_log(days[1]), "test")
    assert report["notes"] == [f"the test part leaves out logs that have none: {days[0]}"]
    neither = merge_logs([replace(open_log(days[0]), digests=None)] * 2)
    assert list(neither.statistics) == ["train", "valid"]
    assert neither.lists.splits["test"] == (whole, whole)
    assert neither.description["notes"] == [
        "the log has no test part: none of the merged logs has one",
        UNKNOWN,
    ]


@pytest.mark.parametrize("first", [True, False])
def test_test_parts_on_one_data_set_are_added(tmp_path, first):
    data, log = tiny_dataset(), tmp_path / "log.h5"
    table = []
    for query, name in enumerate(data.query_ids.tolist()):
        ids = data.document_ids[data.offsets[query] : data.offsets[query + 1]].tolist()
        table += [
            row | {"session": f"{name} {row['session']}"}
            for row in rows((ids[:4], ids[:1]), query=str(name))
        ]
    ingest_log(LogSource([write_csv(tmp_path / "log.csv", table)], LongReader()), log, dataset=data)
    one = replace(open_log(log, data), digests=None)
    none = replace(one, statistics={part: one.statistics[part] for part in ("train", "valid")})
    merged = merge_logs([one, none] if first else [none, one])
    np.testing.assert_array_equal(merged.statistics["test"].clicks, one.statistics["test"].clicks)
    np.testing.assert_array_equal(
        merged.statistics["train"].clicks, 2 * one.statistics["train"].clicks
    )
    name = "log 2" if first else "log 1"
    assert merged.description["notes"][0].endswith(f"that have none: {name}")


def test_what_cannot_be_merged_is_one_line(ingest, tmp_path):
    monday = ingest("monday", MONDAY)
    with pytest.raises(UsageError, match="named twice; its clicks would count twice"):
        merge_files([monday, tmp_path / "." / "monday.h5"], tmp_path / "days.h5")
    with pytest.raises(UsageError, match="is also an input; choose another file"):
        merge_files([monday, ingest("tuesday", TUESDAY)], monday)
    log = open_log(monday)
    with pytest.raises(DataError, match=r"was ingested with --data and .* without; ingest both"):
        merge_logs([log, replace(log, lists=None)])
    with pytest.raises(DataError, match="log 1: is simulated"):
        merge_logs([LogFile(log.statistics, None), log])


# Days that overlap, and days in order.

WEEK = untidy.interactions(700)


def day(number, made=WEEK, size=100):
    """Rows of one day, with their times."""
    part = made[size * number : size * (number + 1)]
    return untidy.rows(part, time=lambda one, rank: one.seconds)


def made_of(folder, name, table, *, split=None, sessions=False):
    path, out = write_jsonl(folder / f"{name}.jsonl", table), folder / f"{name}.h5"
    columns = {"time_column": "time", "context_columns": ("session",)}
    options = IngestOptions(split=split or Split(), sessions=sessions)
    ingest_log(LogSource([path], LongReader(**columns)), out, options=options)
    return out


def test_days_that_share_interactions_are_refused(tmp_path):
    first = made_of(tmp_path, "first", day(0) + day(1))
    second = made_of(tmp_path, "second", day(1) + day(2))
    line = r"several of the merged logs hold.*\(100 of 200 interactions, such as those of "
    with pytest.raises(DataError, match=line):
        merge_files([first, second], tmp_path / "both.h5")
    assert not (tmp_path / "both.h5").exists()
    third = made_of(tmp_path, "third", day(3))
    merge_files([first, third], tmp_path / "days.h5")
    with pytest.raises(DataError, match="several of the merged logs hold"):  # digests are kept
        merge_files([tmp_path / "days.h5", second], tmp_path / "both.h5")
    actions = {"shared-interactions": "keep"}
    report = merge_files([first, second], tmp_path / "both.h5", actions=actions)
    assert sum(report["n_interactions"].values()) == 400
    assert [row["problem"] for row in report["problems"]] == ["shared-interactions"]


def test_digests_stay_small_and_still_tell(tmp_path, monkeypatch):
    monkeypatch.setattr("cltr.logs.digests.MOST_DIGESTS", 40)
    first = made_of(tmp_path, "first", day(0) + day(1))
    second = made_of(tmp_path, "second", day(1) + day(2))
    assert len(open_log(first).digests) == 40
    with pytest.raises(DataError, match="several of the merged logs hold"):
        merge_files([first, second], tmp_path / "both.h5")
    merge_files([first, made_of(tmp_path, "third", day(3))], tmp_path / "days.h5")
    assert len(open_log(tmp_path / "days.h5").digests) == 40


def test_interactions_survive(tmp_path):
    days = [made_of(tmp_path, f"{i}", day(i), sessions=True) for i in range(2)]
    report = merge_files(days, tmp_path / "days.h5")
    merged = open_log(tmp_path / "days.h5")
    assert report["sessions"] and counted(merged) == untidy.truth(WEEK[:200])
    seen = []
    for split, part in merged.statistics.items():
        chunks = list(read_sessions(tmp_path / "days.h5", split))
        again = count_log(chunks, merged.lists.offsets)
        for name in ("impressions", "clicks", "displays"):
            np.testing.assert_array_equal(getattr(again, name), getattr(part, name))
        seen += [one for chunk in chunks for one in chunk.context["context_session"].tolist()]
    assert sorted(seen) == sorted(f"s{i}" for i in range(200))
    mixed = merge_files([days[0], made_of(tmp_path, "plain", day(3))], tmp_path / "mixed.h5")
    assert not mixed["sessions"]


@pytest.mark.parametrize("sessions", [False, True])
def test_merged_days_hold_out_the_future(tmp_path, sessions):
    """Five days, each split by time: the last day is for testing, the one before for validation."""
    split = Split(by="time")
    days = [
        made_of(tmp_path, f"{i}", day(i), split=split, sessions=sessions) for i in (3, 0, 4, 1, 2)
    ]
    merge_files(days, tmp_path / "days.h5")
    merged = open_log(tmp_path / "days.h5")
    times = merged.description["interactions"]["time"]
    assert times["train"][1] < times["valid"][0] <= times["valid"][1] < times["test"][0]
    assert times["test"][1] == WEEK[499].seconds
    n = {part: counts.n_interactions for part, counts in merged.statistics.items()}
    assert sum(n.values()) == 500 and 300 <= n["train"] <= 400 and n["test"] >= 20
    for part, (first, last) in times.items():
        inside = [one for one in WEEK[:500] if first <= one.seconds <= last]
        assert plain_part(merged, part) == untidy.truth(inside)
    more = [tmp_path / "days.h5", made_of(tmp_path, "5", day(5), split=split, sessions=sessions)]
    merge_files(more, tmp_path / "more.h5")
    assert open_log(tmp_path / "more.h5").description["interactions"]["time"]["test"][1] == (
        WEEK[599].seconds
    )


def test_windows_are_dropped_between_parts(tmp_path):
    split = Split(by="time")
    days = [made_of(tmp_path, f"{i}", day(i), split=split) for i in range(4)]
    window = Window(str(WEEK[100].seconds))
    merge_files(days, tmp_path / "days.h5", window=window)
    assert counted(open_log(tmp_path / "days.h5")) == untidy.truth(WEEK[100:400])
    with pytest.raises(DataError, match="part lies on both sides of the window"):
        merge_files(days, tmp_path / "cut.h5", window=Window(str(WEEK[110].seconds)))
    with pytest.raises(DataError, match="nothing was logged between"):
        merge_files(days, tmp_path / "cut.h5", window=Window("2030-01-01"))


def test_times_that_overlap_are_refused(tmp_path):
    split = Split(by="time")
    odd, even = ([one for one in WEEK if one.number % 2 == rest] for rest in (0, 1))
    days = [
        made_of(tmp_path, name, day(0, made, 350), split=split)
        for name, made in (("odd", odd), ("even", even))
    ]
    with pytest.raises(DataError, match="split by time at different times, and their times overl"):
        merge_files(days, tmp_path / "days.h5")
    same = Split(by="time", valid_from=str(WEEK[500].seconds), test_from=str(WEEK[600].seconds))
    days = [
        made_of(tmp_path, name, day(0, made, 350), split=same)
        for name, made in (("odd", odd), ("even", even))
    ]
    merge_files(days, tmp_path / "days.h5")
    assert plain_part(open_log(tmp_path / "days.h5"), "test") == untidy.truth(WEEK[600:])
