"""NDCG as training time passes, for exact and for sampled gradients: draws a plot, prints a table.

    python tests/benchmarks/quality.py --out docs/quality.png

PRPO over DR on simulated clicks, the same production ranker, clicks and start for every ranker;
processor seconds of training alone (judging the epochs is not counted), test queries, mean over
seeds. ``demo`` is the embedded data; ``synthetic`` has the size of MSLR-WEB30k: 19,000 training
queries, lists of 120 documents, 136 features.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line does
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from cltr import pipeline
from cltr.components import compose
from cltr.config import RunConfig
from cltr.metrics import expected_ndcg, rank_weights
from cltr.policies import PlackettLuce
from cltr.simulation import simulate_statistics
from cltr.training import TrainingState, score
from cltr.types import Dataset, Floats
from tests.benchmarks.memory import write_data

RANKERS = {
    "exact": {"name": "exact"},
    "pl-rank, 1000": {"name": "pl-rank", "samples": 1000},
    "pl-rank, 10": {"name": "pl-rank", "samples": 10},
    "reinforce, 1000": {"name": "reinforce", "samples": 1000},
    "reinforce, 10": {"name": "reinforce", "samples": 10},
}
Curve = list[tuple[float, float]]
"""Processor seconds and NDCG@5 after each epoch."""


def learn(config: RunConfig, dataset: Dataset, production, statistics, rewarded) -> Curve:
    """Train one ranker; judge every epoch off the clock."""
    parts = compose(config)
    module = pipeline.new_module(parts.scorer, dataset, seed=0)
    test, dcg = dataset.part("test"), rank_weights("dcg", config.top_k)
    curve: Curve = []
    judging, start = 0.0, 0.0

    def after_epoch(state: TrainingState) -> None:
        nonlocal judging, start
        now = time.process_time()
        start = start or now  # the first call comes before the first epoch
        module.load_state_dict(state.weights)
        weights = PlackettLuce().expected_weights(score(module, test), test.lists, dcg)
        value = expected_ndcg(weights, test.labels, test.lists, top_k=config.top_k).mean()
        curve.append((now - start - judging, value))
        judging += time.process_time() - now

    pipeline.learn(
        config,
        parts,
        dataset,
        production,
        statistics,
        pipeline.Progress(),
        rewarded=rewarded,
        on_epoch=after_epoch,
    )
    return curve


def curves(data: str, *, interactions: int, epochs: int, seeds: int) -> dict[str, Floats]:
    """Mean curves by ranker, ``[epochs + 1, 2]``."""
    dataset = pipeline.load_data(data)
    found: dict[str, list[Curve]] = {name: [] for name in RANKERS}
    for seed in range(seeds):
        settings = {
            "data": data,
            "interactions": interactions,
            "seed": seed,
            "training": {"epochs": epochs, "patience": epochs + 1},
        }
        config = RunConfig(**settings)
        production = pipeline.train_production(config, dataset, pipeline.Progress())
        parts = compose(config)
        statistics = {
            split: pipeline.simulate(
                config, dataset, production, parts.users, split, draw=simulate_statistics
            )
            for split in pipeline.LOGGED
        }
        rewarded = pipeline.reward_clicks(config, parts, dataset, production, statistics)
        for name, ranker in RANKERS.items():
            run = RunConfig(**settings, ranker=ranker)
            found[name].append(learn(run, dataset, production, statistics, rewarded))
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
    """What each ranker has reached, and when it reached what ``exact`` has half-way."""
    lines = ["| data | ranker | seconds an epoch | NDCG@5 at the end | seconds to reach |"]
    lines.append("|---|---|---|---|---|")
    for data, found in panels.items():
        exact = found["exact"]
        goal = exact[0, 1] + 0.9 * (exact[:, 1].max() - exact[0, 1])
        for name, curve in found.items():
            reached = np.flatnonzero(curve[:, 1] >= goal)
            when = f"{curve[reached[0], 0]:.2f}" if len(reached) else "never"
            each = curve[-1, 0] / (len(curve) - 1)
            lines.append(f"| {data} | {name} | {each:.3f} | {curve[-1, 1]:.4f} | {when} |")
    return "\n".join(lines)


def main() -> None:
    """Train, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("quality.png"))
    parser.add_argument("-n", type=float, default=1e6, help="interactions")
    parser.add_argument("--epochs", type=int, nargs=2, default=(20, 6), help="demo's, synthetic's")
    parser.add_argument("--seeds", type=int, default=3, help="of demo; the synthetic set has one")
    parser.add_argument("--queries", type=int, default=19_000, help="to train on, synthetic set")
    arguments = parser.parse_args()
    n, (short, long) = int(arguments.n), arguments.epochs
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "synthetic.h5"
        write_data(data, round(arguments.queries / 0.6))  # of which 60 % are to train on
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
