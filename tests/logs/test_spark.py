"""Guards logs on Spark: the same numbers as duckdb, to the last count, in Spark's local mode."""

import shutil
import subprocess
from types import SimpleNamespace

import duckdb
import pytest

pytest.importorskip("pyspark", reason="needs cltr[spark]")
pytest.importorskip("sqlglot", reason="needs cltr[spark]")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java 17", allow_module_level=True)

from cltr.api.ingest import ingest, ingest_sql
from cltr.errors import CltrError, DataError, UsageError
from cltr.logs.ingest import IngestOptions, LogSource
from cltr.logs.portable.spark import PARTITIONS, _share_out
from cltr.logs.readers import LongReader
from cltr.logs.remote_counts import counted_by_spark
from tests import untidy_logs as untidy
from tests.logs.portable_cases import (
    CASES,
    MADE,
    REFUSED,
    expected,
    outcome,
    without_example,
    written,
)
from tests.plain_logs import write_csv, write_jsonl

SMALL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "600m",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""One small process that plans little: logs of tests have four thousand rows."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """One session for all tests of this module; ingest uses the session that is there."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for name, value in SMALL.items():
        builder = builder.config(name, value)
    folder = tmp_path_factory.mktemp("warehouse")
    builder = builder.config("spark.sql.warehouse.dir", str(folder))
    session = builder.getOrCreate()
    yield session
    gateway = session.sparkContext._gateway
    session.stop()
    process = gateway.proc
    gateway.shutdown()
    process.stdin.close()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()


def on_spark(folder, name):
    path, reader, options = written(folder, name)
    try:
        with counted_by_spark([str(path)], reader, options) as source:
            return outcome(source, folder / "spark.h5", options)
    except CltrError as error:
        return str(error)


QUICK = (
    "mixed",
    "window",
    "grid",
    "kept",
    "restarted",
    "days",
    "single",
    "parts",
    "commas",
    "events as rows",
)
"""In every run of the tests: all problems at once, and every kind of column, split and window."""


def cases(*, refused):
    """The untidy logs; those that others cover are for make science."""
    names = [name for name in CASES if (name in REFUSED) == refused]
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", cases(refused=False))
def test_numbers_are_those_of_duckdb(spark, tmp_path, name):
    """To the last count, cleaning included."""
    del spark
    assert on_spark(tmp_path, name) == expected(tmp_path, name)


@pytest.mark.parametrize("name", cases(refused=True))
def test_refusals_are_those_of_duckdb(spark, tmp_path, name):
    del spark
    here, there = (without_example(run(tmp_path, name)) for run in (expected, on_spark))
    assert there.split("); ")[0] == here.split("); ")[0]


def test_contradictions_are_explained_as_by_duckdb(spark, tmp_path):
    """The rows of some interactions come home to say why; the advice is the same."""
    del spark
    here, there = (run(tmp_path, "pages as they are") for run in (expected, on_spark))
    assert "positions seem to restart on each page" in there
    assert there.split("); ")[1] == here.split("); ")[1]


def test_printed_query_gives_what_ingest_reads(spark, tmp_path):
    """The query of --emit-sql, run by Spark, kept as a file and read with --format counts."""
    path, _, _ = written(tmp_path, "mixed")
    (tmp_path / "parts").mkdir()
    parted, _, _ = written(tmp_path / "parts", "parts")
    spark.read.parquet(str(parted)).createOrReplaceTempView("parts")
    spark.read.parquet(str(path)).createOrReplaceTempView("clicks")
    asked = {"user_column": "user", "document_column": "doc", "on": ["all=keep", "all=drop"]}
    counts = spark.sql(ingest_sql("clicks", dialect="spark", **asked)).toArrow()
    assert counts.num_rows
    file = tmp_path / "counts.parquet"
    duckdb.sql(f"COPY (SELECT * FROM counts) TO '{file}'")
    there = ingest(file, format="counts", out=tmp_path / "there.h5").report
    here = ingest(path, out=tmp_path / "here.h5", **asked).report
    table = ingest("clicks", engine="spark", out=tmp_path / "table.h5", **asked).report
    for name in ("n_interactions", "clicks", "impressions_by_rank", "problems", "documents"):
        assert there[name] == here[name] == table[name], name
    parts = spark.sql(ingest_sql("parts", dialect="spark", split_by="part", **asked)).toArrow()
    duckdb.sql(f"COPY (SELECT * FROM parts) TO '{file}'")
    there = ingest(file, format="counts", out=tmp_path / "there.h5").report
    here = ingest(parted, out=tmp_path / "here.h5", **asked).report
    assert there["n_interactions"] == here["n_interactions"] != table["n_interactions"]
    assert parts.num_rows
    with pytest.raises(DataError, match="nowhere"):
        ingest("nowhere", engine="spark", out=tmp_path / "no.h5")
    with pytest.raises(UsageError, match="--valid: cannot be used with --engine spark"):
        ingest("clicks", engine="spark", out=tmp_path / "no.h5", valid="clicks")


