"""Guards fitting: the objective never falls, parameters are recovered, counts add up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs import fit, judged, simulate

from cltr.clicks.fit_tools import add_up
from cltr.clicks.models import PositionBased, TrustBias
from cltr.clicks.scores import score_chunk
from cltr.errors import DataError, UnsupportedError, UsageError
from cltr.types import ClickLog
from cltr_clickmodels.cascade import Cascade
from cltr_clickmodels.ccm import CCM
from cltr_clickmodels.dbn import DBN
from cltr_clickmodels.dcm import DCM
from cltr_clickmodels.document_ctr import DocumentCTR
from cltr_clickmodels.rank_ctr import RankCTR
from cltr_clickmodels.sdbn import SDBN
from cltr_clickmodels.ubm import UBM, pairs

BY_EM = {
    "pbm": PositionBased,
    "trust-bias": TrustBias,
    "dcm": lambda **options: DCM(method="em", **options),
    "ccm": CCM,
    "dbn": DBN,
    "sdbn": lambda **options: SDBN(method="em", **options),
    "ubm": UBM,
}
CLOSED = {
    "cascade": Cascade,
    "dcm": DCM,
    "sdbn": SDBN,
    "document-ctr": DocumentCTR,
    "rank-ctr": RankCTR,
}


@st.composite
def small_logs(draw):
    """Few interactions of one or two queries, short lists, any clicks at all."""
    n, top_k = draw(st.integers(3, 25)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    queries = rng.integers(0, 2, size=n)
    documents = 5 * queries[:, None] + np.argsort(rng.random((n, 5)), axis=1)[:, :top_k]
    lengths = rng.integers(1, top_k + 1, size=(n, 1))
    documents = np.where(np.arange(top_k) < lengths, documents, -1)
    clicks = (rng.random(documents.shape) < draw(st.floats(0.05, 0.95))) & (documents >= 0)
    clicks[0, 0] = True
    return ClickLog(queries, documents, clicks)


@settings(deadline=None, max_examples=30)
@pytest.mark.parametrize("name", BY_EM)
@given(log=small_logs(), smoothing=st.sampled_from([0.0, 0.1, 1.0, 10.0]))
def test_law_em_never_lowers_its_penalised_likelihood(name, log, smoothing):
    model = BY_EM[name](smoothing=smoothing, iterations=60)
    offsets = np.array([0, 5, 10])
    fitted = model.fit(model.count(log, offsets))
    objective = fitted.convergence.objective
    assert np.isfinite(objective).all()
    assert (np.diff(objective) >= -1e-9 * (1 + np.abs(objective[1:]))).all()
    for values in (*fitted.shared.values(), *fitted.documents.values()):
        assert ((values >= 0) & (values <= 1)).all()  # false for NaN too
    assert not np.isnan(model.predict_given_clicks(log)).any()


@pytest.mark.parametrize("name", ["dcm", "ccm", "dbn", "sdbn"])
def test_the_objective_is_the_likelihood_of_the_sessions(name):
    """But for the prior of what is shared, it is the chain rule's sum over all interactions."""
    model = BY_EM[name](smoothing=0.0, iterations=3000, tolerance=1e-13)
    dataset = judged()
    chunks = simulate(BY_EM[name](), dataset, n=4000, top_k=4)
    fit(model, chunks, dataset)
    logs = [
        np.log(np.where(chunk.clicks, p, 1 - p)[chunk.documents >= 0]).sum()
        for chunk, p in ((c, model.predict_given_clicks(c)) for c in chunks)
    ]
    shared = np.concatenate([np.empty(0), *model.fitted.shared.values()])
    prior = 0.5 * (np.log(shared) + np.log1p(-shared)).sum()
    objective = model.fitted.convergence.objective[-1]
    assert sum(logs) + prior == pytest.approx(objective, abs=1e-4)


@pytest.mark.parametrize("users", [DBN(), CCM(), DCM(continuation=(0.3, 0.5, 0.8)), UBM(eta=0.7)])
def test_shared_parameters_are_recovered(users):
    dataset = judged(n_queries=15)
    chunks = simulate(users, dataset, n=60_000)
    model = fit(BY_EM[users.name](), chunks, dataset)
    if users.name == "ubm":
        found, expected = model.examination(5), users.examination(5)
    else:
        found = model.fitted.shared["continuation"]
        expected = users.given(5)["continuation"]
        if users.name == "dcm":  # nobody can go on below the last rank
            found, expected = found[:-1], expected[:-1]
    assert found == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    "users", [Cascade(), DCM(), SDBN(), DBN(), CCM(), UBM(), DocumentCTR(), PositionBased()]
)
def test_relevance_is_recovered(users):
    dataset = judged(n_queries=15)
    chunks = simulate(users, dataset, n=60_000)
    make = BY_EM.get(users.name) or CLOSED[users.name]
    relevance = fit(make(), chunks, dataset).relevance()
    shown = np.bincount(
        np.concatenate([c.documents.ravel() for c in chunks]), minlength=dataset.n_documents
    )
    often = shown > 500
    error = np.abs(relevance - dataset.relevance)[often]
    assert error.mean() < 0.03
    assert np.corrcoef(relevance[often], dataset.relevance[often])[0, 1] > 0.98


