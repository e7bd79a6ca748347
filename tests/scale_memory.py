"""Most own memory of each process that trains on a log, measured.

    torchrun --nproc-per-node 2 -m tests.scale_memory --queries 20000

Writes random features and a log of simulated users on them, runs ``cltr train --log`` for an epoch
with IPS and no health checks, and prints a line of JSON for each process. Own memory is without
pages of files, which the system can take back; what the process had before is subtracted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

from cltr.cli.common.interrupts import end_with
from cltr.data.loading import open_dataset
from cltr.experiment import train_run
from cltr.experiment.config import resolve
from cltr.logs.log_file import LogFile, write_log
from cltr.training.together import joined
from cltr.types import ClickStatistics, Dataset
from tests import small
from tests.scale_table import Size, own_memory, write_data

DOCUMENTS, FEATURES, RANKS, DISPLAYS = 40, 8, 10, 50
"""Of each query: documents, their features, ranks that are shown, and how often it came."""


class Highest(threading.Thread):
    """Looks at the memory of this process a hundred times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before, self.bytes, self._ended = own_memory(), 0.0, threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.01):
            self.bytes = max(self.bytes, own_memory() - self.before)

    def end(self) -> float:
        self._ended.set()
        self.join()
        return self.bytes


def statistics(part: Dataset, rng: np.random.Generator) -> ClickStatistics:
    """The first documents of each list, always in the same order."""
    places = part.lists.places
    impressions = np.where(places[:, None] == np.arange(RANKS), DISPLAYS, 0)
    clicks = rng.binomial(impressions, 0.3)
    return ClickStatistics(impressions, clicks, np.full(part.n_queries, DISPLAYS), part.offsets)


def write(folder: Path, queries: int) -> None:
    """The data set and its log."""
    write_data(Size(queries, DOCUMENTS, FEATURES), folder / "data", held=queries // 10)
    data, rng = open_dataset(folder / "data"), np.random.default_rng(0)
    parts = {split: statistics(data.part(split), rng) for split in ("train", "valid")}
    scores = -data.lists.places.astype(np.float64)
    write_log(folder / "log.h5", LogFile(parts, scores, {}, data.fingerprint))


def measure(folder: Path, processes) -> float:
    """Bytes that this process took at most."""
    choices = {"data": f"{folder}/data", "log": f"{folder}/log.h5", "skyline": False}
    more = {"top_k": RANKS, "on_doubt": "ignore", "training": {"epochs": 1}}
    highest = Highest()
    highest.start()
    with processes.places(folder / "run", None) as (out, _):
        config = resolve({**small.CHOICES, **choices, **more, "click_model": {"name": "pbm"}})
        train_run.train(config, out=out)
    return highest.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=float, default=20_000)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.write is not None:
        write(given.write, int(given.queries))
        return
    with joined(end_with) as processes, tempfile.TemporaryDirectory() as own:
        folder = Path(processes.from_first(own))
        for queries in (100, int(given.queries)):  # the first time kernels are compiled
            place = folder / f"{queries}"
            if processes.first:
                place.mkdir()
                words = ["-m", "tests.scale_memory", f"--write={place}", f"--queries={queries}"]
                subprocess.run([sys.executable, *words], check=True)
            processes.agree([])
            found = measure(place, processes)
        documents = int(given.queries) * DOCUMENTS
        line = {"process": processes.rank, "bytes": found, "bytes a document": found / documents}
        sys.stdout.write(json.dumps(line) + "\n")
        processes.agree([])


if __name__ == "__main__":
    main()
