"""Guards the gain under other click models: the same clicks, and only what is asked for."""

import numpy as np

from cltr.clicks.models import PositionBased
from cltr.experiment.components import compose
from cltr.experiment.experiment import Experiment
from cltr.experiment.other_models import _rewards_under
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
    found = _rewards_under(model, run, reported, clicks)
    assert not np.array_equal(found.values, reported.values)
    assert np.array_equal(found.values, expected.values)
    for name in ("weights", "propensities", "attention"):
        arrays: list[Exposure] = [found.exposure, expected.exposure]
        assert np.array_equal(*(getattr(one, name) for one in arrays))
    assert found.statistics is reported.statistics


def test_production_keeps_its_answers_when_choices_change():
    run = Experiment.simulated(small.config(), dataset=small.dataset())
    assert run.but(plan="stay").logging is not run.logging  # nothing was asked before
    weights = run.logging["train"].weights(run.rank_weights)
    other = run.but(plan="stay")
    assert other.plan == "stay"
    assert other.logging["train"].weights(run.rank_weights) is weights
