"""Guards: both components keep their contracts."""

from cltr_example_clicks import DeviceBias, Smoothed

from cltr.testing import check_click_model, check_reward


def test_click_model_conforms():
    check_click_model(DeviceBias())


def test_reward_conforms():
    check_reward(Smoothed())
