"""Guards how logs are read: columns found or named, lists unrolled, known layouts understood."""

import json

import pytest

from cltr.errors import DataError, OptionError, UsageError
from cltr.files.table_files import columns_of, select_files, text, workspace
from cltr.logs.ingest import LogSource, ingest_log
from cltr.logs.list_reader import ListReader
from cltr.logs.log_file import open_log
from cltr.logs.published_formats import OpenBanditReader, UbiReader
from cltr.logs.readers import LongReader
from cltr.logs.sql_expressions import click_state, seconds, whole_number
from cltr.testing import check_log_reader, tiny_dataset
from tests.plain_logs import rows, write_csv, write_jsonl

LOG = rows((("a", "b"), ("b",)), (("b", "a"), ()))


def read(reader, *paths):
    """The rows that a reader gives, as dictionaries."""
    with workspace() as connection:
        query = reader.select(connection, paths)
        names = list(columns_of(connection, query))
        return [dict(zip(names, row, strict=True)) for row in connection.execute(query).fetchall()]


def refusal(reader, *paths):
    with pytest.raises((DataError, UsageError)) as caught:
        read(reader, *paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# One row per impression.


def test_columns_with_common_names_are_found(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("search_id,QID,url,Rank,clicked\n1,q,a,1,0\n")
    assert read(LongReader(), path) == [
        {"query": "q", "document": "a", "position": 1, "click": "0", "session": "1"}
    ]


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('s,"the ""query""",d,p,c,x,when\n1,q,a,0,1,0.5,2020\n')
    reader = LongReader(
        session_column="s",
        query_column='the "query"',
        document_column="d",
        position_column="p",
        click_column="c",
        score_column="x",
        time_column="when",
        context_columns=["d"],
        positions_from=0,
    )
    (row,) = read(reader, path)
    assert row["position"] == 1 and row["score"] == "0.5" and row["time"] == "2020"
    assert row["d"] == "a"


def test_what_columns_are_missing_is_said(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("session,query,doc,document,position,click\n")
    assert "which column is the document? doc and document could be it" in refusal(
        LongReader(), path
    )
    path.write_text("query,doc,position,click\n")
    line = refusal(LongReader(), path)
    assert line.endswith("name it with --session-column, or say --session-column none")
    named = LongReader(session_column="none", query_column="qery")
    assert "has no column 'qery' (--query-column)" in refusal(named, path)
    assert "Did you mean 'query'?" in refusal(named, path)
    path.write_text("session,query,doc,position\n")
    assert (
        "which column is the click? no column has a name that cltr knows (click, clicked"
        in refusal(LongReader(), path)
    )


def test_single_impressions_have_no_sessions(tmp_path):
    path = write_csv(tmp_path / "log.csv", LOG)
    reader, row = LongReader(session_column="none"), {"document": "b", "position": 2, "click": True}
    check_log_reader(reader, path, n_impressions=4, n_clicks=1, row=row)


def test_options_are_checked():
    with pytest.raises(OptionError, match=r"no option 'long\.colour'"):
        LongReader(colour="red")
    with pytest.raises(OptionError, match=r"long\.positions_from is 2"):
        LongReader(positions_from=2)


# Files.


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("log.csv", "", "is empty; expected a line with the names of its columns"),
        ("log.csv", "a,a\n", "line 1: 'a' stands twice"),
        ("log.csv", "a,b,\n", "line 1: a column has no name"),
        ("log.csv.gz", "no gzip", "cannot be read: Not a gzipped file"),
        ("log.jsonl", '{"a": 1}\n{"a": \n', "line 2: is not JSON"),
        ("log.parquet", "no parquet", "cannot be read: "),
        ("log.xlsx", "", "unknown kind of file; its name must end in .parquet, .pq, .csv"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, line):
    path = tmp_path / name
    path.write_text(content)
    assert line in refusal(LongReader(), path)


def test_files_must_be_alike(tmp_path):
    first = write_csv(tmp_path / "1.csv", LOG)
    second = tmp_path / "2.csv"
    second.write_text("a,b\n1,2\n")
    assert "its columns differ from those of" in refusal(LongReader(), first, second)
    third = write_jsonl(tmp_path / "3.jsonl", LOG)
    assert "give files of one kind, not csv and json" in refusal(LongReader(), first, third)
    assert "no such file" in refusal(LongReader(), tmp_path / "nothing.csv")
    (tmp_path / "folder").mkdir()
    assert "holds no file that ends in" in refusal(LongReader(), tmp_path / "folder")


def test_names_of_files_are_no_patterns(tmp_path):
    path = write_csv(tmp_path / "a[1]*'?.csv", LOG)
    write_csv(tmp_path / "a1x'y.csv", LOG)
    assert len(read(LongReader(), path)) == 4


def test_text_stays_text(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text(
        'session\tquery\tposition\tdoc\tclick\n460.10\t"tea\t1\t007\t0\n460.1\t#x\t1\t7\t0\n'
    )
    found = read(LongReader(), path)
    assert [row["session"] for row in found] == ["460.10", "460.1"]
    assert [row["query"] for row in found] == ['"tea', "#x"]
    assert [row["document"] for row in found] == ["007", "7"]


def test_large_numbers_of_json_stay_apart(tmp_path):
    path = write_jsonl(
        tmp_path / "log.jsonl", [row | {"doc": 10**25 + i} for i, row in enumerate(LOG)]
    )
    assert len({row["document"] for row in read(LongReader(), path)}) == 4


def test_no_file_is_read_that_was_not_named(tmp_path):
    """What looks like a statement or an address in a name is a name."""
    with workspace() as connection:
        for name in ("x'); DROP TABLE y; --.csv", "http://127.0.0.1:1/x.csv"):
            with pytest.raises(DataError, match="no such file"):
                select_files(connection, [tmp_path / name if "DROP" in name else name])
    assert text("it's") == "'it''s'"


# Numbers, whatever they are written as.


def evaluate(expression):
    with workspace() as connection:
        return connection.execute(f"SELECT {expression}").fetchall()[0][0]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("3", "INTEGER", 3),
        ("'3'", "VARCHAR", 3),
        ("' 3 '", "VARCHAR", 3),
        ("'3.0'", "VARCHAR", 3),
        ("3.0::DOUBLE", "DOUBLE", 3),
        ("NULL::VARCHAR", "VARCHAR", None),
        ("'1.5'", "VARCHAR", -1),
        ("1.5::DOUBLE", "DOUBLE", -1),
        ("'-2'", "VARCHAR", -1),
        ("'1_0'", "VARCHAR", -1),
        ("'x'", "VARCHAR", -1),
        ("'inf'::DOUBLE", "DOUBLE", -1),
        ("1e300::DOUBLE", "DOUBLE", -1),
    ],
)
def test_positions(value, kind, expected):
    assert evaluate(whole_number(value, kind)) == expected


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("true", "BOOLEAN", 1),
        ("0", "INTEGER", 0),
        ("'yes'", "VARCHAR", 1),
        ("'False'", "VARCHAR", 0),
        ("'2'", "VARCHAR", 2),
        ("9", "INTEGER", 2),
        ("-1", "INTEGER", 3),
        ("'-1'", "VARCHAR", 3),
        ("'nan'", "VARCHAR", 3),
        ("'nan'::DOUBLE", "DOUBLE", 3),
        ("0.5::DOUBLE", "DOUBLE", 3),
        ("'maybe'", "VARCHAR", 3),
        ("NULL::INTEGER", "INTEGER", 3),
        ("NULL::BOOLEAN", "BOOLEAN", 3),
    ],
)
def test_clicks(value, kind, expected):
    assert evaluate(click_state(value, kind)) == expected


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("'1970-01-02'", "VARCHAR", 86400),
        ("'1970-01-01T00:00:01.5Z'", "VARCHAR", 1.5),
        ("'17'", "VARCHAR", 17),
        ("'soon'", "VARCHAR", None),
        ("TIMESTAMP '1970-01-01 00:01:00'", "TIMESTAMP", 60),
        ("DATE '1970-01-02'", "DATE", 86400),
    ],
)
def test_times(value, kind, expected):
    assert evaluate(seconds(value, kind)) == expected


