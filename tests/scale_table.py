"""What a training of any size takes, by arithmetic; and what a small one takes, measured.

    python -m tests.scale_table --queries 1e7 --documents 120 --processes 16
    python -m tests.scale_table --measure 3000 --documents 120
    torchrun --nproc-per-node 2 -m tests.scale_table --measure 3000 --documents 120

The numbers of docs/scale.md come from here. A measurement trains PRPO with exact gradients on
random features for some epochs, and says what a step took: seconds, processor time of every
process, and the bytes that went over the loopback interface of the machine.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cltr.cli.common.interrupts import end_with
from cltr.data.loading import open_dataset
from cltr.data.shards import write_shards
from cltr.documents import ModelSetup
from cltr.interfaces import EstimatorContext
from cltr.objectives.prpo import PRPO
from cltr.objectives.rewards import Naive
from cltr.policies.rank_weights import rank_weights
from cltr.training.exact_ranker import Exact
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.processes import current_processes
from cltr.training.scorers import Mlp
from cltr.training.together import joined
from cltr.types import Dataset, Exposure, Rewards

FLOAT32, FLOAT64, CHARACTER = 4, 8, 4
"""Bytes of features and gradients, of everything that is computed, and of a character of an id."""
ID_WIDTH = 10
"""Characters of a document's id."""


@dataclass(frozen=True)
class Size:
    """A training: queries with documents each, and who trains."""

    queries: int
    documents: int = 120
    features: int = 136
    top_k: int = 10
    batch_queries: int = 32
    processes: int = 1

    @property
    def parameters(self) -> int:
        """Of the default scorer, counted on the model itself."""
        model = Mlp().build(ModelSetup(self.features, 0), seed=0)
        return sum(array.size for array in model.state().values())

    def needs(self) -> dict[str, float]:
        """Bytes, steps and network, by arithmetic."""
        n = self.queries * self.documents
        gradient = self.parameters * FLOAT32
        steps = math.ceil(self.queries / self.batch_queries)
        sent = 2 * (self.processes - 1) / self.processes * gradient  # a ring of gloo
        return {
            "documents": n,
            "features on disk, bytes": n * self.features * FLOAT32,
            "features a process reads in an epoch, bytes": n
            * self.features
            * FLOAT32
            / self.processes,
            "document ids on disk, bytes": n * ID_WIDTH * CHARACTER,
            "labels in memory, bytes": n * FLOAT64,
            "impressions and clicks in the first process, bytes": n * 2 * self.top_k * FLOAT64,
            "rewards and exposure in the first process, bytes": n * 4 * FLOAT64,
            "rewards and exposure in another, bytes": n * 4 * FLOAT64 / self.processes,
            "scores in the first process, bytes": n * FLOAT64,
            "parameters": self.parameters,
            "gradient, bytes": gradient,
            "steps of an epoch": steps,
            "sent by a process in a step, bytes": sent,
            "sent by a process in an epoch, bytes": sent * steps,
        }


def write_data(size: Size, path: Path, *, held: int = 0) -> None:
    """Random features in two shards; so many queries are for validation, and for testing."""
    rng = np.random.default_rng(0)
    n = size.queries * size.documents
    made = Dataset(
        rng.standard_normal((n, size.features), np.float32),
        rng.integers(0, 5, n).astype(np.float64),
        np.arange(size.queries + 1) * size.documents,
        np.arange(size.queries).astype(str),
        np.arange(n).astype(f"U{ID_WIDTH}"),
        {
            "train": (0, size.queries - 2 * held),
            "valid": (size.queries - 2 * held, size.queries - held),
            "test": (size.queries - held, size.queries),
        },
    )
    write_shards(made, path, n_shards=2)


def random_data(size: Size, path: Path) -> Dataset:
    """Written by a process of its own, so that nobody's memory shows it."""
    if current_processes().first:
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in vars(size).items()]
        command = [sys.executable, "-m", "tests.scale_table", f"--write={path}", *flags]
        subprocess.run(command, check=True)
    current_processes().agree([])
    return open_dataset(path)


def random_rewards(data: Dataset, weights: np.ndarray) -> Rewards:
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(data.n_documents)
    exposure = Exact().policy.expected_weights(scores, data.lists, weights)
    values = rng.random(data.n_documents)
    queries = np.full(data.n_queries, 1 / data.n_queries)
    return Rewards(data, values, Exposure(exposure, exposure.copy(), exposure.copy()), queries)


def measure(size: Size, epochs: int) -> dict[str, Any]:
    """Train, and say what a step took in this process and in all of them."""
    processes, weights = current_processes(), rank_weights("dcg", size.top_k)
    with tempfile.TemporaryDirectory() as own:
        folder = Path(processes.from_first(own))
        training = random_rewards(random_data(size, folder / "data"), weights)
        estimator = PRPO(Naive())
        estimator.prepare(EstimatorContext(10**6, weights, "dcg", None))
        model = Mlp().build(ModelSetup(size.features, 0), seed=0)
        options = TrainingOptions(epochs=epochs, batch_queries=size.batch_queries)
        marks: list[dict[str, float]] = []
        trainer = Trainer(estimator, Exact(), weights, options)
        trainer.train(model, training, None, on_epoch=lambda state: marks.append(_mark()))
        processes.agree([])
    steps = math.ceil(size.queries / size.batch_queries)
    # The first epoch compiles; the best of the others is the least disturbed by other work.
    seconds = [b["seconds"] - a["seconds"] for a, b in pairwise(marks[1:])]
    busy, lost = (
        (marks[-1][name] - marks[1][name]) / (epochs - 1) / steps for name in ("busy", "loopback")
    )
    summed = (marks[-1]["summed"] - marks[1]["summed"]) / (epochs - 1) / steps
    return {
        "processes": processes.count,
        "seconds a step, best epoch": min(seconds) / steps,
        "seconds a step, all epochs": [round(one / steps, 5) for one in seconds],
        "processor seconds a step, all processes": processes.total(busy),
        "processor seconds a step, this process": busy,
        "bytes summed a step": summed,
        "bytes over loopback a step": lost,
        "own memory of this process, bytes": marks[-1]["memory"],
    }


def _mark() -> dict[str, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    lines = Path("/proc/net/dev").read_text().splitlines()
    loopback = next(line for line in lines if line.strip().startswith("lo:"))
    return {
        "seconds": time.perf_counter(),
        "busy": used.ru_utime + used.ru_stime,
        "memory": own_memory(),
        "summed": getattr(current_processes(), "sent", 0),
        "loopback": float(loopback.split(":")[1].split()[8]),
    }


def own_memory() -> float:
    """Bytes of memory without pages of files, which the system can take back."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * float(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("queries", 1e7), ("documents", 120), ("features", 136), ("top-k", 10)):
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--batch-queries", type=float, default=32)
    parser.add_argument("--processes", type=float, default=1)
    parser.add_argument("--measure", type=float, help="queries to train on")
    parser.add_argument("--write", type=Path, help="folder to write random data to")
    parser.add_argument("--epochs", type=int, default=4)
    given = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    measured, epochs, path = (given.pop(name, None) for name in ("measure", "epochs", "write"))
    size = Size(**{name: int(value) for name, value in given.items()})
    if path is not None:
        write_data(size, path)
        return
    if measured is None:
        found: dict[str, Any] = size.needs()
    else:
        with joined(end_with) as processes:
            found = measure(Size(**{**vars(size), "queries": int(measured)}), epochs)
            if not processes.first:
                return
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
