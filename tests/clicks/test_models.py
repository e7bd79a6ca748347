"""Guards the core's click models: click probabilities, their reversal, what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.errors import OptionError, UnsupportedError
from cltr.interfaces import ClickModel, Fittable
from tests import strategies

ALPHA = [0.35, 0.53, 0.55, 0.54, 0.52]
BETA = [0.65, 0.26, 0.15, 0.11, 0.08]
MODELS = [
    TrustBias(),
    PositionBased(),
    PositionBased(eta=2),
    Adversarial(),
    Adversarial(TrustBias()),
]


class FirstClick(ClickModel):
    """Not affine: users take the first relevant document and leave."""

    name = "first-click"

    def probabilities(self, relevance, context):
        relevance = np.nan_to_num(relevance)
        return relevance * np.cumprod(1 - relevance, axis=-1) / (1 - relevance)

    def sample(self, relevance, context, rng):
        wanted = rng.random(relevance.shape) < np.nan_to_num(relevance)
        return wanted & (wanted.cumsum(-1) == 1)


def test_trust_bias_eq_4_with_the_papers_values():
    relevance = np.array([[1.0, 0.5, 0.0, 0.25, 1.0]])
    expected = [
        0.35 * 1.0 + 0.65,
        0.53 * 0.5 + 0.26,
        0.55 * 0.0 + 0.15,
        0.54 * 0.25 + 0.11,
        0.52 * 1.0 + 0.08,
    ]
    np.testing.assert_allclose(TrustBias().probabilities(relevance, {}), [expected])
    examination, trust = TrustBias().affine(5)
    assert examination.tolist() == ALPHA
    assert trust.tolist() == BETA


def test_trust_bias_gives_as_many_ranks_as_are_asked():
    examination, trust = TrustBias().affine(2)
    assert (examination.tolist(), trust.tolist()) == (ALPHA[:2], BETA[:2])


def test_position_based_eq_4_without_trust():
    relevance = np.array([[1.0, 0.5, 0.25]])
    np.testing.assert_allclose(
        PositionBased(eta=2).probabilities(relevance, {}), [[1.0, 0.5 / 4, 0.25 / 9]]
    )
    given_values = PositionBased(examination=(0.9, 0.5, 0.1))
    np.testing.assert_allclose(
        given_values.probabilities(relevance, {}), [[0.9, 0.5 * 0.5, 0.1 * 0.25]]
    )


def test_adversarial_users_click_when_others_would_not():
    relevance = np.array([[1.0, 0.5, 0.0, 0.25, 1.0]])
    expected = 1 - TrustBias().probabilities(relevance, {})
    np.testing.assert_allclose(Adversarial(TrustBias()).probabilities(relevance, {}), expected)


def test_adversarial_reverses_the_clicks_themselves():
    relevance = np.full((1000, 5), 0.5)
    clicks = TrustBias().sample(relevance, {}, np.random.default_rng(0))
    reversed_clicks = Adversarial().sample(relevance, {}, np.random.default_rng(0))
    np.testing.assert_array_equal(reversed_clicks, ~clicks)


@given(
    data=st.data(),
    model=st.sampled_from(MODELS),
    shape=st.tuples(st.integers(0, 4), st.integers(1, 5)),
)
def test_law_affine_is_what_the_probabilities_are(data, model, shape):
    relevance = data.draw(strategies.arrays(shape[0] * shape[1], 0, 1)).reshape(shape)
    examination, trust = model.affine(shape[1])
    probabilities = model.probabilities(relevance, {})
    np.testing.assert_allclose(probabilities, examination * relevance + trust, atol=1e-15)
    assert ((probabilities >= 0) & (probabilities <= 1 + 1e-12)).all()


@pytest.mark.parametrize("model", MODELS)
def test_nobody_clicks_where_nothing_is_shown(model):
    relevance = np.array([[0.5, np.nan, np.nan]] * 200)
    np.testing.assert_array_equal(model.probabilities(relevance, {})[:, 1:], 0)
    assert not model.sample(relevance, {}, np.random.default_rng(0))[:, 1:].any()


@pytest.mark.parametrize("model", MODELS)
def test_clicks_come_at_the_rate_of_their_probability(model):
    relevance = np.tile([0.9, 0.1, 0.5, 0.0, 1.0], (20_000, 1))
    clicks = model.sample(relevance, {}, np.random.default_rng(1))
    rate = model.probabilities(relevance[:1], {})[0]
    error = 5 * np.sqrt(rate * (1 - rate) / len(relevance)) + 1e-12
    assert (np.abs(clicks.mean(0) - rate) <= error).all()


def test_which_models_may_be_drawn_as_counts():
    assert TrustBias().independent
    assert PositionBased().independent
    assert Adversarial(TrustBias()).independent
    assert not FirstClick().independent
    assert not Adversarial(FirstClick()).independent


@pytest.mark.parametrize("model", [FirstClick(), Adversarial(FirstClick())])
def test_a_model_that_is_not_affine_says_what_to_use_instead(model):
    assert model.affine(3) is None
    with pytest.raises(UnsupportedError) as caught:
        model.require_affine(3)
    assert str(caught.value) == (
        f"click model '{model.name}' gives no examination and trust for 3 ranks (it is not affine "
        "in relevance), so the rewards ips, snips, dr, dm and the metric 'clicks' cannot use it; "
        "use --reward click-model or --reward naive"
    )


def test_fixed_models_cannot_be_fitted():
    assert not isinstance(FirstClick(), Fittable)
    with pytest.raises(UnsupportedError, match="'pbm' has no relevance estimates; fit one first"):
        PositionBased().relevance()


@pytest.mark.parametrize("model", [TrustBias(), PositionBased(examination=(1.0, 0.5))])
def test_more_ranks_than_values_is_an_error_that_counts_both(model):
    known = len(model.options.examination)
    with pytest.raises(
        OptionError, match=f"has values for {known} ranks, but {known + 1} are needed"
    ):
        model.affine(known + 1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"examination": (0.5,), "trust": (0.5, 0.1)}, "need the same number of ranks"),
        ({"examination": (0.6,), "trust": (0.5,)}, "and their sum must lie in [0, 1]"),
        ({"examination": (-0.1,), "trust": (0.5,)}, "and their sum must lie in [0, 1]"),
    ],
)
def test_trust_bias_refuses_what_are_no_probabilities(options, reason):
    with pytest.raises(OptionError) as caught:
        TrustBias(**options)
    message = str(caught.value)
    assert message.endswith(reason)
    assert "\n" not in message


@pytest.mark.parametrize(
    ("examination", "line"),
    [
        ((1.2, 0.5), "pbm.examination.0 is 1.2: input should be less than or equal to 1"),
        ((0.5, -0.1), "pbm.examination.1 is -0.1: input should be greater than or equal to 0"),
        ((np.nan,), "pbm.examination.0 is nan: input should be less than or equal to 1"),
    ],
)
def test_position_based_refuses_what_are_no_probabilities(examination, line):
    with pytest.raises(OptionError) as caught:
        PositionBased(examination=examination)
    assert str(caught.value) == line