# One row per interaction.

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


# OpenSearch UBI.

HITS = [
    {
        "query_id": f"i{i}",
        "user_query": "tea",
        "client_id": "c",
        "timestamp": "2024-01-01T00:00:00Z",
        "query_response_hit_ids": ["a", "b", "c"],
    }
    for i in range(3)
]


def event(action, i, doc, ordinal=None):
    position = {} if ordinal is None else {"position": {"ordinal": ordinal}}
    return {
        "action_name": action,
        "query_id": f"i{i}",
        "client_id": "c",
        "user_query": "tea",
        "event_attributes": {"object": {"object_id": doc}, **position},
    }


EVENTS = [
    event("click", 0, "b", 2),
    event("click", 0, "b", 2),
    event("hover", 1, "c"),
    event("click", 2, "elsewhere", 9),
]


def write_ubi(folder, hits, events, *, wrapped=False):
    wrap = (lambda row: {"_index": "i", "_source": row}) if wrapped else (lambda row: row)
    if hits:
        write_jsonl(folder / "ubi_queries.jsonl", map(wrap, hits))
    write_jsonl(folder / "ubi_events.jsonl", map(wrap, events))
    return folder


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "exported"])
def test_hits_are_shown_and_click_events_are_clicks(tmp_path, wrapped):
    found = read(UbiReader(), write_ubi(tmp_path, HITS, EVENTS, wrapped=wrapped))
    shown = [row for row in found if row["position"] is not None]
    assert len(shown) == 9
    assert [(r["session"], r["document"], r["position"]) for r in shown if r["click"]] == [
        ("i0", "b", 2)
    ]
    (orphan,) = [row for row in found if row["position"] is None]
    assert (orphan["session"], orphan["document"], orphan["query"]) == ("i2", "elsewhere", "tea")
    assert {row["user"] for row in shown} == {"c"}


