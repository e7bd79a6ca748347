"""Guards logs with one row per interaction: lists, objects and ids."""

import json

import pytest

from cltr.errors import DataError
from cltr.logs.ingest import LogSource, ingest_log
from cltr.logs.list_reader import ListReader
from cltr.logs.log_file import open_log
from cltr.logs.readers import LongReader
from cltr.testing import check_log_reader, tiny_dataset
from tests.logs.reading import read, refusal
from tests.plain_logs import write_jsonl

WAYS = {
    "flags": [{"q": "q", "docs": ["a", "b"], "clicks": [0, 1]}],
    "documents": [{"q": "q", "docs": ["a", "b"], "clicks": ["b"]}],
    "positions": [{"q": "q", "docs": ["a", "b"], "clicks": [2]}],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_lists_are_unrolled(tmp_path, way, kind):
    path = tmp_path / f"log.{kind}"
    table = WAYS[way] * 3
    if kind == "jsonl":
        write_jsonl(path, table)
    else:
        lines = [
            f'{r["q"]},"{" , ".join(r["docs"])}","{json.dumps(r["clicks"])[1:-1]}"' for r in table
        ]
        lines = [line.replace('""', '"').replace('""', '"') for line in lines]
        path.write_text("q,docs,clicks\n" + "\n".join(lines) + "\n")
    reader = ListReader(query_column="q", clicks_are=way)
    counts = {"n_impressions": 6, "n_clicks": 3, "n_interactions": 3}
    check_log_reader(reader, path, **counts, row={"position": 1})
    assert [row["document"] for row in read(reader, path)][:2] == ["a", "b"]


def test_clicks_elsewhere_than_in_the_list(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", [{"q": 1, "docs": ["a"], "clicks": ["b"]}])
    found = read(ListReader(query_column="q", clicks_are="documents"), path)
    assert {"document": "b", "position": None, "click": True}.items() <= found[1].items()
    path = write_jsonl(tmp_path / "log.jsonl", [{"q": 1, "docs": ["a"], "clicks": [0, 1]}])
    reader = ListReader(query_column="q", clicks_are="positions", positions_from=0)
    assert [(r["position"], r["click"]) for r in read(reader, path)] == [(1, True), (None, True)]


def test_lists_that_do_not_fit_have_rows_without_a_value(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", [{"q": 1, "docs": ["a"], "clicks": [0, 1]}])
    found = read(ListReader(query_column="q"), path)
    assert [(row["document"], row["click"]) for row in found] == [("a", 0), (None, 1)]


def test_positions_that_are_no_numbers_are_unknown_clicks(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", [{"q": 1, "docs": ["a", "b"], "clicks": ["x"]}])
    found = read(ListReader(query_column="q", clicks_are="positions"), path)
    assert [row["click"] for row in found] == [None, None]


def test_no_clicks_are_no_clicks(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("q,docs,clicks\n1,a;b,\n")
    reader = ListReader(query_column="q", clicks_are="documents", separator=";")
    assert [row["click"] for row in read(reader, path)] == [False, False]


def test_lists_must_be_lists(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", [{"query": 1, "docs": 7, "clicks": [0]}])
    assert "has type BIGINT; expected lists" in refusal(ListReader(), path)


def lists(folder, first, n=60):
    """A list log whose clicks are positions from ``first``; document ``b`` is clicked, or ``c``."""
    table = [
        {"query": "q", "docs": list("abc"), "clicks": [first + (0 if i % 3 else 1 + i % 2)]}
        for i in range(n)
    ]
    return write_jsonl(folder / "log.jsonl", table)


def rates(path, reader, **more):
    out = path.with_name("log.h5")
    report = ingest_log(LogSource([path], reader), out, **more)
    return [round(60 * rate) for rate in report["click_rate"]]


def test_clicks_of_lists_that_count_from_zero_are_noticed(tmp_path):
    path = lists(tmp_path, 0)
    with pytest.raises(DataError, match="if the first position is 0, say --positions-from 0"):
        rates(path, ListReader(clicks_are="positions"))
    assert rates(path, ListReader(clicks_are="positions", positions_from=0)) == [40, 10, 10]
    path = lists(tmp_path, 1)
    assert rates(path, ListReader(clicks_are="positions")) == [40, 10, 10]


def test_clicks_of_lists_that_count_from_one_are_noticed(tmp_path):
    """Read as if they counted from 0, one is behind the list, or none is on the first document."""
    wrong = ListReader(clicks_are="positions", positions_from=0)
    with pytest.raises(DataError, match=r"documents that were not shown \(10 of 60 clicks"):
        rates(lists(tmp_path, 1), wrong)
    table = [{"query": "q", "docs": list("abcd"), "clicks": [1 + i % 3]} for i in range(60)]
    with pytest.raises(DataError, match=r"60 clicks.*check --positions-from"):
        rates(write_jsonl(tmp_path / "log.jsonl", table), wrong)


OBJECTS = [
    {"query": "q", "results": [
        {"id": f"{d}", "position": 3 - k, "clicked": d == i % 3, "more": {"price": 1}}
        for k, d in enumerate((2, 1, 0))
    ]}
    for i in range(60)
]  # fmt: skip


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_documents_may_be_objects(tmp_path, kind):
    path = write_jsonl(tmp_path / "log.jsonl", OBJECTS)
    if kind == "parquet":
        import duckdb

        parquet = tmp_path / "log.parquet"
        duckdb.execute(f"COPY (SELECT * FROM read_json('{path}')) TO '{parquet}'")
        path = parquet
    found = read(ListReader(), path)
    assert {(row["document"], row["position"]) for row in found} == {("0", 1), ("1", 2), ("2", 3)}
    assert rates(path, ListReader()) == [20, 20, 20]


def test_fields_of_objects_can_be_named(tmp_path):
    table = [
        {"query": "q", "results": [{"sku": d, "doc": 1, "hit": d == "a"} for d in "abc"]}
        for _ in range(60)
    ]
    path = write_jsonl(tmp_path / "log.jsonl", table)
    line = refusal(ListReader(document_field="ski"), path)
    assert "they have sku, doc, hit; name it with -o document-field=NAME" in line
    reader = ListReader(document_field="sku", click_field="hit")
    assert rates(path, reader) == [60, 0, 0]
    table = [row | {"clicks": ["a", "b"]} for row in table]
    path = write_jsonl(tmp_path / "log.jsonl", table)
    assert rates(path, ListReader(document_field="sku", clicks_are="documents")) == [60, 60, 0]


STRANGE = [
    "AB0E8400-E29B-41D4-A716-446655440000",
    "10:00",
    "2024-01-31",
    "007",
    "1.50",
    "TRUE",
    "Ä",
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("layout", ["long", "list"])
def test_ids_stay_what_they_are_in_every_format(tmp_path, kind, layout):
    """And a log and a file of scores in different formats fit together."""
    import duckdb

    if layout == "long":
        table = [
            {"session": f"{s}:00", "query": "11:30", "position": k, "doc": one, "click": k == 1}
            for s in range(60)
            for k, one in enumerate(STRANGE, start=1)
        ]
        reader = LongReader()
    else:
        table = [{"query": "11:30", "docs": STRANGE, "clicks": [1] + [0] * 6} for _ in range(60)]
        reader = ListReader()
    path = write_jsonl(tmp_path / "log.jsonl", table)
    if kind == "parquet" or (kind == "csv" and layout == "long"):
        kinds = {"docs": "VARCHAR[]", "clicks": "INT[]"} if layout == "list" else {
            "session": "VARCHAR", "position": "INT", "doc": "VARCHAR", "click": "VARCHAR"
        }  # fmt: skip
        columns = {"query": "VARCHAR"} | kinds
        path = tmp_path / f"log.{kind}"
        rows_of = f"SELECT * FROM read_json('{tmp_path}/log.jsonl', columns = {columns})"
        duckdb.execute(f"COPY ({rows_of}) TO '{path}'")
    scores = tmp_path / "scores.csv"
    scores.write_text(
        "query,document,score\n" + "".join(f"11:30,{one},{k}\n" for k, one in enumerate(STRANGE))
    )
    out = tmp_path / "log.h5"
    ingest_log(LogSource([path], reader, production=scores), out)
    log = open_log(out)
    assert set(log.lists.document_ids.tolist()) == set(STRANGE)
    assert log.lists.query_ids.tolist() == ["11:30"]
    assert dict(zip(log.lists.document_ids.tolist(), log.scores, strict=True)) == {
        one: k for k, one in enumerate(STRANGE)
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (str.upper, "upper and lower case differ"),
        (lambda one: f"{one}.0", "one has '.0' behind its numbers"),
        (lambda one: f"00{one}", "one has zeros before its numbers"),
        (lambda one: f" {one} ", "one has spaces around"),
    ],
)
def test_ids_that_do_not_fit_a_data_set_say_why(tmp_path, change, reason):
    data = tiny_dataset()
    query, documents = str(data.query_ids[0]), data.document_ids[: data.offsets[1]]
    table = [
        {"session": s, "query": change(query), "position": k, "doc": change(str(one)), "click": 0}
        for s in range(30)
        for k, one in enumerate(documents, start=1)
    ]
    path = write_jsonl(tmp_path / "log.jsonl", table)
    with pytest.raises(DataError, match=f"; {reason}: else {len(documents)} documents would match"):
        ingest_log(LogSource([path], LongReader()), tmp_path / "log.h5", dataset=data)
