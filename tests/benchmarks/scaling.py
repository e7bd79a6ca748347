"""How much faster two processes are than one, for each engine: prints a table, writes a JSON file.

    python tests/benchmarks/scaling.py --out docs/scaling.json
    python tests/benchmarks/scaling.py --small --turns 1

Every row measures the same work with one and with two processes, in turns, and the fastest turn of
each counts. Times are seconds of the clock of the whole command, so they include the start of the
engine; what it takes to start is measured by the same command on next to nothing. A step of
training is measured within the processes. Each process computes with one thread. Ratios mean
nothing on a machine that does other work or has one core, so each row has the load before it.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

COUNTS = (1, 2)
HEADS = ("engine", "work", "1 process", "2 processes", "times as fast", "start alone", "load")
Seconds = Callable[[int, Path], float]


@dataclass(frozen=True)
class Work:
    """What is measured: seconds by number of processes, in a folder; and what the start takes."""

    engine: str
    what: str
    seconds: Seconds
    start: Seconds | None = None


@dataclass(frozen=True)
class Sizes:
    """How much work there is."""

    rows: int = 1_000_000
    seeds: int = 16
    queries: int = 1600
    epochs: int = 4


SMALL = Sizes(rows=10_000, seeds=2, queries=64, epochs=2)
LISTS, DOCUMENTS, RANKS = 2_000, 30, 10
"""Queries of the log, documents of each, and ranks that are shown."""
CELLS = ["-m", "prpo/ips", "-n", "1e5", "--no-skyline", "--no-report", "-o", "training.epochs=20"]
TINY = ["-m", "plain/naive", "-n", "10", "--no-skyline", "--no-report", "-o", "training.epochs=1"]


def works(sizes: Sizes) -> list[Work]:
    """All rows of the table."""
    cells = [*CELLS, "--seeds", f"{sizes.seeds}"]
    tiny = [*TINY, "--seeds", "1", "-o", "production.epochs=1"]
    study = f"`cltr compare`, {sizes.seeds} cells"
    found = []
    for batch in (32, 1024):
        n = max(sizes.queries, 3 * batch) if sizes is not SMALL else sizes.queries
        what = f"a step of training, {batch:,} queries with 120 documents"
        found.append(Work("torchrun", what, _step(n, batch, sizes.epochs)))
    return [
        *found,
        Work("processes, `--workers N`", study, _compare(cells), _compare(tiny)),
        Work(
            "Ray, `--workers N`",
            study,
            _compare([*cells, "--cluster", "ray"]),
            _compare([*tiny, "--cluster", "ray"]),
        ),
        Work(
            "Spark, `local[N]`",
            f"`cltr ingest`, {sizes.rows:,} rows",
            _ingest(sizes.rows),
            _ingest(1_000),
        ),
    ]


def _ingest(rows: int) -> Seconds:
    def seconds(count: int, folder: Path) -> float:
        table = folder / f"{rows}.parquet"
        if not table.exists():
            write_log(table, rows)
        master = ["--engine", "spark", "--master", f"local[{count}]"]
        return _timed(["-m", "cltr", "ingest", str(table), *master, "--out", "log.h5"], folder)

    return seconds


def _compare(flags: list[str]) -> Seconds:
    def seconds(count: int, folder: Path) -> float:
        words = ["-m", "cltr", "compare", *flags, "--workers", f"{count}", "--out", "study"]
        return _timed(words, folder)

    return seconds


def _step(queries: int, batch: int, epochs: int) -> Seconds:
    def seconds(count: int, folder: Path) -> float:
        flags = [f"--measure={queries}", f"--batch-queries={batch}", f"--epochs={epochs}"]
        launcher = ["-m", "torch.distributed.run", "--nproc-per-node", f"{count}"]
        found = _run([*launcher, "-m", "tests.scale_table", *flags], folder)
        return float(json.loads(found)["seconds a step, best epoch"])

    return seconds


def _timed(words: list[str], folder: Path) -> float:
    """Seconds of a command, in a folder where nothing was computed before."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        began = time.perf_counter()
        _run(words, Path(own))
        return time.perf_counter() - began


def _run(words: list[str], folder: Path) -> str:
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    threads = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    return done.stdout


def write_log(path: Path, rows: int) -> None:
    """A log of lists with so many rows in all, as a table."""
    import duckdb

    rng = np.random.default_rng(0)
    n = rows // RANKS
    queries = rng.integers(0, LISTS, n)
    documents = rng.random((n, DOCUMENTS)).argsort(-1)[:, :RANKS]
    clicks = rng.random((n, RANKS)) < 0.4 / np.arange(1, RANKS + 1)
    columns = {
        "session": np.repeat(np.arange(n), RANKS),
        "query": np.repeat(queries, RANKS),
        "document": (queries[:, None] * DOCUMENTS + documents).ravel(),
        "position": np.tile(np.arange(1, RANKS + 1), n),
        "click": clicks.astype(np.int64).ravel(),
    }
    connection = duckdb.connect()
    connection.register("log", columns)
    connection.execute(f"COPY (SELECT * FROM log) TO '{path}' (FORMAT parquet)")


def measure(sizes: Sizes, turns: int, out: Path | None = None) -> dict[str, Any]:
    """All rows, measured now; the file has those that are done."""
    rows: list[dict[str, Any]] = []
    found = {"machine": _machine(), "turns": turns, "rows": rows}
    with tempfile.TemporaryDirectory() as folder:
        for work in works(sizes):
            seconds: dict[str, list[float]] = {f"{count}": [] for count in COUNTS}
            load = os.getloadavg()[0]
            for _ in range(turns):
                for count in COUNTS:
                    seconds[f"{count}"].append(work.seconds(count, Path(folder)))
            start = work.start and work.start(1, Path(folder))
            named = {"engine": work.engine, "work": work.what, "load": load}
            rows.append({**named, "seconds": seconds, "start": start})
            sys.stderr.write(f"{work.engine}: {work.what}: {seconds}\n")
            if out is not None:
                out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def table(found: dict[str, Any]) -> str:
    """The measurements as a table of a page."""
    rows: list[Sequence[str]] = [HEADS, ["---"] * len(HEADS)]
    for row in found["rows"]:
        one, two = (min(row["seconds"][f"{count}"]) for count in COUNTS)
        start = "" if row["start"] is None else _shown(row["start"])
        times = [_shown(one), _shown(two), f"{one / two:.2f}", start]
        rows.append([row["engine"], row["work"], *times, f"{row['load']:.1f}"])
    turns = "measured once" if found["turns"] == 1 else f"the fastest of {found['turns']} turns"
    machine = f"Measured on: {found['machine']}; {turns}."
    return "\n".join([machine, "", *("| " + " | ".join(cells) + " |" for cells in rows)])


def _shown(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="try it out in a minute")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    given = parser.parse_args()
    found = measure(SMALL if given.small else Sizes(), given.turns, given.out)
    sys.stdout.write(table(found) + "\n")


if __name__ == "__main__":
    main()
