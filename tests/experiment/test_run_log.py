"""Guards training on real logs: what is known of production, what is assumed, what comes out."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cltr.clicks.models import PositionBased
from cltr.clicks.simulation import simulate_statistics
from cltr.data.importing import save_dataset
from cltr.errors import CltrError, DataError, OptionError, UsageError
from cltr.experiment import evaluate_run, train_run
from cltr.experiment.config import resolve
from cltr.experiment.run_log import open_run_log, own_data
from cltr.logs.ingest import LogSource, ingest_log
from cltr.logs.log_file import LogFile, open_log, write_log
from cltr.logs.log_lists import lists_of_log
from cltr.logs.published_formats import OpenBanditReader
from cltr.logs.readers import LongReader
from cltr.policies import PlackettLuce
from cltr.testing import tiny_dataset
from tests.plain_logs import REAL, rows, write_csv

needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the click logs are not there")
QUERIES, DOCUMENTS = 30, 6
RNG = np.random.default_rng(0)
TRUTH = RNG.uniform(0, 1, QUERIES * DOCUMENTS)
SCORES = RNG.normal(size=QUERIES * DOCUMENTS)


def lists():
    ids = np.array([f"d{d}" for d in range(QUERIES * DOCUMENTS)])
    offsets = np.arange(QUERIES + 1) * DOCUMENTS
    return lists_of_log(offsets, np.array([f"q{q}" for q in range(QUERIES)]), ids)


def stored(path, *, scores=None, propensities=None, n=20_000):
    """A log that stands alone, of users with position bias and known relevance."""
    data, rng = lists(), np.random.default_rng(1)
    judged = replace(data, labels=4 * TRUTH)
    parts = {
        split: simulate_statistics(judged, SCORES, PositionBased(), n=m, top_k=5, rng=rng)
        for split, m in (("train", n), ("valid", n // 4))
    }
    log = LogFile(parts, scores, {"format": "long"}, data.fingerprint, data, propensities)
    write_log(path, log)
    return path


def config(path, **values):
    base = {
        "log": str(path),
        "scorer": {"name": "table"},
        "click_model": {"name": "pbm"},
        "reward": {"name": "ips"},
        "training": {"epochs": 60},
    }
    return resolve({**base, **values})


def utility(run, data):
    """True DCG of a run's policy, by the relevance that users had."""
    from safetensors.torch import load_file

    weights = load_file(run / "policy.safetensors")["weights"].numpy()
    ranks = 1 / np.log2(np.arange(2, 7))
    shown = PlackettLuce().expected_weights(30.0 * weights, data.lists, ranks)
    return float((shown * TRUTH).sum() / QUERIES)


@pytest.mark.parametrize("known", ["exact", "logged", "counted"])
def test_a_table_learns_from_a_log_however_production_is_known(tmp_path, known):
    chances = PlackettLuce().rank_distribution(SCORES, lists().lists, 5)
    path = stored(
        tmp_path / "log.h5",
        scores=SCORES if known == "exact" else None,
        propensities=chances if known == "logged" else None,
    )
    result = train_run.train(config(path), out=tmp_path / "run")
    assert result["exposure"] == known
    assert result["data"] == "log" and result["users"] is None
    assert any(
        word in " ".join(result["assumptions"]) for word in ("Plackett", "logged", "counted")
    )
    ranks = 1 / np.log2(np.arange(2, 7))
    before = (PlackettLuce().expected_weights(SCORES, lists().lists, ranks) * TRUTH).sum() / QUERIES
    after = utility(tmp_path / "run", lists())
    assert after > 1.1 * before
    values = result["off_policy"]
    assert values["production"]["value"] == pytest.approx(before, rel=0.05)
    assert values["policy"]["value"] == pytest.approx(after, rel=0.05)
    difference = values["difference"]
    assert difference["value"] > 3 * difference["standard_error"]


def test_without_judgements_there_is_no_ndcg_and_no_skyline(tmp_path):
    result = train_run.train(config(stored(tmp_path / "log.h5")), out=tmp_path / "run")
    assert set(result["metrics"]) == {"production", "policy"}
    assert list(result["metrics"]["policy"]) == ["value"]
    assert result["certificate"]["test"] is None
    assert 0 <= result["certificate"]["train"]["worst_loss"] <= 1
    json.dumps(result, allow_nan=False)


def test_a_run_on_a_log_is_repeated_by_its_run_file(tmp_path):
    first = train_run.train(config(stored(tmp_path / "log.h5")), out=tmp_path / "first")
    from cltr.experiment.config import RunConfig

    again = train_run.train(
        resolve(RunConfig.load(tmp_path / "first" / "run.toml")), out=tmp_path / "two"
    )
    assert again["off_policy"] == first["off_policy"]
    judged = evaluate_run.evaluate(tmp_path / "first")
    assert judged["off_policy"] == first["off_policy"]
    assert judged["certificate"] == first["certificate"]
    assert judged["assumptions"] == first["assumptions"]


