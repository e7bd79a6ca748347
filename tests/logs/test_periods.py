"""Guards what a log tells of time: counts by period, and lists that repeat the next time."""

import json

import pytest

from cltr.logs.ingest import LogSource, ingest_log
from cltr.logs.log_file import open_log
from cltr.logs.periods import PERIODS
from cltr.logs.readers import LongReader


def noted(tmp_path, rows):
    """What ingestion notes of interactions; rows are time, query, documents and clicks."""
    with open(tmp_path / "log.jsonl", "w") as stream:
        for number, (time, query, documents, clicks) in enumerate(rows):
            for rank, document in enumerate(documents, start=1):
                row = {"session": number, "query": query, "position": rank, "doc": document}
                row |= {"click": int(document in clicks), "time": time}
                stream.write(json.dumps(row) + "\n")
    reader = LongReader(time_column="time")
    ingest_log(LogSource([tmp_path / "log.jsonl"], reader), tmp_path / "log.h5")
    return open_log(tmp_path / "log.h5").description["interactions"]


def test_periods_hold_all_rows_in_order(tmp_path):
    rows = [(i, "q", "ab", "a" if i < 50 else "b") for i in range(100)]
    found = noted(tmp_path, rows[::-1])["periods"]
    assert len(found) == PERIODS
    assert [period["from"] for period in found] == [10.0 * i for i in range(10)]
    assert [period["until"] for period in found] == [10.0 * i + 9 for i in range(10)]
    assert all(period["impressions"] == [10, 10] for period in found)
    assert [period["clicks"] for period in found] == [[10, 0]] * 5 + [[0, 10]] * 5


def test_merged_logs_keep_their_periods_in_order(tmp_path):
    from cltr.logs.merging import merge_files

    paths = []
    for start, top in ((100, "ab"), (0, "abc")):
        folder = tmp_path / str(start)
        folder.mkdir()
        noted(folder, [(start + i, "q", top, "a") for i in range(20)])
        paths.append(folder / "log.h5")
    actions = {"shared-interactions": "keep"}  # sessions have the same ids
    merge_files(paths, tmp_path / "all.h5", actions=actions)
    found = open_log(tmp_path / "all.h5").description["interactions"]["periods"]
    assert [period["from"] for period in found] == sorted(period["from"] for period in found)
    assert found[0]["impressions"] == [2, 2, 2] and found[-1]["impressions"] == [2, 2]


def test_coarse_times_give_fewer_periods(tmp_path):
    rows = [(day, "q", "ab", "a") for day in (1, 2, 3) for _ in range(40)]
    found = noted(tmp_path, rows)["periods"]
    assert [(one["from"], one["impressions"]) for one in found] == [
        (1.0, [40, 40]), (2.0, [40, 40]), (3.0, [40, 40])
    ]  # fmt: skip


def test_one_time_is_one_period(tmp_path):
    assert noted(tmp_path, [(5, "q", "ab", "a")] * 40)["periods"] == []


def test_lists_that_change_once_repeat_all_other_times(tmp_path):
    """Of 39 steps from request to request, one changes the list, at both ranks."""
    rows = [(i, "q", "ab" if i < 20 else "ba", "a") for i in range(40)]
    assert noted(tmp_path, rows)["repeats"] == {"next": pytest.approx(38 / 39), "pairs": 78}


def test_lists_that_alternate_never_repeat(tmp_path):
    rows = [(i, "q", "ab" if i % 2 else "ba", "a") for i in range(40)]
    assert noted(tmp_path, rows)["repeats"]["next"] == 0.0


@pytest.mark.parametrize("queries", [1, 300])
def test_a_part_of_a_large_log_tells_the_same(tmp_path, monkeypatch, queries):
    """Whether few queries are large or there are many, a part is looked at, not nothing."""
    monkeypatch.setattr("cltr.logs.periods.ROWS_LOOKED_AT", 400)
    monkeypatch.setattr("cltr.logs.periods.QUERIES_LOOKED_AT", 10)
    rows = [(i, f"q{i % queries}", "ab" if i < 2000 else "ba", "a") for i in range(3000)]
    found = noted(tmp_path, rows)["repeats"]
    assert 100 < found["pairs"] < 800
    assert found["next"] > 0.8


def test_queries_do_not_mix(tmp_path):
    rows = [(i, f"q{i % 2}", "ab" if i % 2 else "ba", "a") for i in range(40)]
    assert noted(tmp_path, rows)["repeats"] == {"next": 1.0, "pairs": 2 * 2 * 19}


def test_queries_that_came_once_repeat_nothing(tmp_path):
    assert noted(tmp_path, [(i, f"q{i}", "ab", "a") for i in range(40)])["repeats"] == {}
