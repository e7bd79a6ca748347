"""Guards logs that contradict themselves: right counts with the right option, else a refusal."""

from collections import Counter
from pathlib import Path

import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.in_memory import read_log
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import open_log
from cltr.logs.problems import parse_actions
from cltr.logs.readers import LongReader
from tests import untidy_logs as untidy
from tests.plain_logs import counted, write_jsonl

RANDOM, FIXED = untidy.interactions(), untidy.interactions(fixed=True)


def ingest(folder: Path, table, *, on=(), **columns):
    """The report and the log."""
    out, path = folder / "log.h5", write_jsonl(folder / "log.jsonl", table)
    source = LogSource([path], LongReader(**columns))
    report = ingest_log(source, out, options=IngestOptions(actions=parse_actions(on)))
    return report, open_log(out)


def refusal(folder, table, **more):
    """The one line that refuses a log; nothing is written."""
    with pytest.raises(DataError) as caught:
        ingest(folder, table, **more)
    assert "\n" not in str(caught.value) and not (folder / "log.h5").exists()
    return str(caught.value)


def problems(report):
    return {row["problem"]: (row["count"], row["of"]) for row in report["problems"]}


@pytest.mark.parametrize("made", [RANDOM, FIXED], ids=["random", "fixed"])
@pytest.mark.parametrize("order", [1, -1], ids=["in order", "backwards"])
def test_pages_are_found_and_counted(tmp_path, made, order):
    table = untidy.paged(made)[::order]
    line = refusal(tmp_path, table)
    assert "two documents at one position" in line and "(400 of 400 interactions" in line
    assert "positions seem to restart on each page" in line
    assert line.endswith("say --page-column page")  # dropping would leave nothing
    report, log = ingest(tmp_path, table, page_column="page")
    assert report["problems"] == [] and counted(log) == untidy.truth(made)


def test_pages_are_found_whatever_they_are_called(tmp_path):
    assert "say --page-column n" in refusal(tmp_path, untidy.paged(RANDOM, name="n"))
    table = untidy.paged(RANDOM, first=0)
    assert counted(ingest(tmp_path, table, page_column="page")[1]) == untidy.truth(RANDOM)


def test_short_and_skipped_pages_do_no_harm(tmp_path):
    """The last page is short, and half of the interactions skip the second one."""
    table = [row for row in untidy.paged(RANDOM) if int(row["session"][1:]) % 2 or row["page"] != 2]
    report, log = ingest(tmp_path, table, page_column="page")
    expected = Counter()
    for one in RANDOM:
        for rank, document, _ in one.ranked:
            expected[one.query, document, rank] += one.number % 2 or not 5 <= rank <= 8
    assert counted(log)[0] == Counter({key: n for key, n in expected.items() if n})
    assert problems(report) == {"gaps": (200, None)}


def test_a_page_that_stands_alone_is_as_long_as_pages_usually_are(tmp_path):
    """Each page has a session of its own, as if it were requested by itself."""
    table = [
        row | {"session": f"{row['session']}/{row['page']}"} for row in untidy.paged(RANDOM, size=5)
    ]
    _, log = ingest(tmp_path, table, page_column="page")
    assert counted(log)[0] == untidy.truth(RANDOM)[0]


@pytest.mark.parametrize(
    ("pages", "line"),
    [
        (lambda page: 10 * (page - 1), "column 'page' has the values 0, 10, 20: these seem to be"),
        (lambda page: page + 1, "column 'page' has the values 2, 3, 4: the first is missing"),
        (lambda page: f"p{page}", "column 'page' has values that are no whole number; expected"),
        (lambda page: None, "column 'page' is empty; expected whole numbers"),
    ],
)
def test_pages_that_are_no_numbers_of_pages(tmp_path, pages, line):
    table = [row | {"page": pages(row["page"])} for row in untidy.paged(RANDOM)]
    assert line in refusal(tmp_path, table, page_column="page")


@pytest.mark.parametrize("first", [0, 1])
def test_a_grid_is_found_and_counted(tmp_path, first):
    table = untidy.in_a_grid(RANDOM, first=first)
    line = refusal(tmp_path, table, position_column="col", positions_from=first)
    assert "the results seem to form a grid" in line and "say --grid-columns row,col" in line
    report, log = ingest(tmp_path, table, grid_columns="row, col")
    assert report["problems"] == [] and counted(log) == untidy.truth(RANDOM)


def test_grid_columns_are_two(tmp_path):
    for columns in ({"grid_columns": "row"}, {"grid_columns": "row,col", "page_column": "page"}):
        with pytest.raises(UsageError, match="expected two columns, as row,col"):
            ingest(tmp_path, untidy.in_a_grid(RANDOM), **columns)


