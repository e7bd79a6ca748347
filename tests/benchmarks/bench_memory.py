"""Peak memory of a whole run as the number of interactions grows a thousandfold."""

import pytest

from tests.benchmarks.memory import write_data
from tests.benchmarks.processes import measure

QUERIES = 600


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "data.h5"
    write_data(path, QUERIES)
    return path


@pytest.fixture(scope="module")
def peaks():
    return {}


@pytest.mark.parametrize("n", [10**5, 10**8])
def bench_run(contest, data, peaks, n):
    spent = measure("tests.benchmarks.memory:train", data=str(data), interactions=n)
    peaks[n] = spent.peak
    contest.done(
        stage="a whole run",
        work=f"{QUERIES} queries, N={n:.0e}, one epoch of each stage",
        ours=spent.cpu,
        against=f"N=1e+05 {peaks[10**5]:.0f} MB" if n > 10**5 else "",
        ratio=spent.peak / peaks[10**5],
        peak=spent.peak,
    )
