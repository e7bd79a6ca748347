"""Guards the click-model reward: what it fits, what it takes as given, what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from logs import fit, judged, simulate

from cltr.clicks.fit_tools import add_up
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.errors import DataError, OptionError, UnsupportedError
from cltr.exposure.exposure import counted_exposure
from cltr.interfaces import ClickModel
from cltr.types import Affine, ClickData
from cltr_clickmodels.cascade import Cascade
from cltr_clickmodels.dbn import DBN
from cltr_clickmodels.dcm import DCM
from cltr_clickmodels.reward import ClickModelReward
from cltr_clickmodels.ubm import UBM
from tests.counting import count_log

DATASET = judged(n_queries=20)
RANKS = 1 / np.log2(np.arange(2, 7))


def clicks_on(dataset, users, *, n=30_000, seed=1):
    chunks = simulate(users, dataset, n=n, seed=seed)
    statistics = count_log(chunks, dataset.offsets)
    return chunks, ClickData(dataset, statistics, counted_exposure(statistics, users, RANKS))


class FixedBias(ClickModel):
    """A stranger's model: affine, and nothing else."""

    name = "fixed-bias"

    def probabilities(self, relevance, context):
        return np.nan_to_num(relevance * self.affine(relevance.shape[1]).examination)

    def affine(self, top_k):
        return Affine(1 / np.arange(1, top_k + 1), np.zeros(top_k))


def error(reward, data):
    mu = reward.mu(data)
    often = data.statistics.impressions.sum(-1) > 300
    return np.abs(mu - data.dataset.relevance)[often].mean()


@pytest.mark.parametrize("bias", ["fit", "given"])
@pytest.mark.parametrize("users", [PositionBased(), TrustBias()])
def test_mu_is_the_relevance(users, bias):
    _, data = clicks_on(DATASET, users)
    reward = ClickModelReward(bias=bias)
    reward.fit(data, users)
    assert error(reward, data) < 0.06


def test_wrong_values_are_corrected_by_the_fit_and_not_if_given():
    _, data = clicks_on(DATASET, PositionBased(eta=1))
    wrong = PositionBased(eta=2)
    fitted, given = ClickModelReward(), ClickModelReward(bias="given")
    fitted.fit(data, wrong)
    given.fit(data, wrong)
    assert error(fitted, data) < 0.05
    assert error(given, data) > 0.07


def test_the_runs_own_click_model_keeps_its_values():
    _, data = clicks_on(DATASET, PositionBased())
    model = PositionBased(eta=2)
    ClickModelReward().fit(data, model)
    assert model.fitted is None
    assert model.affine(3).examination == pytest.approx([1, 1 / 4, 1 / 9])


def test_other_queries_are_judged_by_their_own_clicks():
    _, data = clicks_on(DATASET, TrustBias())
    _, other = clicks_on(judged(n_queries=5, seed=9), TrustBias(), n=8000)
    reward = ClickModelReward()
    reward.fit(data, TrustBias())
    assert error(reward, other) < 0.1


def test_a_regression_judges_documents_without_clicks():
    _, data = clicks_on(DATASET, PositionBased())
    other = judged(n_queries=4, seed=9)
    _, few = clicks_on(other, PositionBased(), n=1)
    reward = ClickModelReward()
    reward.fit(data, PositionBased(relevance="regression", iterations=30))
    assert np.corrcoef(reward.mu(few), other.relevance)[0, 1] > 0.9


def test_a_model_that_cannot_be_fitted_is_taken_at_its_word():
    _, data = clicks_on(DATASET, FixedBias())
    reward = ClickModelReward()
    reward.fit(data, FixedBias())
    assert error(reward, data) < 0.05


def test_reversed_users_are_understood():
    users = Adversarial(PositionBased(eta=0.3))
    _, data = clicks_on(DATASET, users)
    reward = ClickModelReward()
    reward.fit(data, users)
    assert error(reward, data) < 0.1


