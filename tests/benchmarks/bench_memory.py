"""Peak memory of the stages as the number of interactions grows."""

import pytest

from tests.benchmarks.memory import write_data
from tests.benchmarks.processes import measure

QUERIES = 600


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "data.h5"
    write_data(path, QUERIES)
    return path


@pytest.mark.parametrize(
    ("stage", "few", "many"),
    [
        ("simulate", 10**5, 10**7),
        ("reward", 10**5, 10**7),
        ("fit", 10**6, 3 * 10**6),
        ("train", 10**5, 10**7),
    ],
)
def bench_stage(contest, data, stage, few, many):
    """The ratio is of peaks: a stage must not grow with N."""
    less, more = (
        measure(f"tests.benchmarks.memory:{stage}", data=str(data), interactions=n)
        for n in (few, many)
    )
    contest.done(
        stage=f"memory, {stage}",
        work=f"{QUERIES} queries of 120 documents, N={many:.0e}",
        ours=more.cpu,
        against=f"N={few:.0e}: {less.peak:.0f} MB",
        ratio=more.peak / less.peak,
        peak=more.peak,
    )


def bench_evaluate(contest, data, tmp_path):
    measure("tests.benchmarks.memory:train", data=str(data), interactions=1000, run=str(tmp_path))
    spent = measure("tests.benchmarks.memory:evaluate", run=str(tmp_path))
    contest.done(
        stage="memory, evaluate",
        work=f"{QUERIES} queries of 120 documents",
        ours=spent.cpu,
        peak=spent.peak,
    )
