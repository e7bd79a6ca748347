"""Guards: both components keep their contracts, and what the click model learns is the truth."""

import numpy as np
from cltr_example_clicks import DeviceBias, Smoothed

from cltr.clicks.simulation import simulate_sessions
from cltr.testing import check_click_model, check_reward, tiny_dataset


def test_click_model_conforms():
    check_click_model(DeviceBias())


def test_reward_conforms():
    check_reward(Smoothed())


def test_examination_of_each_device_is_found():
    dataset, users = tiny_dataset(60), DeviceBias()
    scores, rng = np.zeros(dataset.n_documents), np.random.default_rng(0)
    (log,) = simulate_sessions(dataset, scores, users, n=40_000, top_k=4, rng=rng)
    model = DeviceBias()
    model.fit(model.count(log, dataset.offsets), dataset)
    np.testing.assert_allclose(model.examination(4), users.examination(4), atol=0.05)