def test_trust_bias_is_recovered_up_to_its_affine_map():
    dataset = judged(n_queries=30)
    users = TrustBias()
    model = fit(TrustBias(), simulate(users, dataset, n=30 * 4000), dataset)
    truth, found = users.affine(5), model.affine(5)
    slope = found.examination / found.examination[0]
    assert slope == pytest.approx(truth.examination / truth.examination[0], abs=0.08)
    intercept = found.trust - slope * found.trust[0]
    expected = truth.trust - truth.examination / truth.examination[0] * truth.trust[0]
    assert intercept == pytest.approx(expected, abs=0.06)
    assert found.examination + found.trust == pytest.approx(sum(truth), abs=0.03)
    assert np.corrcoef(model.relevance(), dataset.relevance)[0, 1] > 0.95
    assert "affine map" in model.fitted.convergence.notes[0]


def small_log():
    """Two documents, five interactions; the second has its only click below another."""
    documents = np.tile([0, 1], (5, 1))
    clicks = np.array([[1, 0], [1, 1], [0, 0], [0, 1], [1, 0]], bool)
    return ClickLog(np.zeros(5, np.int64), documents, clicks), np.array([0, 2])


def fitted_by_hand(model):
    log, offsets = small_log()
    return model.fit(model.count(log, offsets))


def test_cascade_arithmetic():
    found = fitted_by_hand(Cascade(smoothing=0))
    assert found.documents["attraction"] == pytest.approx([3 / 5, 1 / 2])


def test_dcm_arithmetic():
    found = fitted_by_hand(DCM(smoothing=0))
    # read: the first document always, the second down to its click or where nothing was clicked
    assert found.documents["attraction"] == pytest.approx([3 / 5, 2 / 3])
    assert found.shared["continuation"][0] == pytest.approx((1 + 0.5) / (3 + 1))


def test_sdbn_arithmetic():
    found = fitted_by_hand(SDBN(smoothing=0))
    assert found.documents["attraction"] == pytest.approx([3 / 5, 2 / 3])
    assert found.documents["satisfaction"][0] == pytest.approx(2 / 3)
    model = SDBN(smoothing=0)
    log, offsets = small_log()
    model.fit(model.count(log, offsets))
    expected = found.documents["attraction"] * found.documents["satisfaction"]
    assert model.relevance() == pytest.approx(expected)


def test_click_rates_arithmetic():
    assert fitted_by_hand(DocumentCTR(smoothing=0)).documents["relevance"] == pytest.approx(
        [3 / 5, 2 / 5]
    )
    assert fitted_by_hand(RankCTR(smoothing=0)).shared["rates"] == pytest.approx([3 / 5, 2 / 5])
    smoothed = fitted_by_hand(DocumentCTR(smoothing=10)).documents["relevance"]
    assert smoothed == pytest.approx([(3 + 10 * 0.5) / 15, (2 + 10 * 0.5) / 15])


def test_em_of_sdbn_knows_that_some_read_on():
    by_counts = fitted_by_hand(SDBN(smoothing=0)).documents
    by_em = fitted_by_hand(SDBN(smoothing=0, method="em")).documents
    assert by_em["satisfaction"][0] < by_counts["satisfaction"][0]
    assert by_em["attraction"][1] < by_counts["attraction"][1]


@pytest.mark.parametrize("name", BY_EM)
def test_counts_add_up_in_any_grouping(name):
    dataset = judged(n_queries=4)
    chunks = simulate(BY_EM[name](), dataset, n=3000, chunk=500)
    whole = simulate(BY_EM[name](), dataset, n=3000, chunk=500)
    one = ClickLog(*(np.concatenate([getattr(c, f) for c in whole]) for f in
                     ("queries", "documents", "clicks")))  # fmt: skip
    model, other = BY_EM[name](iterations=50), BY_EM[name](iterations=50)
    first = model.fit(add_up(model.count(c, dataset.offsets) for c in chunks))
    second = other.fit(other.count(one, dataset.offsets))
    for key, values in first.documents.items():
        np.testing.assert_allclose(values, second.documents[key], atol=1e-9)
    for key, values in first.shared.items():
        np.testing.assert_allclose(values, second.shared[key], atol=1e-9)