@pytest.mark.parametrize("made", [RANDOM, FIXED], ids=["random", "fixed"])
@pytest.mark.parametrize("name", ["day", "x7"])
def test_session_ids_that_come_again_are_found(tmp_path, made, name):
    table = untidy.restarted(made, name=name)
    line = refusal(tmp_path, table)
    assert "session ids seem to come again" in line
    assert f"say --session-column session --session-column {name}" in line
    report, log = ingest(tmp_path, table, session_column=("session", name))
    assert report["problems"] == [] and counted(log) == untidy.truth(made)


@pytest.mark.parametrize(
    ("make", "column", "line"),
    [
        (untidy.paged, "page", "positions may restart on each page (--page-column), or"),
        (untidy.restarted, "day", "session ids may come again, for example each day"),
    ],
)
def test_without_a_column_that_tells_it_says_what_to_look_for(tmp_path, make, column, line):
    table = [{k: v for k, v in row.items() if k != column} for row in make(RANDOM)]
    assert line in refusal(tmp_path, table)


def test_events_are_no_impressions(tmp_path):
    line = refusal(tmp_path, untidy.as_events_in_rows(RANDOM))
    assert "both clicked and not clicked" in line and "see --format events" in line


def test_rows_that_repeat_count_once_if_they_are_few(tmp_path):
    """Few are delivered twice; or their times say that they are the same."""
    report, log = ingest(tmp_path, untidy.delivered_twice(RANDOM, share=0.01))
    assert problems(report) == {"repeated-rows": (40, 4040)}
    assert counted(log) == untidy.truth(RANDOM)
    table = untidy.delivered_twice(RANDOM)
    assert "rows that repeat another row" in refusal_without_file(tmp_path, table)
    _, log = ingest(tmp_path, table, on=["repeated-rows=drop"])
    assert counted(log) == untidy.truth(RANDOM)
    table = untidy.delivered_twice(RANDOM, time=True)
    report, log = ingest(tmp_path, table, time_column="time")
    assert problems(report)["repeated-rows"][0] == 2000
    assert counted(log) == untidy.truth(RANDOM)


def refusal_without_file(folder, table):
    (folder / "log.h5").unlink()
    return refusal(folder, table)


def test_conflicts_are_left_out_whole_and_without_a_look_at_clicks(tmp_path):
    """Three of 400 interactions have another document at rank 2; clicks are turned round."""
    for turned in (0, 1):
        table = untidy.tidy(RANDOM)
        odd = [dict(row) for row in table if row["session"] in ("s1", "s2", "s3")]
        odd = [row | {"doc": "other", "click": turned} for row in odd if row["position"] == 2]
        report, log = ingest(tmp_path, table + odd)
        assert problems(report) == {"conflicts": (3, 400)}
        kept = [one for one in RANDOM if one.number not in (1, 2, 3)]
        assert counted(log) == untidy.truth(kept)


def test_one_percent_is_the_limit(tmp_path):
    table = untidy.tidy(RANDOM)
    odd = [row | {"doc": "other"} for row in table if row["position"] == 2]
    report, _ = ingest(tmp_path, table + odd[:4])
    assert problems(report) == {"conflicts": (4, 400)}
    (tmp_path / "log.h5").unlink()
    assert "(5 of 400 interactions" in refusal(tmp_path, table + odd[:5])


def test_frames_are_explained_too():
    columns = {}
    for row in untidy.paged(RANDOM):
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    import pyarrow

    with pytest.raises(DataError, match="say --page-column page"):
        read_log(pyarrow.table(columns))


def test_clicks_alone_are_no_log(tmp_path):
    line = refusal(tmp_path, untidy.only_clicks(RANDOM))
    assert "documents that were shown and not clicked are missing" in line
    report, _ = ingest(tmp_path, untidy.only_clicks(RANDOM), on=["only-clicks=keep"])
    assert report["click_rate"][0] == 1.0


def test_empty_clicks_are_explained(tmp_path):
    table = untidy.null_clicks(RANDOM)
    line = refusal(tmp_path, table)
    assert line.endswith("empty clicks seem to mean no click: say --on unknown-clicks=keep")
    assert "documents that were shown and not clicked are missing" in refusal(
        tmp_path, table, on=["unknown-clicks=drop"]
    )
    _, log = ingest(tmp_path, table, on=["unknown-clicks=keep"])
    assert counted(log) == untidy.truth(RANDOM)


@pytest.mark.parametrize("ranks", [65, 300, 1000])
def test_long_lists_are_counted(tmp_path, ranks):
    made = untidy.interactions(30, ranks=ranks, queries=2)
    report, log = ingest(tmp_path, untidy.tidy(made)[::-1])
    assert report["problems"] == [] and report["top_k"] == ranks
    assert counted(log) == untidy.truth(made)


def test_long_lists_may_have_gaps(tmp_path):
    made = untidy.interactions(30, ranks=200, queries=2)
    table = [row for row in untidy.tidy(made) if (row["session"], row["position"]) != ("s0", 100)]
    assert problems(ingest(tmp_path, table)[0]) == {"gaps": (1, None)}
