"""A whole epoch over a synthetic set of MSLR-WEB30k's size beside a scorer-only one: prints a line.

    python tests/benchmarks/epoch.py
    python tests/benchmarks/epoch.py --queries 2000 --ranker pl-rank

19,000 queries with 120 documents of 136 features, 1.2 GB; PRPO over rewards of both signs.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from cltr.experiment.library_setup import set_up_libraries
from tests.benchmarks.work import Problem

set_up_libraries()


def spent(call: Callable[[], None]) -> tuple[float, float]:
    """Seconds and processor seconds."""
    start = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=19_000)
    parser.add_argument("--ranker", default="exact")
    arguments = parser.parse_args()
    small = Problem(queries=64)
    small.train(arguments.ranker)()  # compiles
    small.scorer_alone()()  # imports torch's compiler
    problem = Problem(queries=arguments.queries)
    epoch, alone = problem.train(arguments.ranker), problem.scorer_alone()
    ours, bare = spent(epoch), spent(alone)
    sys.stdout.write(
        f"{arguments.queries:,} queries, {arguments.ranker}: {ours[0]:.1f} s, cpu {ours[1]:.1f} s; "
        f"scorer alone {bare[0]:.1f} s, cpu {bare[1]:.1f} s; "
        f"ratio {ours[0] / bare[0]:.2f}, of cpu {ours[1] / bare[1]:.2f}\n"
    )


if __name__ == "__main__":
    main()