@pytest.mark.parametrize("name", ["dbn", "ubm", "pbm"])
def test_equal_sessions_cost_once(name):
    dataset = judged(n_queries=4)
    chunks = simulate(BY_EM[name](), dataset, n=200)
    model = BY_EM[name]()
    once = model.count(chunks[0], dataset.offsets)
    many = add_up([once] * 8)
    size = (lambda c: len(c.tails.times)) if name == "dbn" else (lambda c: c.impressions.size)
    assert size(many) == size(once)


@pytest.mark.parametrize("name", BY_EM)
def test_regression_gives_unseen_documents_an_estimate(name):
    dataset, other = judged(n_queries=12), judged(n_queries=3, seed=5)
    users = BY_EM[name]()
    model = BY_EM[name](relevance="regression", iterations=30)
    fit(model, simulate(users, dataset, n=15_000, top_k=4), dataset)
    assert model.relevance(other).shape == (other.n_documents,)
    assert np.corrcoef(model.relevance(other), other.relevance)[0, 1] > 0.9
    np.testing.assert_allclose(model.relevance(dataset), model.relevance(), atol=1e-6)


def test_regression_without_features_says_what_is_missing():
    log, offsets = small_log()
    model = DBN(relevance="regression")
    with pytest.raises(UsageError, match="needs features, and the log comes without them"):
        model.fit(model.count(log, offsets))


@pytest.mark.parametrize("name", [*BY_EM, "cascade", "document-ctr"])
def test_infer_is_the_fit_with_shared_parameters_kept(name):
    dataset = judged(n_queries=10)
    make = BY_EM.get(name) or CLOSED[name]
    chunks = simulate(make(), dataset, n=20_000, top_k=4)
    model = make()
    counts = add_up(model.count(chunk, dataset.offsets) for chunk in chunks)
    shared = {k: v.copy() for k, v in model.fit(counts, dataset).shared.items()}
    np.testing.assert_allclose(model.infer(counts), model.relevance(), atol=5e-3)
    half = model.infer(model.count(chunks[0], dataset.offsets))
    assert np.abs(half - model.relevance()).max() > 1e-3
    for key, values in shared.items():
        np.testing.assert_array_equal(model.fitted.shared[key], values)


@pytest.mark.parametrize("name", [*BY_EM, "cascade"])
def test_a_log_without_clicks_is_an_error(name):
    log, offsets = small_log()
    silent = ClickLog(log.queries, log.documents, np.zeros(log.clicks.shape, bool))
    model = (BY_EM | CLOSED)[name]()
    with pytest.raises(DataError, match="no clicks"):
        model.fit(model.count(silent, offsets))


def test_counts_of_a_closed_form_do_not_serve_em():
    log, offsets = small_log()
    with pytest.raises(UnsupportedError, match="count the log again with this model"):
        SDBN(method="em").fit(SDBN().count(log, offsets))


def test_rank_ctr_knows_no_relevance():
    model = RankCTR()
    log, offsets = small_log()
    model.fit(model.count(log, offsets))
    with pytest.raises(UnsupportedError, match="knows no relevance"):
        model.relevance()
    np.testing.assert_allclose(model.predict(log), np.tile([3.5 / 6, 2.5 / 6], (5, 1)), atol=0.02)


def likelihood(model, chunks, n_queries):
    scores = add_up(score_chunk(model, chunk, n_queries=n_queries) for chunk in chunks)
    return scores.log_likelihood


@pytest.mark.slow
@pytest.mark.parametrize("users", [DBN(), CCM(), DCM(), SDBN(), UBM(), PositionBased(), Cascade()])
def test_the_true_model_wins_on_held_out_clicks(users):
    dataset = judged(n_queries=20)
    train = simulate(users, dataset, n=60_000)
    test = simulate(users, dataset, n=20_000, seed=2)
    scores = {
        name: likelihood(fit(make(), train, dataset), test, dataset.n_queries)
        for name, make in (CLOSED | BY_EM).items()
    }
    best = max(scores, key=lambda name: scores[name])
    assert scores[users.name] >= scores[best] - 2e-3


def test_ubm_is_never_below_the_position_based_model_that_it_contains():
    """After a click users of DBN may be satisfied: examination right below it is far from 1."""
    dataset = judged(n_queries=15)
    chunks = simulate(DBN(), dataset, n=20_000)
    pbm, ubm = (fit(make(), chunks, dataset).fitted for make in (PositionBased, UBM))
    assert ubm.convergence.objective[-1] > pbm.convergence.objective[-1]
    rank, last = pairs(5)
    assert ubm.shared["examination"][(last == rank - 1) & (last > 0)].max() < 0.8


def test_every_pair_of_ubm_is_listed_once():
    rank, last = pairs(5)
    assert len({*zip(rank.tolist(), last.tolist(), strict=True)}) == 15
    assert (last < rank).all()
