"""Import of Parquet features beside the bare read of duckdb and of pyarrow: prints a table.

    python -m tests.benchmarks.table_import
    python -m tests.benchmarks.table_import --rows 10000000

Writes tables with text ids, 20 features and lists of 20 documents, grouped by query and shuffled.
The bare reads hand all columns over in batches and keep nothing. Each task has its own process.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.import_benchmark import measure, say

MEMORY = "1GB"
TASKS = {
    "duckdb, read": f"""
import duckdb
def task(path, out):
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '{MEMORY}'; SET enable_progress_bar = false")
    for batch in connection.sql(f"SELECT * FROM read_parquet('{{path}}')").to_arrow_reader(20000):
        pass
""",
    "pyarrow, read": """
import pyarrow.parquet
def task(path, out):
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(20000):
        pass
""",
    "cltr, import": f"""
from cltr.data.importing import import_dataset
def task(path, out):
    import_dataset([path], out, memory="{MEMORY}")
""",
    "cltr, import, normalised": f"""
from cltr.data.importing import import_dataset
def task(path, out):
    import_dataset([path], out, memory="{MEMORY}", normalize="z-score")
""",
}
ORDERS = {"grouped": "i", "shuffled": "hash(i)"}
LENGTH, N_FEATURES = 20, 20


def write_table(path: Path, *, rows: int, order: str) -> Path:
    """Documents with text ids, a grade and features."""
    features = ", ".join(f"(hash(i, {k}) % 100000) / 7 AS f{k}" for k in range(N_FEATURES))
    sql = f"""COPY (SELECT 'query number ' || i // {LENGTH} AS query,
        'http://shop/' || i AS document, hash(i) % 5 AS label, {features}
        FROM range({rows}) AS t(i) ORDER BY {order}) TO '{path}' (FORMAT parquet)"""
    # In a process of its own: children would count its memory as theirs.
    program = "import duckdb, sys; duckdb.execute(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, sql], capture_output=True, check=True)
    return path


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        warm = write_table(Path(folder) / "warm.parquet", rows=1000, order="i")
        for name, order in ORDERS.items():
            path = write_table(Path(folder) / f"{name}.parquet", rows=rows, order=order)
            say(f"{name}: {rows:,} rows, {path.stat().st_size / 1e6:.0f} MB")
            base = None
            for task, code in TASKS.items():
                wall, cpu, peak = measure(task, code, path, warm, Path(folder) / "out.h5")
                base = cpu if base is None else base
                say(f"  {task:28}{wall:8.2f} s{cpu:8.2f} cpu{cpu / base:6.1f}x{peak:8.0f} MB")
            path.unlink()


if __name__ == "__main__":
    main()
