"""Guards times: every usual form is read, others are counted, and later parts are later."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import open_log
from cltr.logs.problems import parse_actions
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.logs.stored_sessions import read_sessions
from cltr.logs.time_windows import Window
from tests import untidy_logs as untidy
from tests.plain_logs import counted, write_jsonl, write_parquet

MADE = untidy.interactions()
CET = timezone(timedelta(hours=1))


def moment(one, zone=UTC):
    return datetime.fromtimestamp(one.seconds, zone)


FORMS = {
    "seconds": lambda one: one.seconds,
    "milliseconds": lambda one: one.seconds * 1000,
    "microseconds": lambda one: one.seconds * 10**6,
    "nanoseconds": lambda one: one.seconds * 10**9,
    "seconds as text": lambda one: str(one.seconds),
    "fractions": lambda one: one.seconds + 0.25,
    "iso": lambda one: moment(one).isoformat(),
    "iso with another zone": lambda one: moment(one, CET).isoformat(),
    "iso without a zone": lambda one: moment(one).strftime("%Y-%m-%d %H:%M:%S"),
    "iso with Z": lambda one: moment(one).strftime("%Y-%m-%dT%H:%M:%S.123Z"),
    "a comma": lambda one: moment(one).strftime("%Y-%m-%d %H:%M:%S,123"),
    "compact": lambda one: moment(one).strftime("%Y%m%dT%H%M%SZ"),
    "web server": lambda one: moment(one, CET).strftime("%d/%b/%Y:%H:%M:%S %z"),
    "mail": lambda one: moment(one).strftime("%a, %d %b %Y %H:%M:%S GMT"),
    "two clocks": lambda one: one.seconds * (1 if one.number % 2 else 1000),
    "text of two clocks": lambda one: (
        str(one.seconds) if one.number % 2 else moment(one, CET).isoformat()
    ),
}
DAYS = {
    "days": lambda one: moment(one).strftime("%Y-%m-%d"),
    "numbers of days": lambda one: int(moment(one).strftime("%Y%m%d")),
    "text of numbers of days": lambda one: moment(one).strftime("%Y%m%d"),
}


def table(form, **more):
    return untidy.rows(MADE, when=lambda one, rank: form(one), **more)


def ingest(folder, rows, *, on=(), write=write_jsonl, **options):
    name = "log.parquet" if write is write_parquet else "log.jsonl"
    path, out = write(folder / name, rows), folder / "log.h5"
    columns = {"time_column": "when", "context_columns": ("session",)}
    source = LogSource([path], LongReader(**columns))
    chosen = IngestOptions(actions=parse_actions(on), sessions=True, **options)
    return ingest_log(source, out, options=chosen), open_log(out)


def parts(folder, log):
    """Numbers of the interactions of each part."""
    found = {}
    for split in log.statistics:
        names = [
            chunk.context["context_session"] for chunk in read_sessions(folder / "log.h5", split)
        ]
        found[split] = sorted(int(name[1:]) for name in np.concatenate(names))
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("write", [write_jsonl, write_parquet], ids=["json", "parquet"])
def test_every_usual_form_is_read(tmp_path, form, write):
    report, log = ingest(tmp_path, table(FORMS[form]), write=write, split=Split(by="time"))
    assert report["problems"] == []
    found = parts(tmp_path, log)
    assert found == {
        "train": list(range(280)), "valid": list(range(280, 360)), "test": list(range(360, 400))
    }  # fmt: skip
    first, last = log.description["interactions"]["time"]["test"]
    assert int(first) == MADE[360].seconds and int(last) == MADE[399].seconds
    assert counted(log) == untidy.truth(MADE)


@pytest.mark.parametrize("form", DAYS)
def test_days_are_fine_enough(tmp_path, form):
    """Ten days of which the last, the two before it, and the rest are the parts."""
    _, log = ingest(tmp_path, table(DAYS[form]), split=Split(by="time"))
    found = parts(tmp_path, log)
    days = [{moment(MADE[i]).date() for i in found[split]} for split in ("train", "valid", "test")]
    assert max(days[0]) < min(days[1]) <= max(days[1]) < min(days[2])
    assert sum(map(len, found.values())) == 400
    assert log.description["windows"]["test_from"] % 86_400 == 0


def test_three_days_are_three_parts(tmp_path):
    day = {0: "2024-03-01", 1: "2024-03-02", 2: "2024-03-03"}
    rows = table(lambda one: day[min(one.number // 10, 2)])
    _, log = ingest(tmp_path, rows, split=Split(by="time"))
    assert {split: len(found) for split, found in parts(tmp_path, log).items()} == {
        "train": 10, "valid": 10, "test": 380
    }  # fmt: skip


def test_one_day_cannot_be_split(tmp_path):
    with pytest.raises(DataError, match=r"only 1 different time in the log.*another --split-by"):
        ingest(tmp_path, table(lambda one: "2024-03-01"), split=Split(by="time"))


@pytest.mark.parametrize("by", ["time", "interaction"])
def test_times_that_cannot_be_read_are_refused_or_counted(tmp_path, by):
    def wrong(every):
        return table(lambda one: "31.12.24" if one.number % every == 0 else one.seconds)

    line = r"\(80 of 4,000 rows, such as '31.12.24'\); expected ISO 8601 .*--on unreadable-times="
    with pytest.raises(DataError, match=line):
        ingest(tmp_path, wrong(50), split=Split(by=by))
    report, log = ingest(tmp_path, wrong(200), split=Split(by=by))
    assert [(row["problem"], row["count"]) for row in report["problems"]] == [
        ("unreadable-times", 20)
    ]
    if by == "time":
        assert {0, 200} <= set(parts(tmp_path, log)["train"])
    _, log = ingest(tmp_path, wrong(50), split=Split(by=by), on=["unreadable-times=drop"])
    assert sum(map(len, parts(tmp_path, log).values())) == 392


def test_no_time_at_all_is_refused_where_it_is_needed(tmp_path):
    rows = table(lambda one: "noon")
    with pytest.raises(DataError, match="no time can be read; expected ISO 8601"):
        ingest(tmp_path, rows, split=Split(by="time"))
    with pytest.raises(DataError, match="no time can be read; expected ISO 8601"):
        ingest(tmp_path, rows, window=Window("2024-01-01"))


@pytest.mark.parametrize("unit", [1, 1000])
def test_windows_by_the_clock(tmp_path, unit):
    """Day 2 to day 8; validation is day 6, test is day 7."""
    rows = table(lambda one: one.seconds * unit)

    def day(number):
        return datetime.fromtimestamp(untidy.START + number * 86_400, UTC).isoformat()

    split = Split(by="time", valid_from=day(6), test_from=str(untidy.START + 7 * 86_400))
    report, log = ingest(tmp_path, rows, split=split, window=Window(day(2), day(8)))
    assert parts(tmp_path, log) == {
        "train": list(range(80, 240)), "valid": list(range(240, 280)), "test": list(range(280, 320))
    }  # fmt: skip
    kept = [one for one in MADE if 80 <= one.number < 320]
    assert counted(log) == untidy.truth(kept)
    (row,) = report["problems"]
    assert (row["problem"], row["count"], row["of"]) == ("outside-window", 1600, 4000)


def test_a_window_may_stand_alone(tmp_path):
    _, log = ingest(tmp_path, table(FORMS["iso"]), window=Window(stop=str(MADE[100].seconds)))
    assert counted(log) == untidy.truth(MADE[:100])
    with pytest.raises(DataError, match="nothing was logged between --from and --until"):
        ingest(tmp_path, table(FORMS["iso"]), window=Window("2030-01-01"))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"window": Window("yesterday")}, "--from yesterday: is not a time; expected ISO 8601"),
        (
            {"split": Split(by="time", valid_from="2024-01-02", test_from="2024-01-01")},
            "--test-from must be later than --valid-from",
        ),
    ],
)
def test_words_that_are_no_times(tmp_path, options, line):
    with pytest.raises(UsageError, match=line):
        ingest(tmp_path, table(FORMS["iso"]), **options)


def test_windows_need_their_options(tmp_path):
    with pytest.raises(UsageError, match="--valid-from needs --split-by time"):
        Split(valid_from="2024-01-01")
    with pytest.raises(UsageError, match="say where validation begins too"):
        Split(by="time", test_from="2024-01-01")
    path = write_jsonl(tmp_path / "log.jsonl", untidy.tidy(MADE))
    with pytest.raises(UsageError, match="--from and --until need times"):
        ingest_log(
            LogSource([path], LongReader()),
            tmp_path / "log.h5",
            options=IngestOptions(window=Window("2024-01-01")),
        )
