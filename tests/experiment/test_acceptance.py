"""Guards: what the project promises of the demo data, as means over five seeds (make science)."""

from functools import cache

import numpy as np
import pytest

from cltr.experiment import train_run
from cltr.experiment.config import resolve

SEEDS = range(1, 6)
pytestmark = pytest.mark.slow


@cache
def _train(folder, seed, settings):
    values = {"seed": seed, **dict(settings)}
    tables = {
        key: dict(value) if isinstance(value, tuple) else value for key, value in values.items()
    }
    return train_run.train(resolve(tables), out=folder / f"{abs(hash((seed, settings)))}")


@pytest.fixture(scope="module")
def mean(tmp_path_factory):
    """Mean NDCG@5 over seeds of production, policy and skyline, on a split."""
    folder = tmp_path_factory.mktemp("runs")

    def of(who, *, split="test", **settings):
        frozen = tuple(
            (key, tuple(value.items()) if isinstance(value, dict) else value)
            for key, value in settings.items()
        )
        name = "ndcg@5" if split == "test" else "train_ndcg@5"
        return np.mean([_train(folder, seed, frozen)["metrics"][who][name] for seed in SEEDS])

    return of


PRPO = {"name": "prpo"}
ADVERSARIAL = {"users": {"name": "adversarial"}, "interactions": 1_000_000, "skyline": False}


def test_prpo_over_dr_closes_half_of_the_gap(mean):
    run = {"estimator": PRPO, "interactions": 100_000}
    gap = mean("skyline", **run) - mean("production", **run)
    assert gap >= 0.05
    assert mean("policy", **run) - mean("production", **run) >= 0.5 * gap


def test_mlp_skyline_is_above_linear(mean):
    run = {"estimator": PRPO, "interactions": 100_000}
    assert mean("skyline", **run) > mean("skyline", **run, scorer={"name": "linear"})


def test_adversarial_users_ruin_plain_dr(mean):
    run = {"estimator": {"name": "dr"}, **ADVERSARIAL}
    assert mean("policy", **run) < 0.6 * mean("production", **run)


def test_prpo_loses_less_than_dr_under_adversarial_users(mean):
    dr = {"estimator": {"name": "dr"}, **ADVERSARIAL}
    prpo = {"estimator": {"name": "prpo", "clip": 0.5}, **ADVERSARIAL}
    assert mean("policy", **prpo) > mean("policy", **dr) + 0.1


@pytest.mark.parametrize("init", ["production", "random"])
def test_clip_one_with_rollback_stays_at_production(mean, init):
    prpo = {"name": "prpo", "clip": 1.0, "rollback": 1.0}
    run = {"estimator": prpo, "init": init, **ADVERSARIAL}
    production = mean("production", split="train", **run)
    assert abs(mean("policy", split="train", **run) / production - 1) < 0.02


def test_a_loop_that_does_nothing_would_fail_the_check_above(mean):
    """From random weights, untrained, the policy is nowhere near production."""
    untrained = {"training": {"epochs": 0}, "init": "random", "estimator": PRPO, **ADVERSARIAL}
    production = mean("production", split="train", **untrained)
    assert mean("policy", split="train", **untrained) < 0.9 * production