def test_a_blend_lies_between_production_and_policy(tmp_path):
    result = train_run.train(config(stored(tmp_path / "log.h5")), out=tmp_path / "run")
    half = result["certificate"]["train"]["worst_case"]["ndcg@5"]["loss"] / 2
    blended = evaluate_run.evaluate(tmp_path / "run", blend_to_loss=half)
    assert blended["blend"] == pytest.approx(0.5)
    both = result["off_policy"]
    middle = (both["production"]["value"] + both["policy"]["value"]) / 2
    assert blended["off_policy"]["policy"]["value"] == pytest.approx(middle)


def test_training_starts_from_what_was_shown(tmp_path):
    values = {"training": {"epochs": 0}}
    path = stored(tmp_path / "log.h5")
    result = train_run.train(config(path, **values), out=tmp_path / "run")
    assert result["certificate"]["train"]["worst_loss"] < 0.03
    flat = train_run.train(config(path, init="random", **values), out=tmp_path / "flat")
    assert flat["certificate"]["train"]["worst_loss"] > 0.1


def test_scores_that_do_not_explain_the_log_are_not_used(tmp_path):
    path = stored(tmp_path / "log.h5", scores=-SCORES)
    result = train_run.train(config(path, training={"epochs": 1}), out=tmp_path / "run")
    assert result["exposure"] == "counted"
    assert "do not explain what was shown" in result["assumptions"][0]
    trusted = train_run.train(
        config(path, exposure="exact", training={"epochs": 1}), out=tmp_path / "trusted"
    )
    assert trusted["exposure"] == "exact"


def test_a_click_model_that_clicks_contradict_is_told(tmp_path):
    path = stored(tmp_path / "log.h5")
    values = {"click_model": {"name": "trust-bias"}, "training": {"epochs": 1}}
    result = train_run.train(config(path, **values), out=tmp_path / "run")
    assert any("The clicks contradict it" in line for line in result["assumptions"])


def test_production_scores_may_come_from_a_file(tmp_path):
    path = stored(tmp_path / "log.h5")
    data = lists()
    scores = tmp_path / "scores.csv"
    owners = np.repeat(data.query_ids, DOCUMENTS)
    lines = [f"{q},{d},{s}" for q, d, s in zip(owners, data.document_ids, SCORES, strict=True)]
    scores.write_text("query,doc,score\n" + "\n".join(lines[::-1]) + "\n")
    values = {"production_scores": str(scores), "training": {"epochs": 1}}
    result = train_run.train(config(path, **values), out=tmp_path / "run")
    assert result["exposure"] == "exact"
    assert any("score file" in line for line in result["assumptions"])
    scores.write_text("query,doc,score\n" + "\n".join(lines[1:]) + "\n")
    with pytest.raises(DataError, match="1 of 180 documents have no score, such as 'd0'"):
        train_run.train(config(path, **values), out=tmp_path / "other")
    with pytest.raises(OptionError, match="give the log too"):
        resolve({"production_scores": str(scores)})