def test_text_is_read_as_duckdb_reads_it(spark, tmp_path):
    """Quotes and line breaks in ids, numbers as ids; a line that does not fit is one clear line."""
    del spark
    table = untidy.tidy(MADE)
    for row in table:
        row["doc"] = row["doc"].replace("-1", ' "1", \\ ').replace("-2", "\n2")
    files = [write_csv(tmp_path / "log.csv", table)]
    numbers = [row | {"query": int(row["query"][1:]) + 7} for row in table]
    files.append(write_jsonl(tmp_path / "log.jsonl", numbers))
    for file in files:
        with counted_by_spark([str(file)], LongReader(), IngestOptions()) as source:
            there = outcome(source, tmp_path / "there.h5", IngestOptions())
        here = outcome(LogSource([file], LongReader()), tmp_path / "here.h5", IngestOptions())
        assert there == here
    files[0].write_text(files[0].read_text() + "s1,q1\n")
    files[1].write_text(files[1].read_text() + '{"query": ')
    for file, line in zip(files, ("Malformed CSV record: s1,q1", "log.jsonl: Unexp"), strict=True):
        with pytest.raises(DataError, match=line) as error:
            ingest(file, engine="spark", out=tmp_path / "no.h5")
        assert "\n" not in str(error.value)


def test_refusals_come_before_spark_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr("cltr.logs.remote_counts.SparkEngine", None)
    (tmp_path / "scores.csv").write_text("a,b\n1,2\n")
    for asked, line in (
        ({"start": "2024"}, "--from and --until need times"),
        ({"start": "then", "time_column": "t"}, "--from then: is not a time"),
        ({"top_k": 2000}, "--top-k 2000: at most 1000"),
        ({"format": "ga4"}, "not 'ga4'"),
        ({"production": tmp_path / "scores.csv"}, "which column is the query"),
        ({"split_by": "part", "valid_share": 0.3}, "--valid-share: with --split-by part"),
    ):
        with pytest.raises(CltrError, match=line):
            ingest("clicks", engine="spark", out=tmp_path / "no.h5", **asked)
    for wrong, line in (("log.h5", "log files"), ({"query": []}, "a table in memory")):
        with pytest.raises(UsageError, match=line):
            ingest(wrong, engine="spark", out=tmp_path / "no.h5")


@pytest.mark.parametrize(
    ("master", "given", "expected"),
    [
        ("local[2]", {}, "8"),
        ("local[2]", {PARTITIONS: "50"}, None),
        ("spark://host:7077", {}, None),
    ],
)
def test_a_machine_alone_cuts_tables_into_few_parts(master, given, expected):
    """Spark's 200 parts are for clusters; a number that the user has set stays."""
    settings = {}
    context = SimpleNamespace(
        master=master,
        defaultParallelism=2,
        getConf=lambda: SimpleNamespace(contains=lambda name: name in given),
    )
    session = SimpleNamespace(sparkContext=context, conf=SimpleNamespace(set=settings.__setitem__))
    _share_out(session)
    assert settings.get(PARTITIONS) == expected