def test_impressions_may_be_events(tmp_path):
    events = [event("impression", 0, d, o) for o, d in enumerate("abc")] + [
        event("click", 0, "c", 2)
    ]
    reader = UbiReader(positions_from=0)
    found = read(reader, write_ubi(tmp_path, [], events))
    assert [(r["document"], r["position"], r["click"]) for r in found] == [
        ("a", 1, False),
        ("b", 2, False),
        ("c", 3, True),
    ]
    both = read(UbiReader(shown="events", positions_from=0), write_ubi(tmp_path, HITS, events))
    assert len([r for r in both if r["position"] is not None]) == 3


def test_other_actions_may_be_clicks(tmp_path):
    found = read(UbiReader(clicks=["hover"]), write_ubi(tmp_path, HITS, EVENTS))
    assert [(r["session"], r["document"]) for r in found if r["click"]] == [("i1", "c")]


def test_what_is_missing_of_ubi_is_said(tmp_path):
    queries = write_jsonl(tmp_path / "q.jsonl", HITS)
    events = write_jsonl(tmp_path / "e.jsonl", EVENTS)
    other = write_jsonl(tmp_path / "o.jsonl", LOG)
    bare = write_jsonl(tmp_path / "b.jsonl", [{"action_name": "click", "query_id": "i0"}])
    assert "the files hold no ubi_events" in refusal(UbiReader(), queries)
    assert "the files hold no ubi_queries" in refusal(UbiReader(shown="hits"), events)
    assert "is neither ubi_queries" in refusal(UbiReader(), other, events)
    assert "have no event_attributes.object.object_id" in refusal(UbiReader(), bare)


# Open Bandit.


def test_open_bandit_campaigns_are_queries(tmp_path):
    head = ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
    for name in ("men", "women"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.csv").write_text(head + "0,2019-11-24 00:00:00+00:00,5,1,0,0.25,u\n")
        (folder / "item_context.csv").write_text(",item_id\n0,0\n")
    found = read(OpenBanditReader(), tmp_path)
    assert [row["query"] for row in found] == ["men", "women"]
    assert {"document": "5", "position": 1, "propensity": "0.25"}.items() <= found[0].items()
    assert "session" not in found[0]
    by_user = read(OpenBanditReader(query_column="user_feature_0"), tmp_path)
    assert [row["query"] for row in by_user] == ["u", "u"]
    other = tmp_path / "other.csv"
    other.write_text("item_id\n1\n")
    assert "has no column timestamp, position" in refusal(OpenBanditReader(), other)
    assert "holds no impressions" in refusal(
        OpenBanditReader(), tmp_path / "men" / "item_context.csv"
    )


# Lists whose clicks count from 0, objects, and ids.


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
