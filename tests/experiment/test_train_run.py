"""Guards runs from start to end: what is kept, repeated, resumed and judged again."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltr import testing
from cltr.errors import CltrError, DataError, OptionError, UsageError
from cltr.experiment import evaluate_run, simulate_log, train_run
from cltr.experiment.config import RunConfig, resolve
from cltr.experiment.progress import Progress
from cltr.experiment.run_folder import RunFolder
from cltr.logs.log_file import open_log
from tests import small

FILES = {
    "run.toml",
    "policy.safetensors",
    "production.safetensors",
    "production-scores.safetensors",
    "history.json",
    "changes.json",
    "result.json",
    "inputs.json",
    "sample.safetensors",
    "serving.json",
    "README.md",
}


class Interrupt(Progress):
    """Ctrl-C in the middle of training, after some epochs."""

    def __init__(self, epoch: int) -> None:
        self.epoch_to_stop, self.training = epoch, False

    def stage(self, text: str) -> None:
        self.training = text == "training"

    def epoch(self, state, options) -> None:
        if self.training and state.epoch == self.epoch_to_stop:
            raise KeyboardInterrupt


@pytest.fixture(scope="module", autouse=True)
def small_data():
    data = small.dataset()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cltr.data.demo.demo_dataset", lambda: data)
        yield data


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, dict]:
    """One run, with a band that some documents leave, to be looked at by many tests."""
    path = tmp_path_factory.mktemp("finished") / "run"
    values = {
        "estimator": {"name": "prpo", "clip": "1600/N"},
        "training": {"epochs": 5, "learning_rate": 0.03},
        "metric": "clicks",
        "skyline": True,
    }
    return path, train_run.train(small.config(**values), out=path)


@pytest.fixture
def always_saved(monkeypatch):
    """A checkpoint after every epoch, however short."""
    monkeypatch.setitem(train_run._Saver.__init__.__kwdefaults__, "every", -1.0)


def files(path: Path) -> set[str]:
    return {one.name for one in path.iterdir()}


def content(path: Path, *names: str) -> list[bytes]:
    return [(path / name).read_bytes() for name in names]


# What a run leaves.


def test_a_finished_run_is_a_folder_of_known_files(finished):
    path, result = finished
    assert files(path) == FILES
    assert json.loads((path / "result.json").read_text()) == result
    history = json.loads((path / "history.json").read_text())
    assert [record["epoch"] for record in history] == list(range(result["epochs"] + 1))


def test_the_result_says_what_was_run(finished):
    path, result = finished
    expected = {
        "estimator": "prpo",
        "reward": "ips",
        "ranker": "exact",
        "scorer": "mlp",
        "click_model": "trust-bias",
        "users": "trust-bias",
        "metric": "clicks",
        "top_k": 5,
        "n_interactions": 2000,
        "seed": 1,
        "run": str(path),
    }
    assert result.items() >= expected.items()
    assert set(result["metrics"]) == {"production", "production_sorted", "policy", "skyline"}
    assert set(result["certificate"]) == {"train", "test", "clicks"}
    assert 0 < result["clip_fraction"] < 1


def test_the_run_file_has_every_value_and_where_it_came_from(finished, small_data):
    config = resolve(RunConfig.load(finished[0] / "run.toml"))
    assert config.estimator.options == {"clip": "1600/N"}
    assert config.users.name == "trust-bias"
    assert len(config.users.options["examination"]) == 5
    assert config.training.batch_queries == 32
    assert config.provenance["data"] == small_data.fingerprint
    assert config.provenance["versions"].keys() >= {"cltr", "cltr-ips", "numba", "numpy", "torch"}


# The same again.


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"users": {"name": "adversarial", "of": "pbm"}, "init": "random", "metric": "precision"},
        {"exposure": "counted", "estimator": {"name": "safe", "confidence": 0.5}, "top_k": 3},
        {"ranker": {"name": "pl-rank"}, "propensity_clip": 0.2, "seed": 7},
    ],
)
def test_a_run_file_repeats_the_run_bit_for_bit(tmp_path, values):
    first = train_run.train(small.config(**values), out=tmp_path / "first")
    config = resolve(RunConfig.load(tmp_path / "first/run.toml"))
    second = train_run.train(config, out=tmp_path / "second")
    assert small.same_numbers(first) == small.same_numbers(second)
    names = ["run.toml", "policy.safetensors", "production.safetensors", "history.json"]
    assert content(tmp_path / "first", *names) == content(tmp_path / "second", *names)


def test_another_seed_gives_other_numbers(tmp_path):
    results = [train_run.train(small.config(seed=s), out=tmp_path / str(s)) for s in (1, 2)]
    assert results[0]["metrics"] != results[1]["metrics"]


# Interrupted and resumed.


@pytest.mark.parametrize("epoch", range(5))
def test_a_resumed_run_has_the_result_it_would_have_had(tmp_path, always_saved, epoch):
    config = small.config(
        training={"epochs": 4, "batch_queries": 5, "patience": 3, "learning_rate": 0.02}
    )
    whole = train_run.train(config, out=tmp_path / "whole")
    assert whole["epochs"] == 4
    path = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        train_run.train(config, out=path, progress=Interrupt(epoch))
    assert files(path) == {"run.toml", "checkpoint"}
    result = train_run.resume(path)
    assert small.same_numbers(result) == small.same_numbers(whole)
    assert files(path) == FILES
    names = ["policy.safetensors", "history.json"]
    assert content(path, *names) == content(tmp_path / "whole", *names)


def test_a_run_stopped_before_its_first_checkpoint_starts_afresh(tmp_path):
    whole = train_run.train(small.config(), out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train_run.train(small.config(), out=tmp_path / "stopped", progress=Interrupt(0))
    assert files(tmp_path / "stopped") == {"run.toml"}
    assert small.same_numbers(train_run.resume(tmp_path / "stopped")) == small.same_numbers(whole)


def test_a_finished_run_is_not_resumed(finished):
    with pytest.raises(UsageError) as caught:
        train_run.resume(finished[0])
    line = f"{finished[0]}: the run is finished; see cltr evaluate {finished[0]}"
    assert str(caught.value) == line


def test_a_damaged_checkpoint_is_one_line(tmp_path, always_saved):
    with pytest.raises(KeyboardInterrupt):
        train_run.train(small.config(), out=tmp_path / "run", progress=Interrupt(1))
    (path,) = (tmp_path / "run/checkpoint").glob("*.safetensors")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="damaged checkpoint; remove it to start again"):
        train_run.resume(tmp_path / "run")


# Bad input leaves nothing behind.


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"log": "nowhere.h5"}, DataError),
        ({"estimator": {"name": "safe", "form": "paper"}}, OptionError),
        ({"top_k": 9}, OptionError),
    ],
)
def test_a_run_that_fails_leaves_no_folder(tmp_path, values, error):
    with pytest.raises(error):
        train_run.train(small.config(**values), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_full_disk_at_the_end_leaves_no_half_of_a_run(tmp_path, monkeypatch):
    def full(self, name, value):
        raise DataError(f"{name}: cannot be written: no space left on device")

    (tmp_path / "run").mkdir()
    (tmp_path / "run/mine.txt").write_text("keep")
    monkeypatch.setattr(RunFolder, "write_json", full)
    with pytest.raises(DataError, match="no space left"):
        train_run.train(small.config(), out=tmp_path / "run")
    assert files(tmp_path / "run") == {"mine.txt"}


def test_what_can_be_resumed_is_kept(tmp_path, monkeypatch, always_saved):
    def full(self, name, value):
        raise DataError(f"{name}: cannot be written: no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_json", full)
        with pytest.raises(DataError, match="no space left"):
            train_run.train(small.config(), out=tmp_path / "run")
    result = train_run.resume(tmp_path / "run")
    whole = train_run.train(small.config(), out=tmp_path / "whole")
    assert small.same_numbers(result) == small.same_numbers(whole)


# Judged again.


def test_a_run_is_judged_again_as_it_was(finished):
    path, result = finished
    again = evaluate_run.evaluate(path)
    assert again["certificate"] == result["certificate"]
    assert 0 < result["certificate"]["test"]["documents_outside"] < 1
    for who in ("production", "policy"):
        assert again["metrics"][who] == result["metrics"][who]
    same = ["estimator", "reward", "users", "n_interactions", "top_k", "seed", "data", "policy"]
    assert {key: again[key] for key in same} == {key: result[key] for key in same}
    assert again["blend"] == 1.0


def test_a_blend_meets_the_loss_on_both_splits(finished):
    before = evaluate_run.evaluate(finished[0])["certificate"]
    worst = max(before[split]["worst_case"]["ndcg@5"]["loss"] for split in ("train", "test"))
    after = evaluate_run.evaluate(finished[0], blend_to_loss=worst / 3)
    assert after["blend"] == pytest.approx(1 / 3)
    found = max(
        after["certificate"][split]["worst_case"]["ndcg@5"]["loss"] for split in ("train", "test")
    )
    assert found == pytest.approx(worst / 3)
    assert evaluate_run.evaluate(finished[0], blend_to_loss=1.0)["blend"] == 1.0


def test_a_run_can_be_judged_on_other_data(finished, monkeypatch):
    other = small.dataset(30, seed=4)
    monkeypatch.setattr("cltr.data.loading.load_dataset", lambda name: other)
    found = evaluate_run.evaluate(finished[0], data="other.h5")
    assert found["data"] == "other.h5"
    assert found["metrics"]["policy"] != evaluate_run.evaluate(finished[0], data="demo")["metrics"]


def test_a_run_on_other_features_cannot_be_judged(finished, monkeypatch):
    other = small.dataset(30, seed=4)
    other = replace(other, features=np.tile(other.features, 2))
    monkeypatch.setattr("cltr.data.loading.load_dataset", lambda name: other)
    with pytest.raises(DataError, match=r"and the run has .*; give a data set with the features"):
        evaluate_run.evaluate(finished[0], data="other.h5")


def test_a_run_that_is_not_finished_cannot_be_judged(tmp_path, always_saved):
    with pytest.raises(KeyboardInterrupt):
        train_run.train(small.config(), out=tmp_path / "run", progress=Interrupt(1))
    with pytest.raises(CltrError, match="the run is not finished"):
        evaluate_run.evaluate(tmp_path / "run")


# Logs.


@pytest.mark.parametrize("sessions", [False, True], ids=["counts", "sessions"])
def test_a_log_holds_what_its_description_says(tmp_path, sessions, small_data):
    path = tmp_path / "log.h5"
    result = simulate_log.simulate(small.config(), out=path, sessions=sessions)
    log = open_log(path, small_data)
    train, valid = log.statistics["train"], log.statistics["valid"]
    assert (train.n_interactions, valid.n_interactions) == (2000, 1000)
    assert result["n_interactions"] == 2000
    clicks = {name: int(part.clicks.sum()) for name, part in log.statistics.items()}
    assert result["clicks"] == clicks and list(clicks) == ["train", "valid", "test"]
    assert result["impressions"]["train"] == int(train.impressions.sum())
    rates = train.clicks.sum(0) / train.impressions.sum(0)
    assert result["click_rate"] == pytest.approx(rates.tolist(), abs=1e-6)
    assert log.description["users"] == result["users"] == "trust-bias"
    assert result["log"] == str(path)


def test_training_on_a_log_is_training_on_its_clicks(tmp_path):
    """The same seed draws the same clicks, so both ways must come to the same policy."""
    values = {"init": "random", "users": {"name": "adversarial"}}
    direct = train_run.train(small.config(**values), out=tmp_path / "direct")
    simulate_log.simulate(small.config(**values), out=tmp_path / "log.h5")
    config = small.config(init="random", log=str(tmp_path / "log.h5"), interactions=7)
    logged = train_run.train(config, out=tmp_path / "logged")
    different = {"run", "seconds", "warnings"}  # which say how to fit a model to the log
    assert {k: v for k, v in logged.items() if k not in different} == {
        k: v for k, v in direct.items() if k not in different
    }
    assert (logged["users"], logged["n_interactions"]) == ("adversarial", 2000)
    assert evaluate_run.evaluate(tmp_path / "logged")["users"] == "adversarial"


def test_production_known_from_a_log_cannot_be_scored_elsewhere(tmp_path):
    simulate_log.simulate(small.config(), out=tmp_path / "log.h5")
    train_run.train(small.config(log=str(tmp_path / "log.h5")), out=tmp_path / "run")
    assert "production.safetensors" not in files(tmp_path / "run")
    with pytest.raises(CltrError, match="knows production only by its scores in the log"):
        evaluate_run.evaluate(tmp_path / "run", data="demo")


def test_a_log_of_another_data_set_is_refused(tmp_path, monkeypatch):
    simulate_log.simulate(small.config(), out=tmp_path / "log.h5")
    monkeypatch.setattr("cltr.data.loading.load_dataset", lambda name: small.dataset(30))
    with pytest.raises(DataError, match="the log was made with"):
        train_run.train(small.config(log=str(tmp_path / "log.h5")), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_can_be_moved(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "moved")
    assert evaluate_run.evaluate(tmp_path / "moved")["run"] == str(tmp_path / "moved")


def test_data_that_changed_since_the_run_is_refused(tmp_path, monkeypatch):
    datasets = iter([testing.tiny_dataset(20), testing.tiny_dataset(20, seed=1)])
    monkeypatch.setattr("cltr.data.loading.load_dataset", lambda name: next(datasets))
    config = resolve({"reward": {"name": "ips"}, "training": {"epochs": 1}, "interactions": 100})
    train_run.train(config, out=tmp_path / "run")
    with pytest.raises(DataError, match=r"has changed since .*run was run: fingerprint tiny-20-1"):
        evaluate_run.evaluate(tmp_path / "run")


@pytest.mark.parametrize(("estimator", "reported"), [("safe", True), ("prpo", False)])
def test_documents_that_the_bound_leaves_out_are_counted(
    tmp_path, monkeypatch, estimator, reported
):
    monkeypatch.setattr("cltr.data.loading.load_dataset", lambda name: testing.tiny_dataset(20))
    config = resolve(
        {
            "estimator": {"name": estimator},
            "reward": {"name": "ips"},
            "exposure": "counted",  # what was never shown has no propensity
            "training": {"epochs": 1},
            "interactions": 30,
        }
    )
    found = train_run.train(config, out=tmp_path / "run")["unsupported_documents"]
    assert (found > 0) if reported else found is None
