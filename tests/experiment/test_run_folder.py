"""Guards run folders: whole files, strict JSON, weights that fit, and one line for the rest."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from cltr.documents import Documents, ModelSetup
from cltr.errors import CltrError, DataError
from cltr.experiment.run_folder import RunFolder
from cltr.files.claims import PARTIAL
from cltr.files.storage import finite
from cltr.testing import tiny_dataset
from cltr.training.loop import TrainingState
from cltr.training.scorers import Mlp
from cltr.training.torch_model import TorchModel


def model(width: int = 3, seed: int = 0) -> TorchModel:
    return Mlp(hidden=(2,)).build(ModelSetup(width, 10), seed=seed)


def state_after(steps: int) -> TrainingState:
    """A state of a model that has taken some steps."""
    data, trained = tiny_dataset(), model(6)
    for _ in range(steps):
        trained.step(Documents.of(data), np.ones_like)
    return TrainingState(
        epoch=steps,
        weights=trained.state(),
        optimizer=trained.training_state(),
        best_weights=model(6, seed=1).state(),
        best_epoch=1,
        best_value=0.1 + 0.2,
        history=[{"epoch": 0, "valid_value": 1 / 3}],
    )


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", label="x")


def names(folder: RunFolder) -> set[str]:
    """All files but the one that says who trains in the folder."""
    return {path.name for path in folder.path.iterdir() if path.name != f".run{PARTIAL}"}


def test_folders_are_numbered_below_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = RunFolder.create(None, label="prpo-dr")
    assert str(first.path) == "runs/001-prpo-dr"
    (tmp_path / "runs/041-old").mkdir()
    (tmp_path / "runs/notes").mkdir()
    assert str(RunFolder.create(None, label="plain-ips").path) == "runs/042-plain-ips"


def test_runs_that_start_at_once_have_folders_of_their_own(tmp_path, monkeypatch):
    """Both see the same free number; the slower one takes the next."""
    monkeypatch.chdir(tmp_path)
    found = iter(["runs/001-x", "runs/001-x", "runs/002-x"])
    monkeypatch.setattr(
        "cltr.experiment.run_folder._next_folder", lambda parent, label: Path(next(found))
    )
    assert [str(RunFolder.create(None, label="x").path) for _ in range(2)] == [
        "runs/001-x",
        "runs/002-x",
    ]


def test_a_run_that_is_discarded_leaves_no_empty_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RunFolder.create(None, label="x").discard()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kept").mkdir()
    RunFolder.create(Path("kept/deep/run"), label="x").discard()
    assert list(tmp_path.rglob("*")) == [tmp_path / "kept"]
    (tmp_path / "kept/run").mkdir()
    (tmp_path / "kept/run/notes").touch()
    RunFolder.create(Path("kept/run"), label="x").discard()
    assert (tmp_path / "kept/run/notes").exists()


def test_a_run_is_never_overwritten(folder):
    folder.write_text("run.toml", "")
    with pytest.raises(CltrError) as caught:
        RunFolder.create(folder.path, label="x")
    assert str(caught.value) == (
        f"{folder.path}: the folder holds a run already; use --resume to continue it, or another "
        "--out"
    )


def test_a_folder_that_cannot_be_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CltrError, match="cannot create run folder: Not a directory"):
        RunFolder.create(tmp_path / "file" / "run", label="x")
    with pytest.raises(CltrError, match="is a file; a run needs a folder"):
        RunFolder.create(tmp_path / "file", label="x")


def test_only_a_run_can_be_opened(tmp_path):
    with pytest.raises(CltrError) as caught:
        RunFolder.open(tmp_path)
    assert str(caught.value) == f"{tmp_path}: not a run folder: it has no run.toml"


def test_discard_removes_what_the_run_wrote_and_nothing_else(folder):
    (folder.path / "mine.txt").write_text("keep")
    folder.write_text("run.toml", "x")
    folder.save_model("policy.safetensors", model())
    folder.discard()
    assert names(folder) == {"mine.txt"}
    (folder.path / "mine.txt").unlink()
    folder.discard()
    assert not folder.path.exists()


def test_json_is_strict(folder):
    value = {"a": float("nan"), "b": [1.5, float("inf")], "c": None, "d": True, "e": "text"}
    folder.write_json("other.json", value)

    def refuse(word):
        raise AssertionError(word)

    text = (folder.path / "other.json").read_text()
    found = json.loads(text, parse_constant=refuse)
    assert found == {"a": None, "b": [1.5, None], "c": None, "d": True, "e": "text"}
    assert folder.read_json("other.json") == found
    assert finite((1, -float("inf"))) == [1, None]


def test_a_run_without_a_result_is_not_finished(folder):
    with pytest.raises(CltrError) as caught:
        folder.read_json("result.json")
    assert str(caught.value) == (
        f"{folder.path}: the run is not finished: it has no result.json; "
        f"continue it with: cltr train --resume {folder.path}"
    )


def test_json_that_is_none_is_one_line(folder):
    (folder.path / "result.json").write_text('{"a": ')
    with pytest.raises(DataError, match="cannot be read as JSON") as caught:
        folder.read_json("result.json")
    assert "\n" not in str(caught.value)


def test_weights_come_back_bit_for_bit(folder):
    folder.save_model("policy.safetensors", model())
    other = model(seed=5)
    folder.load_model("policy.safetensors", other)
    ours, theirs = model().state(), other.state()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_weights_of_version_0_1_still_open(folder):
    """They were written from the state dictionary of the scorer's module, by torch."""
    from safetensors.torch import save_file

    old = {
        "layers.0.weight": torch.arange(6.0).reshape(2, 3),
        "layers.0.bias": torch.ones(2),
        "layers.2.weight": torch.full((1, 2), 0.5),
        "layers.2.bias": torch.zeros(1),
    }
    save_file(old, folder.path / "policy.safetensors")
    found = model()
    folder.load_model("policy.safetensors", found)
    features = np.array([[1.0, 0.0, 2.0]], np.float32)
    documents = Documents(features, np.arange(1), np.array([0, 1]))
    expected = 0.5 * (0 * 1 + 2 * 2 + 1) + 0.5 * (3 * 1 + 5 * 2 + 1)
    assert found.scores(documents).tolist() == [expected]


