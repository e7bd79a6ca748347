"""NDCG as training time passes, for exact and for sampled gradients: draws a plot, prints a table.

    python tests/benchmarks/quality.py --out quality.png

PRPO over DR on simulated clicks, the same production ranker, clicks and start for every ranker;
processor seconds of training alone (judging the policy is not counted), test queries, mean over
seeds. ``demo`` is the embedded data; ``synthetic`` has the size of MSLR-WEB30k: 19,000 training
queries, lists of 120 documents, 136 features.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from cltr.data.loading import load_dataset
from cltr.evaluation.metrics import expected_ndcg
from cltr.experiment.config import RunConfig
from cltr.experiment.experiment import Experiment
from cltr.experiment.initial_model import start_model
from cltr.experiment.library_setup import set_up_libraries
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.training.loop import Trainer
from cltr.training.score_documents import score
from cltr.types import Dataset, Floats, Rewards
from tests.benchmarks.memory import write_data

set_up_libraries()

RANKERS = {
    "exact": {"name": "exact"},
    "pl-rank, 1000": {"name": "pl-rank", "samples": 1000},
    "pl-rank, 10": {"name": "pl-rank", "samples": 10},
    "reinforce, 1000": {"name": "reinforce", "samples": 1000},
    "reinforce, 10": {"name": "reinforce", "samples": 10},
}
Curve = list[tuple[float, float]]
"""Processor seconds and NDCG@5, some times an epoch."""
LOOKS = 10
"""How often an epoch is looked into, at most."""


class Stopwatch:
    """Judges a model now and then while it trains, off the clock."""

    def __init__(self, model, dataset: Dataset, top_k: int) -> None:
        self._model, self._test = model, dataset.part("test")
        self._dcg, self._judging, self._start = rank_weights("dcg", top_k), 0.0, 0.0
        self.curve: Curve = []

    def look(self) -> None:
        """Note the time spent on training so far, and how good the policy is."""
        now = time.process_time()
        self._start = self._start or now
        test = self._test
        weights = PlackettLuce().expected_weights(score(self._model, test), test.lists, self._dcg)
        value = expected_ndcg(weights, test.labels, test.lists, top_k=len(self._dcg)).mean()
        self.curve.append((now - self._start - self._judging, value))
        self._judging += time.process_time() - now


def learn(experiment: Experiment, rewards: dict[str, Rewards]) -> Curve:
    """Train one ranker from production, and look at it every tenth of an epoch."""
    config, dataset, ranker = experiment.config, experiment.dataset, experiment.components.ranker
    experiment.prepare(config.interactions)
    scorer = experiment.components.scorer
    model = start_model(config, dataset, experiment.production, scorer)
    batches = -(-np.count_nonzero(rewards["train"].query_weights) // config.training.batch_queries)
    watch, gradient, steps = Stopwatch(model, dataset, config.top_k), ranker.gradient, 0

    def watched(*arguments) -> Floats:
        nonlocal steps
        if steps % -(-batches // LOOKS) == 0:
            watch.look()
        steps += 1
        return gradient(*arguments)

    ranker.gradient = watched
    estimator = experiment.components.estimator
    trainer = Trainer(estimator, ranker, experiment.rank_weights, config.training)
    trainer.train(model, rewards["train"], rewards["valid"])
    watch.look()
    return watch.curve


def curves(data: str, *, interactions: int, epochs: int, seeds: int) -> dict[str, Floats]:
    """Mean curves by ranker, ``[looks, 2]``."""
    dataset = load_dataset(data)
    found: dict[str, list[Curve]] = {name: [] for name in RANKERS}
    for seed in range(seeds):
        settings = {
            "data": data,
            "interactions": interactions,
            "seed": seed,
            "training": {"epochs": epochs, "patience": epochs + 1, "keep": "last"},
        }
        shared = Experiment.simulated(RunConfig(**settings), dataset=dataset)
        rewards = shared.reward(shared.simulate())
        for name, ranker in RANKERS.items():
            run = shared.with_config(RunConfig(**settings, ranker=ranker))
            found[name].append(learn(run, rewards))
            say(f"{data}, seed {seed}, {name}: {found[name][-1][-1]}")
    return {name: np.mean(runs, axis=0) for name, runs in found.items()}


def draw(panels: dict[str, dict[str, Floats]], out: Path) -> None:
    """A panel for each data set."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(10, 3.8), layout="constrained")
    for axis, (title, found) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for name, curve in found.items():
            style = "-" if name == "exact" else "--" if "1000" in name else ":"
            axis.plot(curve[:, 0], curve[:, 1], style, label=name, linewidth=1.5)
        axis.set(title=title, xlabel="processor seconds of training", ylabel="NDCG@5, test")
        axis.set_xscale("symlog", linthresh=float(found["exact"][1, 0]))
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].legend(fontsize=8)
    figure.savefig(out, dpi=110)


def table(panels: dict[str, dict[str, Floats]]) -> str:
    """What each ranker has reached, and when it had nine tenths of what ``exact`` gains."""
    lines = ["| data | ranker | seconds | NDCG@5 at the end | seconds to nine tenths |"]
    lines.append("|---|---|---|---|---|")
    for data, found in panels.items():
        exact = found["exact"]
        goal = exact[0, 1] + 0.9 * (exact[:, 1].max() - exact[0, 1])
        for name, curve in found.items():
            reached = np.flatnonzero(curve[:, 1] >= goal)
            when = f"{curve[reached[0], 0]:.2f}" if len(reached) else "never"
            spent, value = curve[-1]
            lines.append(f"| {data} | {name} | {spent:.2f} | {value:.4f} | {when} |")
    return "\n".join(lines)


def main() -> None:
    """Train, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("quality.png"))
    parser.add_argument("-n", type=float, default=1e6, help="interactions")
    parser.add_argument("--epochs", type=int, nargs=2, default=(20, 3), help="demo's, synthetic's")
    parser.add_argument("--seeds", type=int, default=3, help="of demo; the synthetic set has one")
    parser.add_argument("--queries", type=int, default=19_000, help="to train on, synthetic set")
    arguments = parser.parse_args()
    n, (short, long) = int(arguments.n), arguments.epochs
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "synthetic.h5"
        write_data(data, round(arguments.queries / 0.6))  # of which 60% are to train on
        panels = {
            "demo": curves("demo", interactions=n, epochs=short, seeds=arguments.seeds),
            f"synthetic, {arguments.queries:,} queries": curves(
                str(data), interactions=10 * n, epochs=long, seeds=1
            ),
        }
    draw(panels, arguments.out)
    say(table(panels))


def say(line: str) -> None:
    """To stdout, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
