"""Time and memory of simulation as N grows, on lists like those of MSLR-WEB30k: prints a table.

    python tests/benchmarks/simulation.py
    python tests/benchmarks/simulation.py --queries 1000 --sessions

Counts are drawn, not interactions, so memory does not depend on N and time stops growing where
rankings repeat. ``--sessions`` also draws the interactions themselves, up to a million of them.
Each line has a process of its own.
"""

import argparse
import resource
import subprocess
import sys
import time


def make_lists(queries: int, documents: int, scale: float):
    """Judged lists without features, and production's scores of their documents."""
    import numpy as np

    from cltr.types import Dataset

    rng = np.random.default_rng(0)
    n = queries * documents
    dataset = Dataset(
        features=np.zeros((n, 0), np.float32),
        labels=rng.integers(0, 5, n).astype(float),
        offsets=np.arange(queries + 1) * documents,
        query_ids=np.arange(queries),
        document_ids=np.arange(n),
    )
    return dataset, scale * rng.normal(size=n)


def draw_counts(dataset, scores, n: int) -> int:
    """Clicks in statistics of n interactions."""
    return int(_draw("simulate_statistics", dataset, scores, n).clicks.sum())


def draw_sessions(dataset, scores, n: int) -> int:
    """Clicks in n interactions."""
    chunks = _draw("simulate_sessions", dataset, scores, n)
    return sum(int(chunk.clicks.sum()) for chunk in chunks)


WAYS = {"counts": draw_counts, "sessions": draw_sessions}


def _draw(name: str, dataset, scores, n: int):
    import numpy as np

    from cltr.clicks import simulation
    from cltr.clicks.models import TrustBias

    draw = getattr(simulation, name)
    return draw(dataset, scores, TrustBias(), n=n, top_k=5, rng=np.random.default_rng(1))


def run_task(way: str, n: int, queries: int, documents: int, scale: float) -> None:
    """Draw once and print seconds, cpu, peak memory and clicks per interaction."""
    WAYS[way](*make_lists(10, documents, scale), 1000)
    dataset, scores = make_lists(queries, documents, scale)
    before = time.perf_counter(), time.process_time()
    clicks = WAYS[way](dataset, scores, n)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent = time.perf_counter() - before[0], time.process_time() - before[1]
    say(f"{spent[0]} {spent[1]} {peak} {clicks / n}")


def measure(way: str, n: int, arguments: argparse.Namespace) -> str:
    """One line of the table, from a new process."""
    sizes = arguments.queries, arguments.documents, arguments.scale
    words = [sys.executable, __file__, "--task", way, *map(str, (n, *sizes))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    wall, cpu, peak, rate = (float(word) for word in done.stdout.split())
    return f"{wall:9.2f}{cpu:9.2f}{peak:9.0f}{rate:14.4f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=19_000)
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--scale", type=float, default=2.0, help="of production's scores")
    parser.add_argument("--most", type=float, default=1e9, help="interactions")
    parser.add_argument("--sessions", action="store_true", help="draw interactions too")
    parser.add_argument("--task", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        way, n, queries, documents, scale = arguments.task
        run_task(way, int(n), int(queries), int(documents), float(scale))
        return
    say(f"{arguments.queries:,} queries with {arguments.documents} documents, 5 ranks")
    say(f"{'N':>8}{'way':>10}{'seconds':>9}{'cpu':>9}{'peak MB':>9}{'clicks per N':>14}")
    for exponent in range(3, 10):
        n = 10**exponent
        if n > arguments.most:
            break
        for way in WAYS:
            if way == "counts" or (arguments.sessions and n <= 10**6):
                say(f"{f'1e{exponent}':>8}{way:>10}{measure(way, n, arguments)}")


def say(line: str) -> None:
    """To stdout, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
