"""Guards logs of events: impressions and clicks are joined by id, in any order and any layout."""

import json

import numpy as np
import pytest

from cltr.errors import DataError
from cltr.logs.event_reader import EventReader
from cltr.logs.ga4_format import Ga4Reader
from cltr.logs.ingest import LogSource, ingest_log
from cltr.logs.log_file import open_log
from cltr.logs.published_formats import UbiReader
from tests import untidy_logs as untidy
from tests.plain_logs import counted, write_jsonl

MADE = untidy.interactions(200, queries=4)


def ingest(folder, reader, *paths):
    out = folder / "log.h5"
    report = ingest_log(LogSource(paths, reader), out)
    return report, open_log(out)


def shuffled(table):
    return [table[i] for i in np.random.default_rng(0).permutation(len(table))]


def events():
    """An event per impression, some twice, and one per click, in no order."""
    shown = [
        {"event": "impression", "session": f"s{one.number}", "query": one.query, "doc": document,
         "position": rank, "ts": one.seconds}
        for one in MADE
        for rank, document, _ in one.ranked
    ]  # fmt: skip
    clicks = [
        {"event": "click", "session": f"s{one.number}", "doc": document, "ts": one.seconds + 9}
        for one in MADE
        for _, document, click in one.ranked
        if click
    ]
    return shown + shown[:50], clicks + clicks[:7]


def test_events_of_one_file_are_joined(tmp_path):
    shown, clicks = events()
    other = [{"event": "scroll", "session": "s1", "y": 3}] * 30
    path = write_jsonl(tmp_path / "events.jsonl", shuffled(shown + clicks + other))
    report, log = ingest(tmp_path, EventReader(), path)
    assert report["problems"] == [] and counted(log) == untidy.truth(MADE)


@pytest.mark.parametrize("order", [1, -1])
def test_events_of_two_files_are_joined(tmp_path, order):
    paths = [
        write_jsonl(tmp_path / f"{name}.jsonl", [{**row, "event": None} for row in table])
        for name, table in zip(("shown", "clicks"), events(), strict=True)
    ]
    reader = EventReader(event_column="none", time_column="ts")
    report, log = ingest(tmp_path, reader, *paths[::order])
    assert report["problems"] == [] and counted(log) == untidy.truth(MADE)


def test_a_click_on_what_was_not_shown_is_counted(tmp_path):
    shown, clicks = events()
    odd = [{"event": "click", "session": "s1", "doc": "elsewhere"}]
    path = write_jsonl(tmp_path / "events.jsonl", shown + clicks + odd)
    report, _ = ingest(tmp_path, EventReader(), path)
    found = {row["problem"]: row["count"] for row in report["problems"]}
    assert found == {"clicks-without-impression": 1}


def test_a_click_belongs_to_its_query(tmp_path):
    """One session asks two queries that show the same document."""
    table = []
    for i in range(60):
        table += [
            {"event": "view", "session": i, "query": query, "doc": document, "position": rank}
            for query in ("tea", "cup")
            for rank, document in enumerate("abc", start=1)
        ]
        table.append({"event": "click", "session": i, "query": "tea", "doc": "a"})
    _, log = ingest(tmp_path, EventReader(), write_jsonl(tmp_path / "e.jsonl", table))
    assert counted(log)[1] == {("tea", "a", 1): 60}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"event": "hover"}, "names no impression and no click; it has 'hover'; say which are"),
        ({"session": None}, "no row of the log can be used"),
    ],
)
def test_events_that_cannot_be_joined(tmp_path, change, line):
    shown, clicks = events()
    path = write_jsonl(tmp_path / "e.jsonl", [row | change for row in shown + clicks])
    with pytest.raises(DataError, match=line):
        ingest(tmp_path, EventReader(), path)


def test_clicks_alone_are_no_events(tmp_path):
    path = write_jsonl(tmp_path / "e.jsonl", [{"session": 1, "doc": "a"}])
    with pytest.raises(DataError, match="there are no events of impressions among the files"):
        ingest(tmp_path, EventReader(), path)


