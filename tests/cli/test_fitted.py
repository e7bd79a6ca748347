"""Guards ``fitted:FILE``: every fitted model can train, those that are affine can correct."""

import json
import shutil

import pytest

from cltr.studies.cell_worker import key_of
from cltr.studies.study import Cell, Study

NAMES = ("pbm", "trust-bias", "dbn", "ubm", "dcm")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the first test that needs the models leaves them for the others."""
    return tmp_path_factory.mktemp("fitted") / "kept"


@pytest.fixture
def models(cltr, here, kept):
    """A log of the demo data with its interactions, and models that were fitted to it."""
    if kept.exists():
        shutil.copytree(kept, here, dirs_exist_ok=True)
        return here / "models"
    words = ("simulate", "-n", "2000", "--users", "dbn", "--sessions", "--out", "log.h5")
    assert cltr(*words).exit_code == 0
    flags = [word for name in NAMES for word in ("--click-model", name)]
    assert cltr("fit", "--log", "log.h5", *flags, "--out", "models").exit_code == 0
    shutil.copytree(here, kept)
    return here / "models"


def test_any_fitted_model_rewards_under_plain_and_prpo(models, train, cltr, here):
    for name, estimator in (("dbn", "prpo"), ("ubm", "plain"), ("dcm", "prpo"), ("pbm", "plain")):
        words = ("--click-model", f"fitted:models/{name}.h5", "--estimator", estimator)
        result = train("--log", "log.h5", *words, "--out", name, reward="click-model")
        assert result["click_model"] == f"fitted:models/{name}.h5"
        assert 0 < result["metrics"]["policy"]["ndcg@5"] < 1
    assert 'name = "fitted:models/dbn.h5"' in (here / "dbn/run.toml").read_text()
    judged = json.loads(cltr("evaluate", "dbn", "--json").stdout)
    assert (
        judged["metrics"]["policy"]
        == json.loads((here / "dbn/result.json").read_text())["metrics"]["policy"]
    )


def test_a_run_file_repeats_the_run(models, train):
    words = ("--log", "log.h5", "--click-model", "fitted:models/dbn.h5", "--out", "one")
    first = train(*words, reward="click-model")
    again = train("--config", "one/run.toml", "--out", "two", reward="click-model")
    assert again["metrics"] == first["metrics"]


def test_a_run_remembers_what_its_model_file_held(models, train, refused):
    words = ("--log", "log.h5", "--click-model", "fitted:models/pbm.h5", "--out", "run")
    train(*words, reward="ips")
    shutil.copy(models / "trust-bias.h5", models / "pbm.h5")
    line = refused("evaluate", "run", code=1)
    assert "models/pbm.h5: has changed since run was run" in line


def test_cells_of_a_study_change_with_the_model_file(models):
    given = {"base": {"click_model": "fitted:models/pbm.h5"}, "methods": {"DR": {}}}
    study, cell = Study.parse(given, owner=""), Cell("DR", 1, 500, "trust-bias")
    before = key_of(study, cell, "f")
    assert key_of(study, cell, "f") == before
    shutil.copy(models / "trust-bias.h5", models / "pbm.h5")
    assert key_of(study, cell, "f") != before


@pytest.mark.parametrize("reward", ["ips", "dr"])
def test_an_affine_one_corrects_and_another_is_refused(models, train, refused, reward):
    result = train("--log", "log.h5", "--click-model", "fitted:models/pbm.h5", reward=reward)
    assert 0 < result["metrics"]["policy"]["ndcg@5"] < 1
    words = ("--log", "log.h5", "--click-model", "fitted:models/dbn.h5", "--reward", reward)
    line = refused("train", *words, code=1)
    assert "not affine" in line
    assert "--reward click-model" in line


def test_safe_takes_an_affine_one(models, train):
    words = ("--estimator", "safe", "--click-model", "fitted:models/trust-bias.h5")
    assert train("--log", "log.h5", *words)["estimator"] == "safe"


def test_fitted_users_click(models, cltr, train):
    words = ("simulate", "-n", "500", "--out", "again.h5", "--json")
    report = json.loads(cltr(*words, "--users", "fitted:models/dbn.h5").stdout)
    assert report["users"] == "dbn"
    other = train("--users", "fitted:models/dcm.h5", "--click-model", "pbm", "--out", "run")
    assert other["users"] == "dcm"


def test_without_interactions_a_fitted_table_serves_by_id(models, train):
    words = ("--click-model", "fitted:models/dbn.h5", "--users", "pbm")
    assert 0 < train(*words, reward="click-model")["metrics"]["policy"]["ndcg@5"] < 1


def test_a_session_model_is_fitted_in_the_run_where_the_log_has_sessions(models, train, refused):
    result = train("--log", "log.h5", "--click-model", "dbn", reward="click-model")
    assert result["click_model"] == "dbn"
    words = ("--click-model", "dbn", "--reward", "click-model", "-n", "500")
    assert "cltr simulate --sessions" in refused("train", *words, code=1)


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["fitted:"], 2, "name the file"),
        (["fitted:none.h5"], 1, "none.h5: no such file"),
        (["fitted:log.h5"], 1, "log.h5"),
        (["fitted:models/pbm.h5", "-o", "click-model.eta=2"], 2, "takes its options from its file"),
        (["fitted:models/pbm.h5", "--top-k", "7"], 2, "5 ranks"),
    ],
)
def test_what_is_not_a_fitted_model_is_refused(models, refused, words, code, reason):
    assert reason in refused("train", "--click-model", *words, "--reward", "ips", code=code)


def test_the_log_doctor_takes_one(models, cltr):
    assert cltr("check", "log.h5", "--click-model", "fitted:models/pbm.h5").exit_code == 0
