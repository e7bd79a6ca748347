"""The click model is chosen by held-out clicks, and a model that cannot be used is not."""

import numpy as np
import pytest

from cltr.clicks.choose_model import choose_click_model
from cltr.clicks.models import PositionBased, TrustBias
from cltr.types import ClickStatistics
from tests.health.logs import draw


@pytest.mark.parametrize("users", [PositionBased(), TrustBias()], ids=lambda users: users.name)
def test_chooses_the_model_of_the_users(users):
    choice = choose_click_model(draw(users, n=100_000, n_queries=200).clicks["train"])
    assert choice.model is not None and choice.model.fitted is not None
    assert choice.model.name == users.name
    assert choice.model.fitted.convergence.converged
    assert len(choice.sentences) == 2
    assert "100,000 interactions of the training part" in choice.sentences[0]


def test_examination_is_that_of_the_users():
    choice = choose_click_model(draw(PositionBased(), n=200_000).clicks["train"])
    assert choice.model is not None
    np.testing.assert_allclose(choice.model.affine(5).examination, 1 / np.arange(1, 6), atol=0.03)


def test_without_clicks_no_model_is_chosen_and_the_reason_is_told():
    whole = draw(PositionBased(), n=500).clicks["train"]
    empty = ClickStatistics(whole.impressions, 0 * whole.clicks, whole.displays, whole.offsets)
    choice = choose_click_model(empty)
    assert choice.model is None
    assert choice.sentences == [
        "No click model could be fitted ('pbm', 'trust-bias'): the log has no clicks, so no click "
        "model can be fitted to it."
    ]
    assert choice.plain()["chosen"] is None


def test_a_model_that_has_not_converged_is_not_chosen():
    class Hasty(TrustBias):
        name = "hasty"

        def __init__(self, **options):
            super().__init__(iterations=1, **options)

    log = draw(TrustBias(), n=100_000, n_queries=200).clicks["train"]
    choice = choose_click_model(log, kinds=(PositionBased, Hasty))
    assert choice.model is not None and choice.model.name == "pbm"
    assert "'hasty' was not used: its fit has not converged" in choice.sentences[1]


def test_same_seed_same_choice():
    log = draw(PositionBased(), n=5_000).clicks["train"]
    one, two = choose_click_model(log, seed=3), choose_click_model(log, seed=3)
    assert one.plain() == two.plain()