@pytest.mark.parametrize("model", [Cascade(), DBN(), UBM()])
def test_a_session_model_without_sessions_says_what_to_do(model):
    _, data = clicks_on(DATASET, PositionBased(), n=1000)
    with pytest.raises(UnsupportedError) as caught:
        ClickModelReward().fit(data, model)
    for advice in ("cltr simulate --sessions", "cltr ingest --sessions", "cltr fit", "fitted:FILE"):
        assert advice in str(caught.value)


@pytest.mark.parametrize("users", [Cascade(), DBN(), UBM(), DCM(method="em")])
def test_a_session_model_is_fitted_to_the_interactions_of_the_run(users):
    chunks, data = clicks_on(DATASET, users)
    reward = ClickModelReward()
    reward.fit(replace(data, sessions=lambda: iter(chunks)), type(users)(**dict(users.options)))
    model = fit(type(users)(**dict(users.options)), chunks, DATASET)
    np.testing.assert_allclose(
        reward.mu(replace(data, sessions=lambda: iter(chunks))), model.relevance(), atol=1e-3
    )


def test_other_interactions_are_judged_with_what_all_lists_share():
    """Validation clicks make their own relevance: nothing of it was seen in training."""
    train, data = clicks_on(DATASET, DBN())
    valid, other = clicks_on(DATASET, DBN(), n=20_000, seed=9)
    model = fit(DBN(), train, DATASET)
    reward = ClickModelReward()
    reward.fit(data, model)
    found = reward.mu(replace(other, sessions=lambda: iter(valid)))
    counts = add_up(model.count(chunk, DATASET.offsets) for chunk in valid)
    np.testing.assert_array_equal(found, model.infer(counts, DATASET))
    assert not np.array_equal(found, reward.mu(data))


def test_a_table_of_other_documents_is_refused():
    chunks, _ = clicks_on(DATASET, DBN())
    model = fit(DBN(), chunks, DATASET)
    ids = np.char.add("new-", DATASET.document_ids.astype(str))
    _, data = clicks_on(replace(DATASET, document_ids=ids), DBN(), n=100)
    reward = ClickModelReward()
    reward.fit(data, model)
    with pytest.raises(DataError, match="fitted to other documents"):
        reward.mu(data)


def test_a_model_fitted_on_deep_lists_serves_shorter_ones():
    chunks, _ = clicks_on(DATASET, DCM(method="em"))
    model = fit(DCM(method="em"), chunks, DATASET)
    short = [replace(c, documents=c.documents[:, :3], clicks=c.clicks[:, :3]) for c in chunks]
    counts = add_up(model.count(chunk, DATASET.offsets) for chunk in short)
    assert np.corrcoef(model.infer(counts), model.relevance())[0, 1] > 0.7
    assert model.probabilities(np.full((2, 3), 0.5), {}).shape == (2, 3)
    with pytest.raises(OptionError, match="fitted on 5 ranks"):
        model.probabilities(np.full((2, 7), 0.5), {})


@pytest.mark.parametrize("users", [Cascade(), DBN(), UBM()])
def test_a_fitted_session_model_gives_its_relevance_by_id(users):
    chunks, data = clicks_on(DATASET, users)
    model = fit(type(users)(), chunks, DATASET)
    reward = ClickModelReward()
    reward.fit(data, model)
    np.testing.assert_array_equal(reward.mu(data), model.relevance())
    part = DATASET.queries(3, 6)
    _, some = clicks_on(part, users, n=10)
    rows = slice(DATASET.offsets[3], DATASET.offsets[6])
    np.testing.assert_array_equal(reward.mu(some), model.relevance()[rows])


def test_a_model_that_was_fitted_before_is_not_fitted_again():
    chunks, data = clicks_on(DATASET, PositionBased())
    model = PositionBased()
    model.fit(add_up(model.count(chunk, DATASET.offsets) for chunk in chunks[:1]), DATASET)
    reward = ClickModelReward()
    reward.fit(data, model)
    np.testing.assert_array_equal(reward.mu(data), model.infer(data.statistics, DATASET))


def test_mu_before_fit_says_so():
    _, data = clicks_on(DATASET, PositionBased(), n=10)
    with pytest.raises(UnsupportedError, match="call fit first"):
        ClickModelReward().mu(data)