def test_weights_of_another_shape_are_refused(folder):
    folder.save_model("policy.safetensors", model(3))
    with pytest.raises(DataError, match=r"the weights do not fit the scorer of run\.toml"):
        folder.load_model("policy.safetensors", model(4))


def test_weights_that_are_missing_or_damaged_are_one_line(folder):
    with pytest.raises(CltrError, match="no such file; the run is not finished"):
        folder.load_model("policy.safetensors", model())
    folder.save_model("policy.safetensors", model())
    path = folder.path / "policy.safetensors"
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match="damaged weights") as caught:
        folder.load_model("policy.safetensors", model())
    assert "\n" not in str(caught.value)


def test_scores_come_back_and_must_be_as_many_as_documents(folder):
    scores = np.array([0.1, -2.0, 1e-300])
    folder.save_scores("scores.safetensors", scores)
    np.testing.assert_array_equal(folder.load_scores("scores.safetensors", n_documents=3), scores)
    with pytest.raises(DataError, match="has scores of 3 documents; the data set has 4"):
        folder.load_scores("scores.safetensors", n_documents=4)
    folder.save_model("other.safetensors", model())
    with pytest.raises(DataError, match="holds no scores"):
        folder.load_scores("other.safetensors", n_documents=3)


@pytest.mark.parametrize("steps", [0, 3])
def test_a_checkpoint_comes_back_whole(folder, steps):
    state = state_after(steps)
    assert folder.checkpoint.load() is None
    assert not folder.checkpoint.exists
    folder.checkpoint.save(state)
    found = RunFolder(folder.path).checkpoint.load()
    assert folder.checkpoint.exists
    for name in ("epoch", "best_epoch", "best_value", "history"):
        assert getattr(found, name) == getattr(state, name)
    for name in ("weights", "optimizer", "best_weights"):
        ours, theirs = getattr(state, name), getattr(found, name)
        assert set(ours) == set(theirs)
        assert all(ours[key].tobytes() == theirs[key].tobytes() for key in ours)
        assert all(ours[key].dtype == theirs[key].dtype for key in ours)
    folder.checkpoint.remove()
    folder.checkpoint.remove()
    assert names(folder) == set()


def test_a_value_that_was_never_reached_survives(folder):
    folder.checkpoint.save(TrainingState(weights=model().state()))
    assert folder.checkpoint.load().best_value == -np.inf


def test_a_checkpoint_writes_only_what_is_new(folder):
    """A model that only adds is saved at the cost of what it added, before a kill and after."""
    parts = {f"part{i}": np.full(1000, float(i)) for i in range(50)}

    def sizes(checkpoint, n):
        checkpoint.save(TrainingState(epoch=n, weights=dict(list(parts.items())[:n])))
        files = sorted((folder.path / "checkpoint").glob("*.safetensors"))
        return [path.stat().st_size for path in files]

    first = sizes(folder.checkpoint, 49)
    second = sizes(folder.checkpoint, 50)
    assert len(first) == 1
    assert second[0] == first[0] > 40 * second[1]
    resumed = RunFolder(folder.path).checkpoint
    state = resumed.load()
    assert [values[0] for values in state.weights.values()] == list(range(50))
    resumed.save(state)
    assert len(list((folder.path / "checkpoint").glob("*.safetensors"))) == 2


def test_a_checkpoint_keeps_no_file_that_it_does_not_need(folder):
    for steps in range(3):
        folder.checkpoint.save(state_after(steps))
    assert {path.name for path in (folder.path / "checkpoint").iterdir()} == {
        "000002.safetensors",
        "state.json",
    }


@pytest.mark.parametrize("length", [0, 7, 60, -5])
@pytest.mark.parametrize("file", ["000000.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_one_line(folder, file, length):
    folder.checkpoint.save(state_after(2))
    path = folder.path / "checkpoint" / file
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DataError) as caught:
        folder.checkpoint.load()
    assert str(caught.value) == (
        f"{folder.path / 'checkpoint'}: damaged checkpoint; remove it to start again"
    )


def test_a_checkpoint_reads_no_file_outside_its_folder(folder):
    folder.checkpoint.save(state_after(2))
    folder.save_model("policy.safetensors", model())
    path = folder.path / "checkpoint" / "state.json"
    path.write_text(path.read_text().replace("000000.safetensors", "../policy.safetensors"))
    with pytest.raises(DataError, match="damaged checkpoint"):
        folder.checkpoint.load()


def test_a_checkpoint_of_version_0_1_is_one_line(folder):
    folder.save_model("checkpoint.safetensors", model())
    with pytest.raises(DataError, match=r"this checkpoint was written by version 0\.1"):
        folder.checkpoint.load()


def test_a_full_disk_keeps_what_was_there(folder, monkeypatch):
    folder.save_model("policy.safetensors", model())
    before = (folder.path / "policy.safetensors").read_bytes()

    def full(self, data):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(DataError) as caught:
        folder.save_model("policy.safetensors", model(seed=9))
    assert "no space left on device; an earlier file of that name is unchanged" in str(caught.value)
    assert (folder.path / "policy.safetensors").read_bytes() == before
    assert names(folder) == {"policy.safetensors"}
