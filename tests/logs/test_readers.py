"""Guards how logs are read: columns found or named, files and values understood."""

import pytest

from cltr.errors import DataError, OptionError
from cltr.files.table_files import select_files, text, workspace
from cltr.logs.readers import LongReader
from cltr.logs.sql_expressions import click_state, seconds, whole_number
from cltr.testing import check_log_reader
from tests.logs.reading import LOG, read, refusal
from tests.plain_logs import write_csv, write_jsonl


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


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("log.csv", "", "is empty; expected a line with the names of its columns"),
        ("log.csv", "a,a\n", "line 1: 'a' stands twice"),
        ("log.csv", "a,b,\n", "line 1: a column has no name"),
        ("log.csv.gz", "no gzip", "cannot be read: Not a gzipped file"),
        ("log.jsonl", '{"a": 1}\n{"a": \n', "line 2: is not JSON"),
        ("log.parquet", "no parquet", "cannot be read: "),
        ("log.h5", "", "is not a table, whose name ends in .parquet, .pq, .csv"),
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
