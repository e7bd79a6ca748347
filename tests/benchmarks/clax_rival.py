"""CLAX (``clax-models`` on PyPI) as a rival of the click models: prints a table in markdown.

    CLAX_PYTHON=/path/to/python python tests/benchmarks/clax_rival.py
    CLAX_PYTHON=/path/to/python python tests/benchmarks/clax_rival.py --queries 5000 pbm

The interpreter is that of an environment of its own, which has CLAX (0.1.1 needs ``jax<0.8``).
Both fit the same sessions and predict the clicks of the same held-out ones. CLAX trains until its
held-out log-likelihood is within 1e-4 of ours (mean over documents shown), or until it only gets
worse. Seconds are processor time of training: compiling, reading and judging are left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from cltr.plugins import registry
from cltr.types import ClickLog, Dataset, Floats
from tests.benchmarks import clickmodels

CLOSE = 1e-4
BATCH, RATE, EPOCHS = 4096, 0.1, 40
"""The fastest of seven settings tried for pbm; docs/performance.md lists them. Ubm got no other."""


class Sessions(NamedTuple):
    """Of one data set: to fit to, and to judge by."""

    dataset: Dataset
    fit: ClickLog
    held_out: ClickLog


def draw(queries: int, n: int) -> Sessions:
    """Sessions in random order; a fifth of them is held out."""
    dataset = clickmodels.random_lists(queries, 20)
    chunks = clickmodels.sessions(dataset, n + n // 4)
    columns = [
        np.concatenate([getattr(c, name) for c in chunks])
        for name in ("queries", "documents", "clicks")
    ]
    order = np.random.default_rng(3).permutation(len(columns[0]))
    parts = (ClickLog(*(column[some] for column in columns)) for some in (order[:n], order[n:]))
    return Sessions(dataset, *parts)


def ours(name: str, sessions: Sessions) -> tuple[float, float]:
    """Seconds to count and fit, and the held-out log-likelihood."""
    few = clickmodels.random_lists(4, clickmodels.TOP_K)
    make = registry().find("click-model", name)
    clickmodels.measure(make(), clickmodels.sessions(few, 2000), few)  # compiles
    spent = []
    for _ in range(3):
        model = make()
        start = time.process_time()
        model.fit(model.count(sessions.fit, sessions.dataset.offsets), sessions.dataset)
        spent.append(time.process_time() - start)
    clicks = sessions.held_out.clicks
    relevance = model.relevance()[sessions.held_out.documents]
    chances = model.conditional_probabilities(relevance, clicks, {})
    return min(spent), _log_likelihood(chances, clicks)


def _log_likelihood(chances: Floats, clicks: np.ndarray) -> float:
    inside = chances.clip(1e-6, 1 - 1e-6)
    return float(np.log(np.where(clicks, inside, 1 - inside)).mean())


def clax(name: str, sessions: Sessions, target: float) -> dict[str, Any]:
    """What CLAX took in its own interpreter; see ``clax_worker``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sessions.npz"
        np.savez(
            path,
            documents=(sessions.fit.documents + 1).astype(np.int32),  # 0 is padding there
            clicks=sessions.fit.clicks.astype(np.float32),
            held_out=(sessions.held_out.documents + 1).astype(np.int32),
            held_out_clicks=sessions.held_out.clicks.astype(np.float32),
            n_documents=sessions.dataset.n_documents,
        )
        worker = Path(__file__).with_name("clax_worker.py")
        given = [str(x) for x in (path, name, BATCH, RATE, target, EPOCHS)]
        words = [os.environ["CLAX_PYTHON"], str(worker), *given]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        environment.pop("PYTHONPATH", None)
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["pbm", "ubm"])
    parser.add_argument("-n", type=float, default=200_000, help="sessions to fit to")
    parser.add_argument("--queries", type=int, default=500)
    arguments = parser.parse_args()
    if "CLAX_PYTHON" not in os.environ:
        parser.error("set CLAX_PYTHON to the interpreter of an environment that has clax-models")
    sessions = draw(arguments.queries, int(arguments.n))
    heads = "model", "ours (s)", "held-out", "CLAX (s)", "held-out", "epochs", "compiling (s)"
    sys.stdout.write(f"{int(arguments.n):,} sessions, {arguments.queries:,} queries\n\n")
    sys.stdout.write(f"| {' | '.join(heads)} | times |\n|{'---|' * 8}\n")
    for name in arguments.models:
        seconds, reached = ours(name, sessions)
        found = clax(name, sessions, reached - CLOSE)
        best = int(np.argmax(found["scores"]))
        its = found["spent"][best]
        cells = (
            f"{name} | {seconds:.3f} | {reached:.5f} | {its:.2f} | {found['scores'][best]:.5f}",
            f"{best + 1} | {found['compiling']:.2f} | {its / seconds:.1f}",
        )
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
