"""A whole epoch over a synthetic set of MSLR-WEB30k's size beside parts of it: prints a table.

    python tests/benchmarks/epoch.py
    python tests/benchmarks/epoch.py --scale 4
    python tests/benchmarks/epoch.py --queries 2000 --ranker pl-rank

19,000 queries with 120 documents of 136 features, 1.2 GB; PRPO over rewards of both signs. Beside
it the network alone, forward and backward of all documents, and its bare matrix products, by the
libraries that torch has and by those that cltr chooses on this processor. ``--scale`` is the
standard deviation of the scores: 1 is a flat policy, and on peaked ones, such as training makes,
fewer documents have a slope that counts.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from cltr.experiment.library_setup import set_up_libraries

set_up_libraries()  # before torch is imported, as the command line does

import torch  # noqa: E402

from cltr.training.products import ONEDNN, TORCH, Products, chosen_products  # noqa: E402
from tests.benchmarks.work import BATCH, FEATURES, Problem  # noqa: E402


def spent(call: Callable[[], None]) -> tuple[float, float]:
    """Seconds and processor seconds."""
    start = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def products(by: Products, queries: int) -> Callable[[], None]:
    """All matrix products of an epoch's steps, and nothing else; each by all threads together."""
    rows = BATCH * 120
    first, second = torch.randn(150, FEATURES), torch.randn(75, 150)
    inputs, hidden, last = (torch.randn(rows, width) for width in (FEATURES, 150, 75))

    def run() -> None:
        for _ in range(queries // BATCH):
            by.through(inputs, first)
            by.through(hidden, second)
            by.gradient(last, hidden)
            by.through(last, second.t())
            by.gradient(hidden, inputs)

    return run


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=19_000)
    parser.add_argument("--ranker", default="exact")
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    small = Problem(queries=64)
    small.train(arguments.ranker)()  # compiles
    small.scorer_alone()()
    problem = Problem(queries=arguments.queries, scale=arguments.scale)
    work = {
        f"epoch, {arguments.ranker}": problem.train(arguments.ranker),
        "network alone, by torch": problem.scorer_alone(),
        "network alone, as cltr has it": problem.scorer_alone(fast=True),
        "bare products of torch": products(TORCH, arguments.queries),
        "bare products of oneDNN": products(ONEDNN, arguments.queries),
        "bare products as cltr has them": products(chosen_products(), arguments.queries),
    }
    with torch.no_grad():
        for name in list(work)[3:]:
            work[name]()
    sys.stdout.write(f"{arguments.queries:,} queries of 120 documents, {torch.get_num_threads()} ")
    sys.stdout.write("threads\n| work | seconds | processor seconds |\n|---|---|---|\n")
    for name, call in work.items():
        seconds, cpu = spent(call)
        sys.stdout.write(f"| {name} | {seconds:.2f} | {cpu:.2f} |\n")


if __name__ == "__main__":
    main()
