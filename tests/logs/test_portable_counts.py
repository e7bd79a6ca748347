"""Guards the statements that count a log elsewhere: on duckdb itself they agree with the ingest."""

from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.api.ingest import ingest, ingest_sql
from cltr.data.importing import import_dataset
from cltr.errors import CltrError, UsageError
from cltr.files.table_files import columns_of, select_files, workspace
from cltr.logs.ingest import Brought, IngestOptions, LogSource
from cltr.logs.portable.counted_table import RESULT
from cltr.logs.portable.dialects import DIALECTS
from cltr.logs.portable.statements import statements
from cltr.logs.problems import parse_actions
from cltr.logs.readers import LongReader
from cltr.logs.remote_counts import plan_counts
from tests.logs.portable_cases import CASES, REFUSED, expected, outcome, without_example, written
from tests.plain_logs import rows, write_jsonl, write_parquet


class Engine:
    """Duckdb in the place of another engine."""

    def __init__(self, connection):
        self.connection = connection

    def columns(self, sql):
        return columns_of(self.connection, sql)

    def execute(self, sql):
        return self.connection.execute(sql)

    def define(self, name, sql):
        self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS {sql}")


def counts_of(path, reader, options):
    """The table that is brought home."""
    with workspace() as connection:
        table = select_files(connection, [path])
        engine = Engine(connection)
        plan = plan_counts(engine, reader, table, options, where=str(path))
        for name, statement in statements(plan).items():
            engine.define(name, statement)
        return connection.sql(f"SELECT * FROM {RESULT}").to_arrow_table()


def brought(path, reader, options, out):
    """What is made of it at home."""
    try:
        counts = counts_of(path, reader, options)
    except CltrError as error:
        return str(error)
    return outcome(LogSource([path], reader, brought=Brought(counts)), out, options)


@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_the_ingest(tmp_path, name):
    """Cleaning, splits, problems, scores, users and times: all the same; or the same refusal."""
    here = expected(tmp_path, name)
    elsewhere = brought(*written(tmp_path, name), tmp_path / "elsewhere.h5")
    assert isinstance(here, str) == (name in REFUSED)
    if name in REFUSED:
        assert isinstance(elsewhere, str)
        line = without_example(here)
        assert line.split("); ")[0] == without_example(elsewhere).split("); ")[0]
    else:
        assert elsewhere == here


DOCUMENTS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)


@given(st.lists(st.tuples(DOCUMENTS, st.sets(st.sampled_from("abcd"))), min_size=8, max_size=20))
def test_law_any_log_has_the_same_counts(tmp_path_factory, lists):
    folder = tmp_path_factory.mktemp("law")
    path = write_parquet(folder / "log.parquet", rows(*lists))
    options = IngestOptions(actions=parse_actions(["all=drop", "only-clicks=keep"]))
    here = outcome(LogSource([path], LongReader()), folder / "log.h5", options)
    assert brought(path, LongReader(), options, folder / "elsewhere.h5") == here


def test_counts_as_a_file_are_read_with_their_own_settings(tmp_path):
    """The file says how it was split; options that contradict it are refused."""
    path, reader, options = written(tmp_path, "window")
    counts = counts_of(path, reader, options)
    assert counts.num_rows
    file = tmp_path / "counts.parquet"
    duckdb.sql(f"COPY (SELECT * FROM counts) TO '{file}'")
    log = ingest(file, format="counts", out=tmp_path / "counts.h5")
    direct = outcome(LogSource([path], reader), tmp_path / "log.h5", options)
    assert log.report["problems"] == direct[0][3]["problems"]
    assert log.report["split"]["by"] == "time"
    for wrong, line in (
        ({"seed": 7}, "was split when it was counted"),
        ({"on": ["gaps=drop"]}, "--on gaps=drop: was decided when the log was counted: keep"),
        ({"sessions": True}, "--sessions: needs single interactions"),
    ):
        with pytest.raises(UsageError, match=line):
            ingest(file, format="counts", out=tmp_path / "no.h5", **wrong)


def test_the_queries_of_a_data_set_decide_the_parts(tmp_path):
    """Counts say nothing of users and times there, and need no other split."""
    path, reader, options = written(tmp_path, "mixed")
    counts = counts_of(path, reader, options)
    assert counts.num_rows
    duckdb.sql(f"COPY (SELECT * FROM counts) TO '{tmp_path}/counts.parquet'")
    pairs = {(row["query"], row["doc"]) for row in CASES["mixed"][0] if row["query"] and row["doc"]}
    table = [{"query": q, "document": d, "label": len(d) % 3, "f": 1.0} for q, d in sorted(pairs)]
    data = tmp_path / "data.h5"
    import_dataset([write_jsonl(tmp_path / "data.jsonl", table)], data)
    there = ingest(tmp_path / "counts.parquet", format="counts", data=data, out=tmp_path / "a.h5")
    asked = {"on": ["all=keep", "all=drop"], "data": data} | CASES["mixed"][1]
    here = ingest(path, out=tmp_path / "b.h5", **asked)
    for name in ("n_interactions", "clicks", "impressions_by_rank", "problems", "split"):
        assert there.report[name] == here.report[name], name


def test_other_tables_are_refused(tmp_path):
    path, _, _ = written(tmp_path, "tidy")
    with pytest.raises(CltrError, match="is not a table of counts: it has no column 'clicks'"):
        ingest(path, format="counts", out=tmp_path / "no.h5")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries_are_what_the_dialect_can_say(dialect):
    """Sqlglot reads the query back, and nothing of duckdb's own is left in it."""
    sqlglot = pytest.importorskip("sqlglot", reason="needs cltr[sql]")
    options = {"split_by": "time", "time_column": "ts", "score_column": "s", "user_column": "u"}
    sql = ingest_sql("shop.clicks", dialect=dialect, on=["gaps=drop"], top_k=5, **options)
    tree = sqlglot.parse_one(sql, read=dialect)
    assert {cte.alias for cte in tree.find_all(sqlglot.exp.CTE)} >= {"raw", "coded", "counted"}
    assert "shop.clicks" in {
        f"{table.db}.{table.name}" for table in tree.find_all(sqlglot.exp.Table)
    }
    unknown = {node.name.lower() for node in tree.find_all(sqlglot.exp.Anonymous)}
    assert unknown <= {"try_to_double", "try_to_timestamp_tz", "try_to_timestamp", "unix_micros"}
    with pytest.raises(UsageError, match="need to read the log first"):
        ingest_sql("clicks", dialect=dialect, page_column="page")
    with pytest.raises(UsageError, match=r"--format long\), not 'list'"):
        ingest_sql("clicks", dialect=dialect, format="list")


def test_what_counts_cannot_do_is_refused(tmp_path):
    assert not Path(tmp_path / "no.h5").exists()
    with pytest.raises(UsageError, match="--split-by user needs to know users"):
        ingest_sql("clicks", dialect="trino", split_by="user")
    with pytest.raises(UsageError, match="--propensity-column: needs the rows"):
        ingest_sql("clicks", dialect="trino", propensity_column="p")
    with pytest.raises(UsageError, match="--master: can only be used with --engine spark"):
        ingest("clicks.parquet", out=tmp_path / "no.h5", master="local")
