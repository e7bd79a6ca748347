"""Data coming in, each against its natural rival on the same file, in processes of their own."""

import pytest

from tests.benchmarks import import_benchmark, ingest, simulation, table_import

MEGABYTES = 60
TABLE_ROWS = 1_000_000
ROWS = 1_000_000


@pytest.fixture(scope="module")
def judged_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("import")
    path = import_benchmark.write_like_mslr(folder / "train.txt", MEGABYTES)
    return path, import_benchmark.write_like_mslr(folder / "warm.txt", 1)


def bench_import(contest, judged_file):
    path, warm = judged_file
    tasks, out = import_benchmark.TASKS, path.with_name("out.h5")
    found = {}
    for _ in range(2):
        for name, code in tasks.items():
            spent = import_benchmark.measure(name, code, path, warm, out)
            found[name] = min(found.get(name, spent), spent, key=lambda each: each[1])
    rival = found["scikit-learn, read"]
    for name, (_, cpu, peak) in found.items():
        if name.startswith("cltr"):
            contest.row(
                stage=name.removeprefix("cltr, "),
                work=f"{MEGABYTES} MB of SVMlight",
                ours=cpu,
                against=f"scikit-learn, read {rival[1]:.2f} s, {rival[2]:.0f} MB",
                ratio=cpu / rival[1],
                peak=peak,
            )
    contest.finish()


@pytest.mark.parametrize("order", table_import.ORDERS)
def bench_import_tables(contest, tmp_path, order):
    """Parquet features, beside duckdb's bare read of all columns."""
    warm = table_import.write_table(tmp_path / "warm.parquet", rows=1000, order="i")
    sql = table_import.ORDERS[order]
    path = table_import.write_table(tmp_path / "f.parquet", rows=TABLE_ROWS, order=sql)
    found = {}
    for _ in range(2):
        for name, code in table_import.TASKS.items():
            spent = import_benchmark.measure(name, code, path, warm, tmp_path / "out.h5")
            found[name] = min(found.get(name, spent), spent, key=lambda each: each[1])
    rival = found["duckdb, read"]
    for name, (_, cpu, peak) in found.items():
        if name.startswith("cltr"):
            contest.row(
                stage=f"{name.removeprefix('cltr, ')}, {order}",
                work=f"{TABLE_ROWS:,} rows of Parquet, 20 features",
                ours=cpu,
                against=f"duckdb, read {rival[1]:.2f} s, {rival[2]:.0f} MB",
                ratio=cpu / rival[1],
                peak=peak,
            )
    contest.finish()


@pytest.mark.parametrize("kind", ingest.KINDS)
def bench_ingest(contest, kind, tmp_path):
    path, warm = tmp_path / "log.parquet", tmp_path / "warm.parquet"
    ingest.write_log(path, ingest.KINDS[kind], rows=ROWS, order="i, k")
    ingest.write_log(warm, ingest.KINDS[kind], rows=5_000, order="i, k")
    found = {}
    for _ in range(3):
        for name in ingest.TASKS:
            spent = ingest.measure(name, path, warm)
            found[name] = min(found.get(name, spent), spent, key=lambda each: each[1])
    rival = found["duckdb, bare aggregation"]
    for name in ("cltr ingest", "cltr ingest --sessions"):
        _, cpu, peak = found[name]
        contest.row(
            stage=name,
            work=f"{ROWS:,} rows of Parquet, {kind}",
            ours=cpu,
            against=f"duckdb, bare aggregation {rival[1]:.2f} s, {rival[2]:.0f} MB",
            ratio=cpu / rival[1],
            peak=peak,
        )
    contest.finish()


@pytest.mark.parametrize("n", [10**4, 10**5, 10**6])
def bench_simulation(contest, n):
    """Counts beside the interactions themselves."""
    dataset, scores = simulation.make_lists(1000, 120, 2.0)
    contest(
        "simulation, counts",
        lambda: simulation.draw_counts(dataset, scores, n),
        work=f"{n:.0e} interactions on 1,000 queries",
        rounds=3,
        sessions=lambda: simulation.draw_sessions(dataset, scores, n),
    )
