"""Guards the gain under other click models: the same clicks, and only what is asked for."""

import threading

import numpy as np
import pytest
import torch

from cltr.clicks import affine_fit
from cltr.clicks.models import PositionBased, TrustBias
from cltr.errors import UnsupportedError
from cltr.experiment.components import compose
from cltr.experiment.experiment import Experiment
from cltr.experiment.other_models import _rewards_under, gains_by_model
from cltr.experiment.precautions import fit_click_model
from cltr.types import Exposure
from tests import small


def test_rewards_under_another_model_are_those_of_a_run_with_it():
    """To the bit; without those of validation clicks, which nobody asks for."""
    config = small.config(reward={"name": "dr", "epochs": 2})
    run = Experiment.simulated(config, dataset=small.dataset())
    clicks, model = run.simulate(), PositionBased()
    reported = run.reward(clicks)["test"]
    components = compose(config).replace(click_model=model)
    expected = run.but(components=components).reward(clicks)["test"]
    ((used, found),) = _rewards_under([model], run, reported, clicks)
    assert used is model
    assert not np.array_equal(found.values, reported.values)
    assert np.array_equal(found.values, expected.values)
    for name in ("weights", "propensities", "attention"):
        arrays: list[Exposure] = [found.exposure, expected.exposure]
        assert np.array_equal(*(getattr(one, name) for one in arrays))
    assert found.statistics is reported.statistics


def test_rewards_of_several_models_do_not_depend_on_the_number_of_threads():
    config = small.config(reward={"name": "dr", "epochs": 3, "batch": 16})
    run = Experiment.simulated(config, dataset=small.dataset())
    clicks, models = run.simulate(), [PositionBased(), TrustBias()]
    reported = run.reward(clicks)["test"]
    found, before = [], torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(list(_rewards_under(models, run, reported, clicks)))
    finally:
        torch.set_num_threads(before)
    for (one, alone), (other, together), model in zip(*found, models, strict=True):
        assert one is other is model
        assert np.array_equal(alone.values, together.values)
    assert not np.array_equal(found[0][0][1].values, found[0][1][1].values)


@pytest.mark.parametrize("in_threads", [False, True])
def test_only_rewards_that_say_so_are_fitted_at_the_same_time(in_threads, monkeypatch):
    run = Experiment.simulated(small.config(reward={"name": "dr"}), dataset=small.dataset())
    clicks, callers = run.simulate(), []
    reported = run.reward(clicks)["test"]
    reward = type(run.components.reward)
    met = threading.Barrier(2) if in_threads else None

    def fit(self, data, click_model, *, seed=0):
        callers.append(threading.current_thread())
        if met is not None:
            met.wait(timeout=60)
        raise UnsupportedError("not with this click model")

    monkeypatch.setattr(reward, "fit", fit)
    monkeypatch.setattr(reward, "fits_in_threads", in_threads)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        models = [PositionBased(), TrustBias()]
        assert list(_rewards_under(models, run, reported, clicks)) == []
    finally:
        torch.set_num_threads(before)
    assert len(callers) == 2
    assert len(set(callers)) == (2 if in_threads else 1)


def test_a_chosen_click_model_is_not_fitted_again(monkeypatch):
    """The gains are those of fitting it again, to the bit."""
    config = small.config(
        reward={"name": "dr", "epochs": 3},
        click_model={"name": "auto"},
        users={"name": "trust-bias"},
        interactions=20_000,
    )
    run = Experiment.simulated(config, dataset=small.dataset())
    clicks = run.simulate()
    run, choice = fit_click_model(run, clicks)
    assert choice is not None
    assert choice.model is not None
    outcome = run.run(clicks)
    fits, fit = [], affine_fit.fit_cells

    def counted(*given):
        fits.append(given)
        return fit(*given)

    monkeypatch.setattr(affine_fit, "fit_cells", counted)
    found = gains_by_model(run, outcome, clicks)
    assert len(fits) == 1
    monkeypatch.setattr("cltr.experiment.other_models.AUTO", "nothing")
    again = gains_by_model(run, outcome, clicks)
    assert len(fits) == 3
    assert [one["click_model"] for one in found] == ["pbm, fitted", "trust-bias, fitted"]
    assert found == again


def test_production_keeps_its_answers_when_choices_change():
    run = Experiment.simulated(small.config(), dataset=small.dataset())
    assert run.but(plan="stay").logging is not run.logging  # nothing was asked before
    weights = run.logging["train"].weights(run.rank_weights)
    other = run.but(plan="stay")
    assert other.plan == "stay"
    assert other.logging["train"].weights(run.rank_weights) is weights
