"""Every ranker's training value as a share of the optimum's: docs/optimum.csv and docs/budget.md.

    python -m tests.optimum_table

Interrupt it at any time; the same command resumes. Production's value is 0, the optimum's 1.
The epoch with the best training value counts.
"""

import csv
import sys
from itertools import product
from pathlib import Path

from cltr.data.demo import demo_dataset
from cltr.experiment.config import RunConfig, resolve
from cltr.experiment.experiment import Experiment
from cltr.interfaces import QueryTask
from cltr.plugins import registry
from cltr.training.optimum_ranker import Optimum
from cltr.types import Dataset, Floats, Rewards

DOCS = Path(__file__).parents[1] / "docs"
PAGE, TABLE = DOCS / "budget.md", DOCS / "optimum.csv"
MARK = "<!-- optimum -->\n"
ESTIMATORS = {
    "plain": {"name": "plain"},
    "prpo 0.5": {"name": "prpo", "clip": 0.5},
    "prpo 0.5, rollback 1": {"name": "prpo", "clip": 0.5, "rollback": 1.0},
    "band 0.5, price 0.4": {"name": "band", "low": 0.5, "price": 0.4},
}
SCORERS = ("mlp", "table")
EPOCHS = 20
"""None for the optimum: its policies of training queries need no model."""
FIRST = ("optimum", "exact")
FIELDS = ("ranker", "scorer", *ESTIMATORS)


def begin(dataset: Dataset | None = None, **values: object) -> tuple[Experiment, Rewards]:
    """Production and rewards, the same for every ranker.

    Args:
        dataset: the embedded one by default.
        values: of the run file.
    """
    config = _config(ESTIMATORS["plain"], "exact", "mlp", values)
    experiment = Experiment.simulated(config, dataset=dataset or demo_dataset())
    return experiment, experiment.reward(experiment.simulate())["train"]


def shares(
    experiment: Experiment, rewards: Rewards, ranker: str, scorer: str, **values: object
) -> list[float]:
    """Share of the optimum's value over production's that a ranker reaches, by estimator.

    Args:
        experiment: of :func:`begin`.
        rewards: of the training queries.
        ranker: by name.
        scorer: by name; ``table`` has a number of its own for every document.
        values: of the run file.
    """
    found = []
    for estimator in ESTIMATORS.values():
        here = experiment.with_config(_config(estimator, ranker, scorer, values))
        learned = here.learn({"train": rewards, "valid": rewards})
        new = here.serve(learned.model, own=learned.own)["train"].new
        production = rewards.exposure.weights
        best = Optimum().query_weights(
            QueryTask(
                here.components.estimator,
                rewards.values,
                production,
                rewards.dataset.lists,
                here.rank_weights,
                rewards.query_weights,
            )
        )
        each = (production, best, new.weights(here.rank_weights))
        low, high, reached = (_value(here, weights, rewards) for weights in each)
        found.append((reached - low) / (high - low))
    return found


def _config(
    estimator: dict[str, object], ranker: str, scorer: str, values: dict[str, object]
) -> RunConfig:
    rate = {"learning_rate": 0.05} if scorer == "table" else {}
    chosen = {
        "version": "0.2",
        "on_doubt": "ignore",
        "skyline": False,
        "estimator": estimator,
        "ranker": {"name": ranker},
        "scorer": {"name": scorer},
        "production": {"scorer": "mlp"},
        "training": {"epochs": 0 if ranker == "optimum" else EPOCHS, "patience": EPOCHS, **rate},
    }
    return resolve({**chosen, **values})


def _value(experiment: Experiment, weights: Floats, rewards: Rewards) -> float:
    estimator = experiment.components.estimator
    gain = estimator.gain(weights, rewards.exposure.weights, rewards.values)
    return float((rewards.query_weights * rewards.dataset.lists.sum(gain)).sum())


def read_table() -> dict[tuple[str, str], list[float]]:
    """Finished rows by ranker and scorer."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    return {
        (row["ranker"], row["scorer"]): [float(row[name]) for name in ESTIMATORS] for row in rows
    }


def markdown(done: dict[tuple[str, str], list[float]]) -> str:
    """The table of the page."""
    lines = [[*FIELDS], ["---"] * len(FIELDS)]
    for (ranker, scorer), found in sorted(done.items(), key=lambda one: (one[0][1], -one[1][0])):
        lines.append([f"`{ranker}`", f"`{scorer}`", *(f"{100 * one:.1f}%" for one in found)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    """Run what is missing, then fill the page."""
    done = read_table()
    experiment, rewards = begin()
    rankers = sorted(registry().names("ranker"), key=lambda name: name not in FIRST)
    for ranker, scorer in product(rankers, SCORERS):
        if (ranker, scorer) not in done:
            done[ranker, scorer] = shares(experiment, rewards, ranker, scorer)
            new = not TABLE.exists()
            with TABLE.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if new:
                    writer.writerow(FIELDS)
                writer.writerow([ranker, scorer, *(f"{one:.6f}" for one in done[ranker, scorer])])
            sys.stderr.write(f"{ranker}, {scorer}: {done[ranker, scorer]}\n")
    fill(done)


def fill(done: dict[tuple[str, str], list[float]]) -> None:
    """Write the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, mark, after = page.partition(MARK)
    rest = after.lstrip("\n").split("\n\n", 1)[1] if after.lstrip("\n").startswith("|") else after
    PAGE.write_text(f"{before}{mark}\n{markdown(done)}\n{rest.lstrip()}", encoding="utf-8")


if __name__ == "__main__":
    main()