@pytest.mark.parametrize(
    ("values", "error", "line"),
    [
        ({"exposure": "exact"}, DataError, "has no production scores; give them with --production"),
        ({"exposure": "logged"}, DataError, "has no logged propensities"),
        ({"data": "other.h5"}, UsageError, "the log was ingested without a data set"),
        ({"reward": {"name": "labels"}}, UsageError, "--reward labels needs judgements"),
        ({"top_k": 9}, UsageError, "the log shows 5 ranks"),
    ],
)
def test_what_a_log_cannot_give_is_one_line(tmp_path, values, error, line):
    with pytest.raises(error, match=line):
        train_run.train(config(stored(tmp_path / "log.h5", n=400), **values), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_fewer_ranks_than_the_default_are_no_error(tmp_path):
    """A log of three ranks is learned from at three, unless more were asked for."""
    log = open_log(stored(tmp_path / "log.h5"))
    cut = {
        split: replace(part, impressions=part.impressions[:, :3], clicks=part.clicks[:, :3])
        for split, part in log.statistics.items()
    }
    write_log(tmp_path / "log.h5", replace(log, statistics=cut))
    few = {"training": {"epochs": 1}}
    assert train_run.train(config(tmp_path / "log.h5", **few), out=tmp_path / "run")["top_k"] == 3
    with pytest.raises(CltrError, match="--top-k is 4, but the log shows 3 ranks"):
        train_run.train(config(tmp_path / "log.h5", top_k=4, **few), out=tmp_path / "more")


def test_a_log_without_features_gets_a_score_per_document(tmp_path):
    """Unless one asks for a scorer that needs features: then it is said that there are none."""
    path = stored(tmp_path / "log.h5")
    chosen = config(path, training={"epochs": 1}).model_dump(exclude_unset=True)
    del chosen["scorer"]
    assert train_run.train(resolve(chosen), out=tmp_path / "run")["scorer"] == "table"
    for scorer in ("mlp", "linear"):
        with pytest.raises(UsageError, match=f"'{scorer}' needs features.*use --scorer table"):
            train_run.train(resolve({**chosen, "scorer": {"name": scorer}}), out=tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_data_log_needs_a_log_that_stands_alone(tmp_path):
    with pytest.raises(UsageError, match="give the log too"):
        train_run.train(resolve({"data": "log"}), out=tmp_path / "run")


# On a data set, where production is known by counts only.


@pytest.fixture
def counted_log(tmp_path):
    """A log on the training and validation queries of a data set, without scores."""
    data = tiny_dataset(40)
    save_dataset(data, tmp_path / "data.h5")
    scores = data.features[:, 1].astype(np.float64)
    rng = np.random.default_rng(0)
    parts = {}
    for split, n in (("train", 2000), ("valid", 700)):
        part = data.part(split)
        found = simulate_statistics(
            part, scores[data.documents_of(split)], PositionBased(), n=n, top_k=5, rng=rng
        )
        off = np.arange(part.n_queries) % 4 == 3  # some queries never came
        documents = np.repeat(off, part.lists.lengths)
        parts[split] = replace(
            found,
            impressions=np.where(documents[:, None], 0, found.impressions),
            clicks=np.where(documents[:, None], 0, found.clicks),
            displays=np.where(off, 0, found.displays),
        )
    from cltr.data.importing import open_dataset

    fingerprint = open_dataset(tmp_path / "data.h5").fingerprint
    write_log(tmp_path / "log.h5", LogFile(parts, None, {"format": "long"}, fingerprint))
    return tmp_path


@pytest.mark.parametrize("scorer", ["mlp", "linear", "table"])
def test_judgements_and_clicks_are_both_reported(counted_log, scorer):
    values = {
        "data": str(counted_log / "data.h5"),
        "scorer": {"name": scorer},
        "training": {"epochs": 3},
        "skyline": False,
    }
    result = train_run.train(config(counted_log / "log.h5", **values), out=counted_log / "run")
    metrics = result["metrics"]
    assert metrics["production"]["ndcg@5"] is None  # production is not known on test queries
    assert 0 < metrics["policy"]["ndcg@5"] <= 1
    assert 0 < metrics["production"]["train_ndcg@5"] <= 1
    assert result["certificate"]["test"] is None
    found = result["off_policy"]
    assert found["policy"]["value"] > 0
    assert found["queries"] == 4
    assert "one more query could move" in found["policy"]["no_interval_because"]


def test_a_table_scores_the_documents_of_each_split(counted_log):
    """Rows of validation documents are their own, not those of training documents."""
    values = {"data": str(counted_log / "data.h5"), "training": {"epochs": 0}, "skyline": False}
    result = train_run.train(config(counted_log / "log.h5", **values), out=counted_log / "run")
    off = result["off_policy"]
    assert off["policy"]["value"] == pytest.approx(off["production"]["value"], rel=0.02)


# The real logs.


def test_a_document_that_only_the_test_part_shows_has_exposure(tmp_path):
    """Production showed it, so counted exposure knows it; its clicks do not reach training."""
    shown = {"log": "abc", "test": "zab"}
    paths = {
        name: write_csv(
            tmp_path / f"{name}.csv",
            [
                row | {"session": name + row["session"]}
                for row in rows(*([(tuple(documents), documents[0])] * 60))
            ],
        )
        for name, documents in shown.items()
    }
    path = tmp_path / "log.h5"
    ingest_log(LogSource([paths["log"]], LongReader(), test=[paths["test"]]), path)
    chosen = config(path, top_k=3, training={"epochs": 3})
    data = own_data(chosen)
    log = open_run_log(chosen, data, PositionBased())
    (new,) = np.flatnonzero(data.document_ids == "z")
    assert log.production.rank_distribution[new].tolist() == [0.5, 0.0, 0.0]
    for split in ("train", "valid"):
        assert log.statistics[split].impressions[new].sum() == 0
    result = train_run.train(chosen, out=tmp_path / "run")
    valid = log.statistics["valid"].n_interactions
    assert result["n_interactions"] + valid == 60
    assert result["off_policy"]["n_interactions"] == 60
    assert result["certificate"]["test"] == result["certificate"]["train"]


@needs_real
def test_yandex_trains_from_start_to_end(tmp_path):
    path = tmp_path / "log.h5"
    ingest_log(LogSource([REAL / "yandex-relpred" / "train.tsv.gz"], LongReader()), path)
    result = train_run.train(
        config(path, training={"epochs": 40}, top_k=10, metric="dcg"), out=tmp_path / "run"
    )
    difference = result["off_policy"]["difference"]
    assert difference["value"] > 2 * difference["standard_error"]
    valid = open_log(path).statistics["valid"].n_interactions
    assert result["n_interactions"] + result["off_policy"]["n_interactions"] + valid == 35_064
    assert open_log(path).lists.n_queries == 20


@needs_real
def test_open_bandit_trains_on_its_propensities(tmp_path):
    path = tmp_path / "log.h5"
    ingest_log(LogSource([REAL / "open-bandit" / "bts" / "men"], OpenBanditReader()), path)
    result = train_run.train(config(path, training={"epochs": 3}), out=tmp_path / "run")
    assert result["exposure"] == "logged"
    assert result["top_k"] == 3  # the log shows no more, and none were asked for
    assert any("single impressions" in line for line in result["assumptions"])
