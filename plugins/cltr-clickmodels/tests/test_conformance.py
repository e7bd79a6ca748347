"""Guards the contracts: every click model and the reward of this package conform."""

import pytest

import cltr_clickmodels
from cltr.testing import check_click_model, check_reward


@pytest.mark.parametrize("model", cltr_clickmodels.cltr_click_models())
def test_click_model_conforms(model):
    check_click_model(model())


@pytest.mark.parametrize("reward", cltr_clickmodels.cltr_rewards())
def test_reward_conforms(reward):
    check_reward(reward())
