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
from cltr.logs.portable.spark import PARTITIONS, _share_out
from cltr.logs.remote_counts import counted_by_spark
from tests.logs.portable_cases import (
    CASES,
    REFUSED,
    expected,
    outcome,
    without_example,
    written,
)

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


QUICK = ("mixed", "window", "grid", "kept", "restarted", "days", "single", "events as rows")
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
    with pytest.raises(DataError, match="nowhere"):
        ingest("nowhere", engine="spark", out=tmp_path / "no.h5")
    with pytest.raises(UsageError, match="--valid: cannot be used with --engine spark"):
        ingest("clicks", engine="spark", out=tmp_path / "no.h5", valid="clicks")


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
