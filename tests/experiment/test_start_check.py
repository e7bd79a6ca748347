"""Guards the start of training: which policy production is, and how far the start is from it."""

import numpy as np
import pytest

from cltr.experiment import initial_model
from cltr.experiment.config import CURRENT, resolve
from cltr.experiment.experiment import Experiment
from cltr.experiment.initial_model import start_model
from cltr.experiment.safe_run import run_safely
from cltr.experiment.start_check import examine_start
from cltr.exposure.production_ranker import Production, count_rank_distribution
from cltr.report.health_tables import health_lines
from tests import small

VALUES = {
    "version": CURRENT,
    "interactions": 20_000,
    "skyline": False,
    "reward": {"name": "ips"},
    "scorer": {"name": "mlp", "hidden": [8]},
    "training": {"epochs": 2},
    "users": {"name": "pbm"},
    "click_model": {"name": "pbm"},
}


def scores_of(data):
    """Good, and without ties."""
    return 2.0 * data.labels + np.linspace(0, 0.1, data.n_documents)


@pytest.fixture(scope="module")
def simulated():
    """An experiment whose production is good, and its clicks."""
    data = small.dataset(100)
    experiment = Experiment.simulated(resolve(VALUES), dataset=data)
    production = Production(scores_of(data))
    experiment = Experiment(experiment.config, experiment.components, data, production)
    return experiment, experiment.simulate()


def known_by(simulated, *, scores=None, sharpness=1.0, **values):
    """The same production, but known by the counts of its log."""
    experiment, clicks = simulated
    if sharpness != 1.0:
        served = Production(sharpness * experiment.production.scores)
        experiment = Experiment(
            experiment.config, experiment.components, experiment.dataset, served
        )
        clicks = experiment.simulate()
    counted = count_rank_distribution(experiment.dataset, clicks)
    production = Production(scores, rank_distribution=counted, source="counted")
    data = small.dataset(100)
    config = resolve({**VALUES, **values})
    found = Experiment(config, experiment.components, data, production)
    return found, clicks, found.reward(clicks)


def test_a_start_at_scores_that_were_sampled_is_production(simulated):
    experiment, clicks = simulated
    start = examine_start(experiment, experiment.reward(clicks))
    assert (start.check.outcome, start.loss) == ("pass", 0.0)
    assert start.production == "Production samples rankings from its scores (Plackett-Luce)."
    assert "at production itself: its scores" in start.sentence
    model = start_model(
        experiment.config, experiment.dataset, experiment.production, experiment.components.scorer
    )
    served, logging = experiment.serve(model)["train"], experiment.logging["train"]
    weights = experiment.rank_weights
    assert np.array_equal(served.weights(weights), logging.weights(weights))


def test_a_copy_of_the_network_is_production():
    experiment = Experiment.simulated(resolve(VALUES), dataset=small.dataset(40))
    start = examine_start(experiment, experiment.reward(experiment.simulate()))
    assert start.loss == 0.0 and "a copy of its network" in start.sentence


@pytest.mark.parametrize("scored", [False, True], ids=["counts", "counts and scores"])
def test_a_start_by_counts_says_how_far_it_is(simulated, scored):
    scores = scores_of(small.dataset(100)) if scored else None
    experiment, _, rewards = known_by(simulated, scores=scores)
    start = examine_start(experiment, rewards)
    model = start_model(
        experiment.config, experiment.dataset, experiment.production, experiment.components.scorer
    )
    judged = experiment.judge(experiment.serve(model), rewards=rewards)
    loss = judged["certificate"]["train"]["worst_case"]["ndcg@5"]["loss"]
    assert 0 < start.loss == start.check.number == pytest.approx(loss)
    assert f"at most {100 * loss:.1f} points below production's" in start.sentence
    assert start.production == "Production is known by what the log counted."
    assert ("sampled from production's scores" in start.sentence) == scored


def test_a_deterministic_production_is_not_the_start(simulated):
    experiment, _, rewards = known_by(simulated, sharpness=1e6)
    start = examine_start(experiment, rewards)
    assert "taken to be deterministic: 100% of the interactions" in start.production
    assert "cannot start at production itself" in start.production


def test_a_start_that_is_surely_worse_narrows_the_band(simulated, monkeypatch):
    monkeypatch.setattr(initial_model, "IMITATION_STEPS", 0)
    experiment, clicks, rewards = known_by(simulated)
    check = examine_start(experiment, rewards).check
    assert check.outcome == "inconclusive"
    assert "The start is worse than production by validation clicks: -" in check.sentence
    found = run_safely(experiment, clicks)
    assert found.precautions.plan == "narrow"
    told = "\n".join(line.plain for line in health_lines(found.plain()))
    assert "Training starts at a model that was fitted" in told
    assert "start: inconclusive." in told


def test_a_run_that_stays_starts_nowhere(simulated):
    experiment, clicks, _ = known_by(simulated)
    start = examine_start(experiment, experiment.reward(clicks))
    assert start.plain(stays=True) == {"production": start.production}
    assert set(start.plain(stays=False)) == {"production", "sentence", "worst_case_loss"}
