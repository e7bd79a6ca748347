"""Guards what ``cltr fit`` is made of: what is held out, examination by rank, bias, real logs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltr.clicks.bias import bias_of, examination_by_rank, harvested
from cltr.clicks.fit_data import FitData, open_fit_data
from cltr.clicks.fit_tools import Convergence, Parameters, add_up
from cltr.clicks.model_comparison import SURE, Fit, fit_models, is_better, recommend
from cltr.clicks.models import PositionBased, TrustBias
from cltr.clicks.scores import ClickScores
from cltr.clicks.simulation import simulate_sessions, simulate_statistics
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import LogFile, write_log, write_sessions
from cltr.plugins import registry
from cltr.testing import tiny_dataset
from cltr.types import Affine, ClickStatistics

SHARED = Path(__file__).parents[3] / "shared" / "data"
YANDEX = SHARED / "yandex-relpred" / "train.tsv.gz"
DATASET = tiny_dataset(40)
SPLITS = ("train", "valid")


def simulated(path, users, *, sessions, n=3000, scores=None, splits=SPLITS):
    """A log on the tiny data set."""
    rng = np.random.default_rng(0)
    scores = DATASET.features[:, 1].astype(np.float64) if scores is None else scores
    log = LogFile({}, scores, {}, DATASET.fingerprint)
    parts = {split: DATASET.part(split) for split in splits}
    arguments = {"n": n, "top_k": 5, "rng": rng}
    on = {split: scores[DATASET.documents_of(split)] for split in splits}
    if sessions:
        chunks = {
            split: (n, simulate_sessions(part, on[split], users, **arguments))
            for split, part in parts.items()
        }
        write_sessions(path, log, chunks, {split: part.offsets for split, part in parts.items()})
    else:
        counts = {
            split: simulate_statistics(part, on[split], users, **arguments)
            for split, part in parts.items()
        }
        write_log(path, LogFile(counts, scores, {}, DATASET.fingerprint))
    return open_fit_data(path, DATASET)


@pytest.mark.parametrize("sessions", [False, True])
def test_both_splits_lie_on_the_data_set_and_a_fifth_is_held_out(tmp_path, sessions):
    source = simulated(tmp_path / "log.h5", PositionBased(), sessions=sessions)
    fitted, held = source.statistics
    whole = fitted + held
    np.testing.assert_array_equal(whole.impressions, source.whole.impressions)
    np.testing.assert_array_equal(whole.clicks, source.whole.clicks)
    assert 0.15 < held.n_interactions / 6000 < 0.25
    for split in SPLITS:
        rows = DATASET.documents_of(split)
        expected = source.log.statistics[split].impressions
        np.testing.assert_array_equal(source.whole.impressions[rows], expected)
    assert source.whole.impressions[DATASET.documents_of("test")].sum() == 0


@pytest.mark.parametrize("sessions", [False, True])
def test_the_test_part_is_not_fitted_to_and_that_is_said(tmp_path, sessions):
    alone = simulated(tmp_path / "alone.h5", PositionBased(), sessions=sessions)
    tested = simulated(
        tmp_path / "log.h5", PositionBased(), sessions=sessions, splits=(*SPLITS, "test")
    )
    assert "test" in tested.log.statistics
    for mine, other in zip(tested.statistics, alone.statistics, strict=True):
        np.testing.assert_array_equal(mine.clicks, other.clicks)
    n = tested.log.statistics["test"].n_interactions
    for source, unused in ((alone, 0), (tested, n)):
        report = fit_models(source, [PositionBased()])
        assert report["n_interactions"]["unused_test"] == unused


def test_interactions_and_counts_are_split_alike(tmp_path):
    source = simulated(tmp_path / "log.h5", PositionBased(), sessions=True)
    for chunks, expected in zip(
        (source.to_fit(), source.to_score()), source.statistics, strict=True
    ):
        found = add_up(ClickStatistics.count(chunk, DATASET.offsets) for chunk in chunks)
        np.testing.assert_array_equal(found.clicks, expected.clicks)


def test_ranks_are_random_where_scores_or_propensities_are_equal(tmp_path):
    equal = np.zeros(DATASET.n_documents)
    source = simulated(tmp_path / "log.h5", PositionBased(), sessions=False, scores=equal, n=60_000)
    several = np.repeat(DATASET.lists.lengths > 1, DATASET.lists.lengths)
    np.testing.assert_array_equal(source.random_ranks(), several)
    found = harvested(source)
    assert np.array(found["randomised"]) == pytest.approx(1 / np.arange(1, 6), abs=0.05)
    other = simulated(tmp_path / "other.h5", PositionBased(), sessions=False)
    assert "randomised" not in harvested(other)


def test_logged_propensities_tell_random_ranks(tmp_path):
    ranks = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1], [0.0, 0.0]])
    counts = ClickStatistics(*np.zeros((2, 4, 2), int), np.zeros(1, int), np.array([0, 4]))
    log = LogFile({"train": counts, "valid": counts}, None, propensities=ranks)
    source = FitData(tmp_path, log, replace(DATASET, offsets=np.array([0, 4])), 2, 1)
    assert source.random_ranks().tolist() == [True, True, False, False]


@pytest.mark.parametrize("name", ["dbn", "ubm", "dcm", "cascade"])
def test_examination_of_models_that_read_down_the_list(tmp_path, name):
    """Clicks over what could be clicked: it starts at 1 and falls."""
    make = registry().find("click-model", name)
    source = simulated(tmp_path / "log.h5", make(), sessions=True)
    model = make()
    model.fit(add_up(model.count(chunk, DATASET.offsets) for chunk in source.to_fit()), DATASET)
    found = examination_by_rank(model, source)
    assert found[0] == pytest.approx(1.0)
    assert (np.diff(found) < 0.05).all()
    assert found[-1] < 0.8


def test_a_fitted_affine_model_is_in_the_table_whatever_it_calls_its_values(tmp_path):
    class Renamed(PositionBased):
        """Keeps its examination under another name."""

        def affine(self, top_k):
            if self.fitted is None:
                return super().affine(top_k)
            return Affine(self.fitted.shared["seen"][:top_k], np.zeros(top_k))

        def fit(self, counts, dataset=None):
            found = PositionBased().fit(counts, dataset)
            self.fitted = replace(found, shared={"seen": found.shared["examination"]})
            return self.fitted

    source = simulated(tmp_path / "log.h5", PositionBased(), sessions=False, n=5000)
    model = Renamed()
    model.fit(source.statistics[0], DATASET)
    found = bias_of(model, source)
    assert found is not None
    assert found["examination"] == model.fitted.shared["seen"].tolist()


def test_bias_of_trust_has_what_is_determined(tmp_path):
    source = simulated(tmp_path / "log.h5", TrustBias(), sessions=False, n=20_000)
    model = TrustBias()
    model.fit(source.statistics[0], DATASET)
    found = bias_of(model, source)
    assert found["slope"][0] == 1.0
    assert found["intercept"][0] == 0.0
    assert found["slope"][2] == pytest.approx(0.55 / 0.35, rel=0.3)


def one_fit(name, *, ahead=0.0, noise=1.0, converged=True, shared=5):
    """A fit that is so many nats a list better than one with 0, on two queries of 100 lists.

    ``noise`` is the standard error of its difference from one without noise.
    """
    model = registry().find("click-model", name)()
    values = {"examination": np.full(shared, 0.5)} if shared else {}
    values["trust"] = np.full(5, 0.5 if name == "trust-bias" else 0.0)
    model.fitted = Parameters(
        shared=values,
        documents={} if name == "rank-ctr" else {"relevance": np.full(3, 0.5)},
        unseen={},
        strength={},
        convergence=Convergence(np.zeros(1), converged),
    )
    by_query = 100 * ahead + 100 * noise * np.array([1.0, -1.0])
    scores = ClickScores(
        np.zeros(1), by_query.sum(keepdims=True), np.zeros(1), by_query, np.full(2, 100)
    )
    affine = name in ("pbm", "trust-bias", "document-ctr")
    return Fit(model, scores, 0.0, {"affine": affine})


def recommended(*fits):
    found = recommend(sorted(fits, key=lambda one: -one.scores.log_likelihood))
    return found["recommended"], found["recommended_affine"]


def test_two_standard_errors_tell_models_apart_and_no_fewer():
    """This threshold decides which model users are told to take."""
    assert SURE == 2.0
    base = one_fit("pbm", noise=0.0).scores
    assert is_better(one_fit("trust-bias", ahead=2.01).scores, base)
    assert not is_better(one_fit("trust-bias", ahead=1.99).scores, base)
    single = replace(base, by_query=base.by_query[:1], displays=base.displays[:1])
    assert not is_better(replace(single, by_query=np.array([500.0])), single)


@pytest.mark.parametrize(("ahead", "name"), [(2.01, "trust-bias"), (1.99, "pbm"), (-1.0, "pbm")])
def test_the_simpler_affine_model_is_recommended_unless_the_other_is_surely_better(ahead, name):
    fits = [one_fit("pbm", noise=0.0), one_fit("trust-bias", ahead=ahead)]
    assert recommended(*fits) == (name, name)
    found = recommend(sorted(fits, key=lambda one: -one.scores.log_likelihood))["against_affine"]
    close = {"trust-bias": {"value": pytest.approx(1.99), "standard_error": pytest.approx(1.0)}}
    assert found == (close if ahead == 1.99 else {})


def test_what_has_not_converged_is_never_recommended():
    best = one_fit("trust-bias", ahead=50, converged=False)
    assert recommended(best, one_fit("pbm")) == ("pbm", "pbm")
    assert recommended(best) == (None, None)
    down = one_fit("dbn", ahead=90, converged=False)
    assert recommended(best, down, one_fit("pbm")) == ("pbm", "pbm")


def test_a_model_that_is_not_affine_is_recommended_if_it_is_surely_better():
    plain = one_fit("pbm", noise=0.0)
    assert recommended(one_fit("dbn", ahead=2.01), plain) == ("dbn", "pbm")
    assert recommended(one_fit("dbn", ahead=1.99), plain) == ("pbm", "pbm")
    assert recommended(one_fit("dbn")) == ("dbn", None)


def test_baselines_are_not_recommended():
    baselines = [one_fit("document-ctr", ahead=9, shared=0), one_fit("rank-ctr", ahead=8)]
    assert recommended(*baselines, one_fit("pbm")) == ("pbm", "pbm")
    assert recommended(*baselines) == (None, None)


@pytest.mark.skipif(not YANDEX.exists(), reason="needs the Yandex log in ../shared/data")
def test_yandex_position_bias_is_that_of_all_pairs(tmp_path):
    reader = registry().find("log-reader", "long")()
    ingest_log(
        LogSource((YANDEX,), reader), tmp_path / "log.h5", options=IngestOptions(sessions=True)
    )
    source = open_fit_data(tmp_path / "log.h5")
    names = ("pbm", "ubm", "document-ctr", "rank-ctr")
    report = fit_models(source, [registry().find("click-model", name)() for name in names])
    assert [one["name"] for one in report["models"]] == ["ubm", "pbm", "document-ctr", "rank-ctr"]
    pairs = np.array(report["harvested"]["all_pairs"])
    assert np.array(report["models"][1]["examination"]) == pytest.approx(pairs, abs=0.04)
    assert (np.diff(pairs)[:7] < 0).all()
