"""One run of the tables: a model, and what each way of bounding its loss makes of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cltr.evaluation.certificate import Basis, blend_for_loss, worst_case
from cltr.experiment.config import RunConfig, resolve
from cltr.experiment.experiment import Experiment
from cltr.experiment.query_policies import make_policies
from cltr.interfaces import Model
from cltr.policies.on_dataset import Mixture
from cltr.types import Rewards
from tests.safety_tables.worlds import WORLDS

LOSSES = (0.01, 0.02, 0.05)
LOWS = (0.9, 0.5)
BAND_SEEDS = 3
"""Seeds on which bands are measured too: a box is trained for itself."""
INTERACTIONS = 100_000


@dataclass(frozen=True)
class Cell:
    """A data set, its users and a seed. Sets in several folds have fold ``seed % folds``."""

    world: str
    users: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.world}, {self.users}, seed {self.seed}"


class Row(NamedTuple):
    """What one way of bounding the loss gives on one split."""

    way: str
    bound: float
    split: str
    production: float
    """NDCG@5."""
    gain: float
    """NDCG@5 gained, by the true labels."""
    loss: float
    """Certified mean worst-case loss of NDCG@5."""
    largest: float
    """Certified worst-case loss of the most affected query."""


def run_cell(cell: Cell, folder: Path) -> Iterator[Row]:
    """Train once by plain DR, then bound its loss in every way; only a box is trained for itself.

    Args:
        cell: what to run.
        folder: where imported data sets are kept.
    """
    world = WORLDS[cell.world]
    data = [*world.parts(folder)][cell.seed % world.folds]
    experiment = Experiment.simulated(_config(cell, {"name": "plain"}), dataset=data)
    rewards = experiment.reward(experiment.simulate())
    model = experiment.learn(rewards).model
    for loss in LOSSES:
        yield from _budget(
            _chosen(experiment, cell, {"name": "budget", "loss": loss}, rewards),
            model,
            rewards,
            loss,
        )
        yield from _blended(experiment, model, loss)
    for low in LOWS if cell.seed <= BAND_SEEDS else ():
        band = _chosen(experiment, cell, {"name": "band", "low": low}, rewards)
        yield from _rows(band, "band", low, band.serve(model))
        box = _chosen(experiment, cell, {"name": "band", "clip": low, "box": True}, rewards)
        yield from _rows(box, "box", low, box.serve(box.learn(rewards).model))


def _config(cell: Cell, estimator: Mapping[str, Any]) -> RunConfig:
    users = {} if cell.users == "as assumed" else {"users": {"name": cell.users}}
    return resolve(
        {
            "version": "0.2",
            "on_doubt": "ignore",
            "skyline": False,
            "seed": cell.seed,
            "interactions": INTERACTIONS,
            "estimator": dict(estimator),
            **users,
        }
    )


def _chosen(
    experiment: Experiment, cell: Cell, estimator: Mapping[str, Any], rewards: Mapping[str, Rewards]
) -> Experiment:
    """The same clicks and production under another estimator."""
    found = experiment.with_config(_config(cell, estimator))
    found.prepare(rewards["train"].n_interactions, rewards["train"].n_queries)
    return found


def _budget(
    experiment: Experiment, model: Model, rewards: Mapping[str, Rewards], loss: float
) -> Iterator[Row]:
    own = make_policies(experiment, model, rewards)
    assert own is not None and own.bounded
    yield from _rows(experiment, "budget", loss, experiment.serve(model, own=own))
    yield from _rows(experiment, "blend each query", loss, experiment.serve(model))


def _blended(experiment: Experiment, model: Model, loss: float) -> Iterator[Row]:
    """Plain DR with one share of production in all queries of a split."""
    weights = experiment.rank_weights
    for split in ("train", "test"):
        whole = experiment.serve(model)[split]
        share = blend_for_loss(whole, weights, ndcg_loss=loss)
        served = experiment.serve(model, blend=share)
        yield from (row for row in _rows(experiment, "blend", loss, served) if row.split == split)


def _rows(
    experiment: Experiment, way: str, bound: float, served: Mapping[str, Mixture]
) -> Iterator[Row]:
    metrics = experiment.metrics(served)
    for split, key in (("train", "train_ndcg@5"), ("test", "ndcg@5")):
        production, policy = metrics["production"][key], metrics["policy"][key]
        assert production is not None and policy is not None
        case = worst_case(served[split], experiment.rank_weights, metric="dcg", basis=Basis())
        found = case["ndcg@5"]
        yield Row(
            way,
            bound,
            split,
            production,
            policy - production,
            found["loss"],
            found["largest_query"],
        )
