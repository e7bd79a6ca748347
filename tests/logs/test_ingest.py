"""Guards logs from elsewhere: every row is counted right, or counted as a problem; never lost."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.errors import UsageError
from cltr.types import LOG_PARTS
from tests import plain_logs
from tests.logs.ingesting import FEW, MANY, found, ingest, refused
from tests.plain_logs import count, counted, write_csv


@pytest.mark.parametrize("kind", plain_logs.WRITERS)
def test_every_kind_of_file_gives_the_same_counts(tmp_path, kind):
    path = plain_logs.WRITERS[kind](tmp_path / f"log.{kind}", MANY)
    report, log = ingest(path)
    impressions, clicks, displays, _ = count(MANY)
    assert counted(log) == (impressions, Counter({k: n for k, n in clicks.items() if n}), displays)
    assert report["problems"] == []
    assert sum(report["n_interactions"].values()) == 60
    assert list(report["n_interactions"]) == list(LOG_PARTS)
    assert log.lists.document_ids.tolist() == ["a", "b", "c"]
    assert log.lists.query_ids.tolist() == ["q"]
    assert not log.lists.judged


def test_a_file_that_is_read_is_never_written(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is also an input; choose another file"):
        ingest(path, out=tmp_path / ".." / tmp_path.name / "log.csv")
    assert path.read_bytes() == before


def test_several_files_are_one_log(tmp_path):
    half = len(MANY) // 2
    paths = [
        write_csv(tmp_path / f"{i}.csv", part) for i, part in enumerate((MANY[:half], MANY[half:]))
    ]
    apart, whole = ingest(paths)[1], ingest(write_csv(tmp_path / "all.csv", MANY))[1]
    assert counted(apart) == counted(whole)
    in_folder = ingest(tmp_path, out=tmp_path.parent / "folder.h5", on=["all=drop"])
    assert found(in_folder[0]) == {"repeated-rows": len(MANY)}
    assert counted(in_folder[1]) == counted(whole)


IDS = st.sampled_from(["a", "b", 'c"', "d,\n", "é", " e "])

DIRTY = st.fixed_dictionaries(
    {
        "session": st.sampled_from(["s1", "s2", "s3", "s4", ""]),
        "query": st.sampled_from(["q", "Q", "q,1", ""]),
        "position": st.sampled_from([1, 1, 2, 3, 5, None]),
        "doc": IDS,
        "click": st.sampled_from([0, 0, 1]),
    }
)

ALL_DROPPED = [
    f"{name}=drop"
    for name in ("repeated-rows", "conflicts", "repeated-documents", "clicks-without-impression")
]


@FEW
@given(st.lists(DIRTY, min_size=1, max_size=25), st.sampled_from(["csv", "jsonl"]))
def test_counts_are_those_of_the_plain_way(tmp_path_factory, table, kind):
    # So that both splits have some.
    table += [
        {"session": f"t{i}", "query": "q", "position": 1, "doc": "z", "click": 0} for i in range(40)
    ]
    written = table
    if kind == "jsonl":  # an empty text is a value there
        written = [{name: None if v == "" else v for name, v in row.items()} for row in table]
    path = plain_logs.WRITERS[kind](tmp_path_factory.mktemp("dirty") / f"log.{kind}", written)
    impressions, clicks, displays, problems = count(table)
    report, log = ingest(path, on=ALL_DROPPED)
    assert found(report) == problems
    assert counted(log) == (impressions, Counter({k: n for k, n in clicks.items() if n}), displays)


@FEW
@given(st.binary(max_size=300), st.sampled_from(["csv", "tsv", "jsonl", "parquet", "csv.gz"]))
def test_any_file_is_a_log_or_one_clear_line(tmp_path_factory, content, kind):
    path = tmp_path_factory.mktemp("any") / f"log.{kind}"
    path.write_bytes(content)
    refused(path)


@FEW
@given(
    st.lists(st.lists(st.text(max_size=6), min_size=5, max_size=5), max_size=6),
    st.sampled_from([",", "\t"]),
)
def test_any_values_are_a_log_or_one_clear_line(tmp_path_factory, values, delimiter):
    name = "log.csv" if delimiter == "," else "log.tsv"
    path = tmp_path_factory.mktemp("values") / name
    table = [dict(zip(plain_logs.COLUMNS, row, strict=True)) for row in values]
    write_csv(path, table, delimiter)
    refused(path)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 3), max_size=2),
)


@FEW
@given(
    st.lists(st.lists(VALUES, min_size=5, max_size=5), min_size=1, max_size=6),
    st.sampled_from(["jsonl", "parquet"]),
)
def test_any_typed_values_are_a_log_or_one_clear_line(tmp_path_factory, values, kind):
    import duckdb

    folder = tmp_path_factory.mktemp("typed")
    table = [dict(zip(plain_logs.COLUMNS, row, strict=True)) for row in values]
    try:
        path = plain_logs.WRITERS[kind](folder / f"log.{kind}", table)
    except duckdb.Error:  # no Parquet holds them
        return
    refused(path)
