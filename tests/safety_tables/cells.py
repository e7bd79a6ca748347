"""One run of the defaults: a data set, users, a number of interactions, a seed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from cltr.experiment.config import CURRENT, resolve
from cltr.experiment.experiment import Experiment
from cltr.experiment.safe_run import run_safely
from cltr.types import Dataset
from tests.safety_tables.worlds import WORLDS

USERS: dict[str, dict[str, Any]] = {
    "as assumed": {"name": "trust-bias"},
    "adversarial": {"name": "adversarial"},
    "pbm": {"name": "pbm"},
    "dbn": {"name": "dbn"},
    "cascade": {"name": "cascade"},
    "ubm": {"name": "ubm"},
    "steep examination": {"name": "pbm", "eta": 2.0},
    "random": {"name": "trust-bias", "examination": [1e-9] * 5, "trust": [0.3] * 5},
}
RUN, LOG, DR = "run", "log", "dr"
"""The click model is the paper's; it is fitted to the clicks; plain DR with the paper's model."""


@dataclass(frozen=True)
class Cell:
    """What is run; the folds of a data set are pooled."""

    world: str
    way: str
    users: str
    interactions: int
    seed: int

    @property
    def key(self) -> str:
        """Its name in the file of finished runs."""
        return "|".join(map(str, vars(self).values()))


class Fold(NamedTuple):
    """What came out on the test queries of one fold."""

    queries: int
    production: float
    """NDCG@5 on true labels."""
    policy: float
    verdict: str
    plan: str
    gain: float
    """The estimated gain, in the training metric; NaN if there is none."""
    low: float
    high: float
    worst: float
    """Worst-case loss of NDCG@5."""
    failed: str
    """Names of the checks that did not pass, with their outcomes."""


def run_cell(cell: Cell, folder: Path) -> Iterator[Fold]:
    """Run all folds of a cell."""
    for number, dataset in enumerate(WORLDS[cell.world].parts(folder)):
        yield _run(cell, dataset, number)


def _run(cell: Cell, dataset: Dataset, fold: int) -> Fold:
    values: dict[str, Any] = {
        "version": CURRENT,
        "interactions": cell.interactions,
        "seed": cell.seed,
        "users": USERS[cell.users],
        "skyline": False,
        "production": {"seed": 100 * cell.seed + fold + 1},
    }
    if cell.way == LOG:
        values["click_model"] = {"name": "auto"}
    if cell.way == DR:
        values |= {"estimator": {"name": "dr"}, "on_doubt": "ignore"}
    experiment = Experiment.simulated(resolve(values), dataset=replace(dataset, fingerprint=""))
    found = run_safely(experiment, experiment.simulate())
    judged, verdict = found.outcome.judged, found.verdict
    metrics, numbers = judged["metrics"], verdict.numbers
    unclear = [one for one in found.precautions.checks if one.outcome != "pass"]
    return Fold(
        dataset.part("test").n_queries,
        metrics["production"]["ndcg@5"],
        metrics["policy"]["ndcg@5"],
        verdict.decision,
        found.precautions.plan,
        *(numbers.get(name, float("nan")) for name in ("value", "low", "high")),
        numbers.get("worst_case_loss", float("nan")),
        "; ".join(f"{one.name}: {one.outcome}" for one in unclear),
    )