def ubi(folder, *, before=0):
    queries = [
        {"query_id": f"i{one.number}", "user_query": one.query, "client_id": "c",
         "query_response_hit_ids": list(one.documents), "timestamp": one.seconds * 1000}
        for one in MADE
    ]  # fmt: skip
    other = [
        {"action_name": "page_load", "query_id": None, "client_id": f"c{i}",
         "event_attributes": {"browser": {"name": "x"}, "n": i}}
        for i in range(before)
    ]  # fmt: skip
    clicks = [
        {"action_name": "click", "query_id": f"i{one.number}", "user_query": one.query,
         "event_attributes": {"object": {"object_id": document}, "position": {"ordinal": rank}}}
        for one in MADE
        for rank, document, click in one.ranked
        if click
    ]  # fmt: skip
    return (
        write_jsonl(folder / "ubi_queries.jsonl", queries),
        write_jsonl(folder / "ubi_events.jsonl", other + clicks),
    )


@pytest.mark.parametrize("before", [0, 25_000])
def test_ubi_may_begin_with_other_events(tmp_path, before):
    report, log = ingest(tmp_path, UbiReader(), *ubi(tmp_path, before=before))
    assert report["problems"] == [] and counted(log) == untidy.truth(MADE)


def test_ubi_events_of_many_shapes(tmp_path):
    queries, events = ubi(tmp_path)
    odd = [{"action_name": "x", "event_attributes": shape} for shape in ("text", 3, [1], {})]
    with events.open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in odd)
    assert counted(ingest(tmp_path, UbiReader(), queries, events)[1]) == untidy.truth(MADE)


def ga4(*, first=1, terms=True):
    """Views in two batches per list, and selections that do not name the query."""
    table = []
    for one in MADE:
        params = [{"key": "ga_session_id", "value": {"int_value": one.number}}]
        term = [{"key": "search_term", "value": {"string_value": one.query}}]
        same = {"user_pseudo_id": f"u{one.number % 20}", "platform": "WEB"}
        items = [
            {"item_id": document, "item_list_index": str(rank - 1 + first)}
            for rank, document, _ in one.ranked
        ]
        at = one.seconds * 10**6
        for number, batch in enumerate((items[:6], items[4:])):
            view = {"event_name": "view_item_list", "event_timestamp": at + number, **same}
            table.append(view | {"event_params": params + term * terms, "items": batch})
        table.append({"event_name": "page_view", "event_timestamp": at, "event_params": params,
                      "items": [], **same})  # fmt: skip
        for _, document, click in one.ranked:
            if click:
                table.append({"event_name": "select_item", "event_timestamp": at + 5,
                              "event_params": params, "items": [{"item_id": document}],
                              **same})  # fmt: skip
    return table


@pytest.mark.parametrize("kind", ["json", "parquet"])
@pytest.mark.parametrize("first", [0, 1])
def test_ga4_lists_are_put_together(tmp_path, kind, first):
    path = write_jsonl(tmp_path / "ga4.jsonl", shuffled(ga4(first=first)))
    if kind == "parquet":
        import duckdb

        parquet = tmp_path / "ga4.parquet"
        duckdb.execute(f"COPY (SELECT * FROM read_json('{path}', sample_size = -1)) TO '{parquet}'")
        path = parquet
    report, log = ingest(tmp_path, Ga4Reader(positions_from=first), path)
    assert report["problems"] == [] and counted(log) == untidy.truth(MADE)
    if first == 0:
        with pytest.raises(DataError, match="say --positions-from 0"):
            ingest(tmp_path, Ga4Reader(), path)


def test_what_is_no_ga4_export(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", untidy.tidy(MADE))
    with pytest.raises(DataError, match=r"has no column event_name.*not an export of Google"):
        ingest(tmp_path, Ga4Reader(), path)
    path = write_jsonl(tmp_path / "ga4.jsonl", ga4(terms=False))
    with pytest.raises(DataError):
        ingest(tmp_path, Ga4Reader(), path)
