"""A whole ``cltr train`` on a synthetic set of MSLR-WEB30k's size, stage by stage: prints a table.

    python tests/benchmarks/whole_run.py
    python tests/benchmarks/whole_run.py --queries 3000 --interactions 1e6 --lightgbm --products

31,500 queries of 120 documents with 136 features, 2.1 GB, of which 18,900 to train on; PRPO over
DR with the defaults, and ten epochs. As many threads as the libraries take by themselves.
The row of training has validation too; the last one does not. ``--products`` adds the matrix
products of these epochs alone, forward and backward for all documents.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from cltr.api.choices import configure
from cltr.data.loading import load_dataset
from cltr.experiment import train_run
from cltr.experiment.progress import Progress
from cltr.training.loop import Trainer
from tests.benchmarks.memory import write_data

EPOCHS, TREES = 10, 300


class Stopwatch(Progress):
    """Seconds, and processor seconds of all threads, of one stage after the other."""

    def __init__(self) -> None:
        self.stages: dict[str, list[float]] = {}
        self._now, self._began = "open the data", _clocks()

    def stage(self, text: str) -> None:
        ended = _clocks()
        spent = self.stages.setdefault(self._now, [0.0, 0.0])
        for which in range(2):
            spent[which] += ended[which] - self._began[which]
        self._now, self._began = text, ended

    def rows(self) -> list[tuple[str, float, float]]:
        """Stages with their times, and the whole."""
        self.stage("")
        rows = [(name, *spent) for name, spent in self.stages.items()]
        return [*rows, ("whole run", sum(row[1] for row in rows), sum(row[2] for row in rows))]


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


@contextmanager
def timed_epochs() -> Iterator[list[tuple[float, float]]]:
    """Seconds, and processor seconds, of every epoch inside, without its validation."""
    found: list[tuple[float, float]] = []
    epoch = Trainer._epoch

    def timed(*given: object) -> None:
        began = _clocks()
        epoch(*given)
        found.append(tuple(b - a for a, b in zip(began, _clocks(), strict=True)))

    Trainer._epoch = timed
    try:
        yield found
    finally:
        Trainer._epoch = epoch


def train(data: Path, interactions: float, *, skyline: bool) -> list[tuple[str, float, float]]:
    """``cltr train --data DATA -n N -o training.epochs=10``, with or without the skyline."""
    given = {"data": str(data), "interactions": interactions, "skyline": skyline}
    config = configure(given, {"training.epochs": EPOCHS}, None)
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder, timed_epochs() as epochs:
        train_run.train(config, out=Path(folder) / "run", progress=watch)
    rows = watch.rows()  # before that the production ranker had epochs, too
    return [*rows, (f"{EPOCHS} epochs", *map(sum, zip(*epochs[-EPOCHS:], strict=True)))]


def lambdarank(data: Path) -> Callable[[], object]:
    """LightGBM on the same training queries, whose labels it sees; its own data set is made."""
    import lightgbm

    part = load_dataset(str(data)).part("train")
    made = lightgbm.Dataset(part.features, part.labels, group=part.lists.lengths)
    options = {"objective": "lambdarank", "verbose": -1, "lambdarank_truncation_level": 5}
    return lambda: lightgbm.train(options, made, num_boost_round=TREES)


def bare_products(queries: int) -> tuple[str, float, float]:
    """The products of all epochs' steps, by the libraries that cltr chooses on this processor."""
    import torch

    from cltr.training.products import chosen_products
    from tests.benchmarks.epoch import products, spent

    with torch.no_grad():
        products(chosen_products(), queries)()
        found = spent(products(chosen_products(), EPOCHS * queries))
    return f"bare products of {EPOCHS} epochs", *found


def main() -> None:
    """Make the data, train, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=31_500, help="60%% of them to train on")
    parser.add_argument("--interactions", type=float, default=1e7)
    parser.add_argument("--data", type=Path, help="keep the data here, and use it again")
    parser.add_argument("--skyline", action="store_true", help="also train on the labels")
    parser.add_argument("--lightgbm", action="store_true", help="beside lambdarank, 300 trees")
    parser.add_argument("--products", action="store_true", help="beside the bare matrix products")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = arguments.data or Path(folder) / "data.h5"
        if not data.exists():
            write_data(data, arguments.queries)
        rows = train(data, arguments.interactions, skyline=arguments.skyline)
        if arguments.lightgbm:
            fit, began = lambdarank(data), _clocks()
            fit()
            ended = _clocks()
            rows.append((f"lambdarank, {TREES} trees", ended[0] - began[0], ended[1] - began[1]))
        if arguments.products:
            rows.append(bare_products(len(load_dataset(str(data)).part("train").lists.lengths)))
    sys.stdout.write("| stage | seconds | processor seconds |\n|---|---|---|\n")
    for name, seconds, cpu in rows:
        sys.stdout.write(f"| {name} | {seconds:.1f} | {cpu:.1f} |\n")


if __name__ == "__main__":
    main()
