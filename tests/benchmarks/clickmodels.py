"""Sessions per second that each click model counts and fits: prints a table in markdown.

    python tests/benchmarks/clickmodels.py
    python tests/benchmarks/clickmodels.py -n 100000 --queries 100 dbn ubm

Sessions of ten documents are drawn from a position-based model under a stochastic ranker, as many
queries and documents as asked for; every model is fitted to the same sessions. Kernels are
compiled before the clock starts. Seconds are CPU time on one thread unless asked otherwise, so
that other work on the machine hardly shows; with more threads they are wall-clock time. The last
column is beside PyClick on some of the same sessions, where it is installed and has the model.
"""

import argparse
import sys
import time
from collections.abc import Sequence

import numba
import numpy as np

from cltr.clicks.fit_tools import add_up
from cltr.clicks.models import PositionBased
from cltr.clicks.simulation import simulate_sessions
from cltr.interfaces import ClickModel
from cltr.plugins import registry
from cltr.types import ClickLog, Dataset
from tests.benchmarks import pyclick_rival

MODELS: list[tuple[str, dict[str, object]]] = [
    ("document-ctr", {}),
    ("rank-ctr", {}),
    ("pbm", {}),
    ("trust-bias", {}),
    ("cascade", {}),
    ("dcm", {}),
    ("sdbn", {}),
    ("dcm", {"method": "em"}),
    ("sdbn", {"method": "em"}),
    ("ubm", {}),
    ("dbn", {}),
    ("ccm", {}),
]
TOP_K = 10


def random_lists(n_queries: int, n_documents: int) -> Dataset:
    """Queries with documents of five grades."""
    rng = np.random.default_rng(0)
    n = n_queries * n_documents
    return Dataset(
        features=np.zeros((n, 1), np.float32),
        labels=rng.integers(0, 5, size=n).astype(np.float64),
        offsets=np.arange(n_queries + 1) * n_documents,
        query_ids=np.arange(n_queries),
        document_ids=np.arange(n),
    )


def sessions(dataset: Dataset, n: int) -> list[ClickLog]:
    """As chunks; the same for every model."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=dataset.n_documents)
    users = PositionBased(eta=0.8)
    return list(simulate_sessions(dataset, scores, users, n=n, top_k=TOP_K, rng=rng))


def measure(model: ClickModel, chunks: Sequence[ClickLog], dataset: Dataset) -> tuple[float, float]:
    """Seconds to count and to fit."""
    clock = time.process_time if numba.get_num_threads() == 1 else time.perf_counter
    start = clock()
    counts = add_up(model.count(chunk, dataset.offsets) for chunk in chunks)
    counted = clock()
    model.fit(counts, dataset)
    return counted - start, clock() - counted


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="names of click models; all if none")
    parser.add_argument("-n", type=float, default=1e6, help="sessions")
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--documents", type=int, default=20, help="per query")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    numba.set_num_threads(arguments.threads)
    n = int(arguments.n)
    dataset = random_lists(arguments.queries, arguments.documents)
    chunks = sessions(dataset, n)
    few = random_lists(4, TOP_K)
    out = sys.stdout
    out.write(
        f"{n:,} sessions, {dataset.n_queries:,} queries, {dataset.n_documents:,} documents, "
        f"{arguments.threads} thread(s)\n\n"
    )
    out.write("| model | count (s) | fit (s) | steps | sessions/s | times PyClick |\n")
    out.write("|---|---|---|---|---|---|\n")
    for name, options in MODELS:
        if arguments.models and name not in arguments.models:
            continue
        make = registry().find("click-model", name)
        measure(make(**options), sessions(few, 2000), few)  # compiles
        model = make(**options)
        count, fit = measure(model, chunks, dataset)
        assert model.fitted is not None
        steps = len(model.fitted.convergence.objective) or "closed form"
        speed = n / (count + fit)
        rival = pyclick_rival.seconds_a_session(name, chunks)
        beside = f"{speed * rival:,.0f}" if rival else ""
        label = name + "".join(f", {key}={value}" for key, value in options.items())
        out.write(f"| {label} | {count:.2f} | {fit:.2f} | {steps} | {speed:,.0f} | {beside} |\n")
        out.flush()


if __name__ == "__main__":
    main()
