"""From Parquet to statistics beside the bare duckdb aggregation of the same file: prints a table.

    python tests/benchmarks/ingest.py
    python tests/benchmarks/ingest.py --rows 1e7 --kind "few long queries"
    python tests/benchmarks/ingest.py --shuffled

The bare aggregation counts impressions and clicks by query, document and position, and nothing
else: no interactions, no split, no checks. ``cltr`` also counts the interactions of each query,
splits them, looks for conflicts, gaps and values that make no sense, and writes the log file.
Each task has a process of its own; the tasks take turns, and the fastest of each counts. Ratios are
of processor time, which other work on the machine bends least, and of seconds. duckdb may use 1 GB
for each task.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MEMORY = "1GB"


def aggregate(path: Path, out: Path) -> None:
    """The bare aggregation."""
    del out
    _connect().execute(_CELLS.format(path))


def aggregate_interactions(path: Path, out: Path) -> None:
    """The bare aggregation, and how many interactions each query has."""
    del out
    connection = _connect()
    connection.execute(_CELLS.format(path))
    connection.execute(_DISPLAYS.format(path))


def ingest(path: Path, out: Path, *, sessions: bool = False) -> None:
    """What ``cltr ingest`` does."""
    from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
    from cltr.logs.readers import LongReader

    options = IngestOptions(memory=MEMORY, sessions=sessions)
    ingest_log(LogSource([path], LongReader()), out, options=options)


def ingest_sessions(path: Path, out: Path) -> None:
    """What ``cltr ingest --sessions`` does."""
    ingest(path, out, sessions=True)


TASKS = {
    "duckdb, bare aggregation": aggregate,
    "duckdb, with interactions": aggregate_interactions,
    "cltr ingest": ingest,
    "cltr ingest --sessions": ingest_sessions,
}
_CELLS = """CREATE TEMP TABLE cells AS SELECT query, doc, position, count(*), sum(click)
    FROM read_parquet('{}') GROUP BY ALL"""
_DISPLAYS = """CREATE TEMP TABLE displays AS SELECT query, count(DISTINCT session)
    FROM read_parquet('{}') GROUP BY ALL"""


def _connect():
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{MEMORY}'; SET enable_progress_bar = false")
    return connection


@dataclass(frozen=True)
class Kind:
    """A kind of log: how many queries, how long their lists are, and what ids look like."""

    queries: float
    """Different queries, as a share of the interactions if below 1."""
    ranks: int
    documents: int
    """That a query shows in all."""
    ids: tuple[str, str, str]
    """SQL of session, query and document from i, q and d."""


TEXT = ("'session-' || i", "'query ' || q", "'http://example.com/' || q || '/' || d")
NUMBERS = ("i", "q", "q::BIGINT * 100000 + d")
KINDS = {
    "text ids": Kind(
        2_000,
        10,
        30,
        ("'session-' || i", "'query ' || q", "'http://example.com/' || q || '/' || d"),
    ),
    "few long queries": Kind(50, 50, 500, NUMBERS),
    "many short queries": Kind(0.3, 3, 6, NUMBERS),
}


def write_log(path: Path, kind: Kind, *, rows: int, order: str) -> None:
    """Lists of which some queries come far more often than others."""
    interactions = max(rows // kind.ranks, 1)
    queries = int(kind.queries if kind.queries >= 1 else kind.queries * interactions) or 1
    session, query, document = kind.ids
    sql = f"""COPY (
        WITH lists AS (
            SELECT i, floor({queries} * pow(hash(i) % 1000003 / 1000003.0, 3))::INT AS q,
            hash(i * 7 + 1) AS h FROM range({interactions}) AS t(i)),
        shown AS (SELECT i, q, k, (h + k * 7) % {kind.documents} AS d
            FROM lists, range(1, {kind.ranks + 1}) AS u(k))
        SELECT {session} AS session, {query} AS query, k::INT AS position, {document} AS doc,
        (hash(i * 31 + k) % 100 < 30 // k)::INT AS click
        FROM shown ORDER BY {order}) TO '{path}' (FORMAT parquet)"""
    # In a process of its own: children would count its memory as theirs.
    program = "import duckdb, sys; duckdb.execute(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, sql], capture_output=True, check=True)


def run_task(name: str, path: Path, warm: Path) -> None:
    """Do a task on a small file, then on the file itself; print seconds, cpu and peak memory."""
    import h5py  # noqa: F401  # imports are not what is measured
    import numpy as np  # noqa: F401

    out = path.with_name("out.h5")
    TASKS[name](warm, out)
    before = time.perf_counter(), time.process_time()
    TASKS[name](path, out)
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    say(f"{time.perf_counter() - before[0]} {time.process_time() - before[1]} {peak}")


def measure(name: str, path: Path, warm: Path) -> list[float]:
    """Seconds, processor seconds and peak memory in MB of a task in a new process."""
    words = [sys.executable, __file__, "--task", name, str(path), str(warm)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return [float(word) for word in done.stdout.split()]


def compare(path: Path, warm: Path, *, repeat: int) -> None:
    """Measure every task and print a table."""
    found = {name: [] for name in TASKS}
    for _ in range(repeat):
        for name, measured in found.items():
            measured.append(measure(name, path, warm))
    best = {
        name: [min(column) for column in zip(*rows, strict=True)] for name, rows in found.items()
    }
    base = next(iter(best.values()))
    say(f"{'':28}{'seconds':>9}{'ratio':>8}{'cpu':>9}{'ratio':>8}{'peak MB':>9}")
    for name, (wall, cpu, peak) in best.items():
        ratios = wall / base[0], cpu / base[1]
        say(f"{name:28}{wall:9.2f}{ratios[0]:7.2f}x{cpu:9.2f}{ratios[1]:7.2f}x{peak:9.0f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--kind", choices=KINDS, help="one kind of log alone")
    parser.add_argument("--shuffled", action="store_true", help="rows in no order at all")
    parser.add_argument("--repeat", type=int, default=3, help="the fastest counts")
    parser.add_argument("--task", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        run_task(arguments.task[0], *map(Path, arguments.task[1:]))
        return
    order = "hash(i * 10 + k)" if arguments.shuffled else "i, k"
    for name in [arguments.kind] if arguments.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            path, warm = Path(folder) / "log.parquet", Path(folder) / "warm.parquet"
            write_log(path, KINDS[name], rows=int(arguments.rows), order=order)
            write_log(warm, KINDS[name], rows=5_000, order=order)
            size = path.stat().st_size / 1e6
            say(f"{name}: {int(arguments.rows):,} rows, {size:.0f} MB of Parquet")
            compare(path, warm, repeat=arguments.repeat)


def say(line: str) -> None:
    """To stdout, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
