"""Off-policy values of a policy that was learned from the same log: training to test clicks."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cltr.data.demo import demo_dataset
from cltr.evaluation.off_policy import off_policy_values
from cltr.experiment.components import compose
from cltr.experiment.config import RunConfig, resolve
from cltr.experiment.experiment import Experiment
from cltr.exposure.production_ranker import Production
from cltr.policies.on_dataset import Mixture
from cltr.training.score_documents import score
from cltr.types import ClickStatistics
from tests.coverage_tables.off_policy_cases import outcomes
from tests.coverage_tables.population import DCG, N_QUERIES, draw_clicks, population
from tests.coverage_tables.record import Case, Outcome

SPLITS = {"train": (0, 30), "valid": (30, 45), "test": (45, 105)}
"""Queries of a small run."""


def small_config(seed: int) -> RunConfig:
    """PRPO over DR, a few epochs; early stopping on validation clicks."""
    return resolve(
        {
            "seed": seed,
            "skyline": False,
            "reward": {"name": "dr", "hidden": [8], "epochs": 15},
            "scorer": {"name": "mlp", "hidden": [6]},
            "training": {"epochs": 5, "learning_rate": 0.03},
        }
    )


def small_experiment(seed: int) -> tuple[Experiment, dict[str, ClickStatistics]]:
    """A run on queries drawn afresh, and clicks on all its splits."""
    world, rng = population(), np.random.default_rng([11, seed])
    queries = rng.integers(0, N_QUERIES, SPLITS["test"][1])
    dataset, rows = world.take(queries)
    dataset = replace(dataset, splits=SPLITS)
    config, production = small_config(seed), Production(world.production[rows])
    experiment = Experiment(config, compose(config), dataset, production)
    users = experiment.components.users
    clicks = {}
    for split in SPLITS:
        logging = experiment.logging[split]
        each = np.full(logging.dataset.n_queries, 20)
        clicks[split] = draw_clicks(logging.dataset, logging.scores, users, each, rng)
    return experiment, clicks


def measure_learned(seed: int) -> Iterator[Outcome]:
    """What the tool says from test clicks of what was learned; truth: the mean over all queries."""
    world = population()
    experiment, clicks = small_experiment(seed)
    rewards = experiment.reward(clicks)
    model = experiment.learn(rewards).model
    served = experiment.serve(model)
    found = off_policy_values(
        served["test"],
        rewards["test"],
        DCG,
        click_model=experiment.corrected_for,
        trained_on=rewards["train"],
        seed=seed,
    )
    scored = score(model, replace(world.dataset, production=world.production))
    values = world.values_of(scored)
    yield from outcomes(found, {name: float(value.mean()) for name, value in values.items()})


def measure_selection(seed: int) -> Iterator[Outcome]:
    """N = 1,000 on the demo data: the difference by test clicks, and by validation clicks.

    The truth is that of the queries whose clicks are used.
    """
    config = resolve({"seed": seed + 1, "interactions": 1000, "skyline": False})
    experiment = Experiment.simulated(config, dataset=demo_dataset())
    rewards = experiment.reward(experiment.simulate())
    served = experiment.serve(experiment.learn(rewards).model)
    for split in ("test", "valid"):
        found = off_policy_values(
            served[split],
            rewards[split],
            DCG,
            click_model=experiment.corrected_for,
            trained_on=rewards["train"],
            seed=seed,
        )
        truth = true_difference(served[split])
        (one,) = outcomes(found, {"difference": truth})
        yield one._replace(quantity=f"difference by {split} clicks")


def true_difference(served: Mixture) -> float:
    """Mean over the queries of the sum of (ω − ω₀)·R."""
    assert served.production is not None
    moved = served.weights(DCG) - served.production.weights(DCG)
    return float(served.dataset.lists.sum(moved * served.dataset.relevance).mean())


def cases() -> list[Case]:
    """Both."""
    return [
        Case("off-policy", "learned policy: PRPO over dr, 60 test queries", measure_learned, 2000),
        Case("selection", "demo data, N = 1,000, PRPO over dr", measure_selection, logs=100),
    ]
