"""Guards ``cltr train``: what it prints, keeps, repeats and resumes."""

import json
from pathlib import Path

import pytest

from cltr.errors import DataError
from cltr.experiment import train_run
from tests import small

DESIGN = {
    "estimator",
    "reward",
    "ranker",
    "scorer",
    "click_model",
    "users",
    "metric",
    "top_k",
    "n_interactions",
    "seed",
    "metrics",
    "certificate",
    "clip_fraction",
    "seconds",
    "run",
}


def test_json_has_the_keys_that_are_promised(cltr):
    done = cltr("train", *small.FLAGS, "--reward", "ips", "--skyline", "--json")
    result = json.loads(done.stdout)
    assert set(result) >= DESIGN
    assert set(result["metrics"]) == {"production", "production_sorted", "policy", "skyline"}
    for values in result["metrics"].values():
        assert 0 < values["ndcg@5"] < 1
    assert set(result["certificate"]) == {"train", "test"}
    for certificate in result["certificate"].values():
        assert set(certificate) >= {"ratio_min", "worst_loss", "worst_loss_1", "worst_loss_3"}
    assert result["run"] == "runs/001-prpo-ips"


def test_the_default_is_prpo_over_dr(cltr):
    result = json.loads(cltr("train", *small.FLAGS, "--json").stdout)
    chosen = [result[key] for key in ("estimator", "reward", "ranker", "scorer", "click_model")]
    assert chosen == ["prpo", "dr", "exact", "mlp", "trust-bias"]
    assert (result["users"], result["metric"], result["top_k"]) == ("trust-bias", "dcg", 5)


def test_without_a_clip_its_fraction_is_null(train):
    assert train("--estimator", "plain")["clip_fraction"] is None


def test_people_get_tables_on_stdout_and_progress_on_stderr(cltr):
    done = cltr("train", *small.FLAGS, "--reward", "ips")
    assert done.exit_code == 0
    for word in (
        "method prpo, reward ips",
        "NDCG@5",
        "production",
        "new policy",
        "Worst case",
        "points",
    ):
        assert word in done.stdout
    assert "skyline" not in done.stdout
    for stage in ("production ranker", "clicks", "rewards", "training", "evaluation"):
        assert stage in done.stderr


def test_the_same_seed_twice_and_another(train):
    first, again, other = train("--seed", 1), train("--seed", 1), train("--seed", 2)
    assert small.same_numbers(first) == small.same_numbers(again)
    assert first["metrics"] != other["metrics"]
    assert [one["run"][:8] for one in (first, again, other)] == ["runs/001", "runs/002", "runs/003"]


@pytest.mark.parametrize("n", ["1500", "1.5e3", "0.15e4"])
def test_interactions_in_either_notation(train, n):
    assert train("-n", n)["n_interactions"] == 1500


def test_a_run_file_repeats_the_run_bit_for_bit(train, cltr, here):
    words = ["--users", "adversarial", "-o", "estimator.clip=0.5", "-o", "estimator.rollback=1"]
    first = train(*words, "--init", "random", "--metric", "clicks", "--out", "first")
    done = cltr("train", "--config", "first/run.toml", "--out", "second", "--json")
    assert small.same_numbers(json.loads(done.stdout)) == small.same_numbers(first)
    for name in ("run.toml", "policy.safetensors", "history.json"):
        assert (here / "first" / name).read_bytes() == (here / "second" / name).read_bytes()


def test_flags_come_on_top_of_a_run_file(train, cltr):
    train("--out", "first", "-o", "estimator.clip=0.5")
    done = cltr(
        "train", "--config", "first/run.toml", "--seed", 9, "-o", "estimator.low=0.1", "--json"
    )
    result = json.loads(done.stdout)
    assert result["seed"] == 9
    text = (Path(result["run"]) / "run.toml").read_text()
    assert "clip = 0.5" in text
    assert "low = 0.1" in text


def test_a_run_goes_on_after_an_interruption(train, cltr, monkeypatch):
    whole = train("--out", "whole")
    stop = {"at": 1}

    def interrupt(self, state, options):
        if state.epoch == stop["at"]:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setitem(train_run._Saver.__init__.__kwdefaults__, "every", -1.0)
        patch.setattr("cltr.api.progress.RunBars.epoch", interrupt)
        done = cltr("train", *small.FLAGS, "--reward", "ips", "--out", "stopped", "--json")
    assert done.exit_code == 130
    assert "Error: interrupted" in done.stderr
    assert done.stdout == ""
    resumed = json.loads(cltr("train", "--resume", "stopped", "--json").stdout)
    assert small.same_numbers(resumed) == small.same_numbers(whole)


def test_a_log_is_trained_on(cltr, train, here):
    assert cltr("simulate", *small.FLAGS[:2], "--out", "log.h5").exit_code == 0
    result = train("--log", "log.h5")
    assert result["n_interactions"] == 2000


def test_a_file_of_data_is_trained_on(train, here):
    from cltr.data.dataset_file import save_dataset

    data = small.dataset()
    save_dataset(data, here / "data.h5")
    from_file = train("--data", "data.h5")
    assert from_file["data"] == "data.h5"
    assert from_file["metrics"] == train()["metrics"]


def test_verbose_shows_the_traceback(cltr):
    quiet = cltr("train", "--log", "none.h5")
    assert isinstance(quiet.exception, SystemExit)
    loud = cltr("train", "--log", "none.h5", "--verbose")
    assert isinstance(loud.exception, DataError)


def test_a_bug_is_one_line_that_says_how_to_see_more(cltr, monkeypatch):
    def fail(*args, **kwargs):
        raise ValueError("first line\nsecond line")

    monkeypatch.setattr("cltr.experiment.train_run.train", fail)
    done = cltr("train")
    assert done.exit_code == 1
    expected = "Error: internal error: ValueError: first line; run again with --verbose"
    assert done.stderr.splitlines()[-1] == expected


@pytest.mark.parametrize(
    ("words", "metric"), [(["--top-k", "3"], "ndcg@3"), (["--top-k", "1"], "ndcg@1")]
)
def test_the_metric_is_named_by_its_cut(train, words, metric):
    assert metric in train(*words)["metrics"]["policy"]
