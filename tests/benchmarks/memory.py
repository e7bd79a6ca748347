"""Peak memory of a whole training run on a data set of any size: prints a line.

    python tests/benchmarks/memory.py --gigabytes 2

Makes a data set file like MSLR-WEB (136 features, lists of 120), block by block, and runs
``cltr train`` on it, an epoch each. What is mapped from the file counts in the peak, though the
system takes it back when it needs to; *own* memory is what it cannot take back.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.processes import measure

FEATURES, DOCUMENTS = 136, 120


def write_data(path: Path, queries: int) -> None:
    """A judged data set, never in memory as a whole."""
    import numpy as np

    from cltr.data.dataset_file import FORMAT, DatasetWriter
    from cltr.data.normalization import Normalization
    from cltr.files.storage import create_h5

    rng = np.random.default_rng(0)
    truth = rng.normal(size=FEATURES) / np.sqrt(FEATURES)
    with create_h5(path, format=FORMAT) as file:
        n = queries * DOCUMENTS
        writer = DatasetWriter(file, n_documents=n, n_features=FEATURES, id_width=3)
        for start in range(0, queries, 500):
            lists = min(500, queries - start)
            shape = (lists * DOCUMENTS, FEATURES)
            features = rng.standard_normal(shape, dtype=np.float32)
            noisy = 1.2 * features @ truth + 0.5 * rng.normal(size=len(features))
            ids = np.tile(np.arange(DOCUMENTS).astype(str), lists)
            writer.append(features, np.clip(np.floor(noisy), 0, 4).astype(np.float64), ids)
        ends = 0, int(0.6 * queries), int(0.8 * queries), queries
        writer.finish(
            offsets=np.arange(queries + 1) * DOCUMENTS,
            query_ids=np.arange(queries).astype(str),
            splits={s: ends[i : i + 2] for i, s in enumerate(("train", "valid", "test"))},
            normalization=Normalization(),
            name="synthetic",
            highest_grade=4.0,
            about={},
        )


def simulate(data: str, interactions: int) -> None:
    """A production ranker and its clicks, as ``cltr simulate`` does it."""
    from cltr.experiment import simulate_log

    with tempfile.TemporaryDirectory() as folder:
        simulate_log.simulate(_config(data, interactions), out=Path(folder) / "log.h5")


def reward(data: str, interactions: int) -> None:
    """Clicks of a made-up production ranker, its exposure, and their doubly robust rewards."""
    import numpy as np

    from cltr.data.loading import load_dataset
    from cltr.experiment.components import compose
    from cltr.experiment.experiment import Experiment
    from cltr.exposure.production_ranker import Production

    config, dataset = _config(data, interactions), load_dataset(data)
    scores = np.random.default_rng(0).normal(size=dataset.n_documents)
    experiment = Experiment(config, compose(config), dataset, Production(scores, scorer=""))
    experiment.reward(experiment.simulate())


def fit(data: str, interactions: int) -> None:
    """A click model that needs the interactions, chunk by chunk."""
    import numpy as np

    from cltr.clicks.fit_tools import add_up
    from cltr.clicks.models import PositionBased
    from cltr.clicks.simulation import simulate_sessions
    from cltr.data.loading import load_dataset
    from cltr.plugins import registry

    dataset, rng = load_dataset(data).part("train"), np.random.default_rng(0)
    scores, users = rng.normal(size=dataset.n_documents), PositionBased()
    chunks = simulate_sessions(dataset, scores, users, n=interactions, top_k=10, rng=rng)
    model = registry().find("click-model", "sdbn")()
    model.fit(add_up(model.count(chunk, dataset.offsets) for chunk in chunks), dataset)


def train(data: str, interactions: int, run: str = "") -> None:
    """Production, clicks, rewards, one epoch, evaluation: all stages of a run."""
    from cltr.experiment import train_run

    with tempfile.TemporaryDirectory() as folder:
        train_run.train(_config(data, interactions), out=Path(run or folder) / "run")


def evaluate(run: str) -> None:
    """Judge a run again, as ``cltr evaluate`` does it."""
    from cltr.experiment import evaluate_run

    evaluate_run.evaluate(Path(run) / "run")


def _config(data: str, interactions: int):
    from cltr.experiment.config import RunConfig

    return RunConfig(
        data=data,
        interactions=interactions,
        skyline=False,
        training={"epochs": 1},
        production={"epochs": 1},
        reward={"name": "dr", "epochs": 1},
    )


def train_watched(data: str, interactions: int, out: str) -> None:
    """As :func:`train`; writes the peak of the process's own memory, in bytes."""
    own = [0]

    def watch() -> None:
        status = Path("/proc/self/status")
        while True:
            lines = status.read_text().splitlines()
            own.append(next(int(x.split()[1]) for x in lines if x.startswith("RssAnon")))
            time.sleep(0.02)

    threading.Thread(target=watch, daemon=True).start()
    train(data, interactions)
    Path(out).write_text(str(max(own) * 1024))


def main() -> None:
    """Write, train, tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--interactions", type=float, default=1e6)
    arguments = parser.parse_args()
    queries = int(arguments.gigabytes * 1e9 / (4 * FEATURES * DOCUMENTS))
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "data.h5", Path(folder) / "own"
        write_data(data, queries)
        spent = measure(
            "tests.benchmarks.memory:train_watched",
            data=str(data),
            interactions=int(arguments.interactions),
            out=str(out),
        )
        sys.stdout.write(
            f"{data.stat().st_size / 1e9:.2f} GB, {queries:,} queries: {spent.seconds:.0f} s, "
            f"peak {spent.peak * 2**20 / 1e9:.2f} GB, own {float(out.read_text()) / 1e9:.2f} GB\n"
        )


if __name__ == "__main__":
    main()
