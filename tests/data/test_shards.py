"""Guards data sets in several files: the same numbers as in one, and nothing else is opened."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cltr
from cltr.data.importing import dataset_info, split_dataset
from cltr.data.joined_rows import JoinedRows
from cltr.data.shards import INDEX, open_shards, write_shards
from cltr.errors import DataError, UsageError
from cltr.types import SPLITS
from tests import small

PARTS = [np.arange(12.0).reshape(3, 4), np.arange(4.0).reshape(1, 4), np.arange(20.0).reshape(5, 4)]
N = sum(map(len, PARTS))


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("data")
    one = Path(small.saved(folder))
    split_dataset(str(one), folder / "seven", n_shards=7)
    return one, folder / "seven"


@given(st.slices(N) | st.lists(st.integers(-N, N - 1), max_size=20) | st.integers(-N, N - 1))
def test_law_rows_are_those_of_one_array(key):
    key = np.array(key, np.int64) if isinstance(key, list) else key
    joined, whole = JoinedRows(PARTS), np.concatenate(PARTS)
    found = np.asarray(joined[key])
    assert found.dtype == whole.dtype
    assert np.array_equal(found, whole[key])
    if isinstance(key, slice):  # a view of a view
        assert np.array_equal(np.asarray(joined[key][1:]), whole[key][1:])
        assert len(joined[key]) == len(whole[key])


def test_what_arrays_can_do_works():
    joined, whole = JoinedRows(PARTS), np.concatenate(PARTS)
    chosen = whole[:, 0] > 2
    assert np.array_equal(joined[chosen], whole[chosen])
    assert np.array_equal(joined[1:, 2], whole[1:, 2])
    assert np.array_equal(np.take(joined, [8, 0], axis=0), whole[[8, 0]])
    assert np.array_equal(joined @ np.ones(4), whole @ np.ones(4))
    assert np.array_equal(joined.T, whole.T)
    assert np.array_equal(np.isfinite(joined), np.isfinite(whole))
    assert (joined.nbytes, joined.size, joined.ndim) == (whole.nbytes, whole.size, 2)
    for beyond in (N, -N - 1, [0, N]):
        with pytest.raises(IndexError):
            joined[beyond]


def test_rows_of_one_part_are_mapped_and_not_copied():
    assert np.shares_memory(JoinedRows(PARTS)[4:7], PARTS[2])


@pytest.mark.parametrize("n", [1, 2, 7, 24])
def test_shards_hold_what_one_file_holds(stored, tmp_path, n):
    one = cltr.open_dataset(stored[0])
    split_dataset(str(stored[0]), tmp_path / "parts", n_shards=n)
    found = cltr.open_dataset(tmp_path / "parts")
    for name in ("features", "labels", "offsets", "query_ids", "document_ids"):
        assert np.array_equal(np.asarray(getattr(found, name)), getattr(one, name)), name
    for name in ("splits", "fingerprint", "highest_grade", "name", "feature_names"):
        assert getattr(found, name) == getattr(one, name), name
    assert dataset_info(tmp_path / "parts")["shards"] == n
    assert sum(1 for _ in (tmp_path / "parts").glob("*.h5")) == n


def test_queries_that_are_not_split_stay_so(tmp_path):
    data = small.dataset()
    shared = replace(data, splits=dict.fromkeys(SPLITS, (0, data.n_queries)))
    write_shards(shared, tmp_path / "parts", n_shards=3)
    assert cltr.open_dataset(tmp_path / "parts").shared


def test_features_stay_on_disk(stored):
    data = cltr.open_dataset(stored[1] / INDEX)
    assert isinstance(data.queries(1, 24).features, JoinedRows)
    assert isinstance(data.document_ids, JoinedRows)


def test_training_ranking_and_judging_have_the_same_bits(stored, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = {}
    for name, data in zip(("one", "seven"), stored, strict=True):
        run = cltr.train(
            data=data,
            interactions=2000,
            skyline=False,
            options={"scorer.hidden": [6], "training.epochs": 2, "production.epochs": 2},
            out=name,
            report=False,
        )
        run.rank(out=f"{name}.csv")
        weights = (tmp_path / name / "policy.safetensors").read_bytes()
        judged = small.same_numbers(run.result)
        judged.pop("data")
        found[name] = (weights, judged, Path(f"{name}.csv").read_bytes())
    assert found["one"] == found["seven"]


def damaged(stored, tmp_path, damage):
    folder = tmp_path / "copy"
    shutil.copytree(stored[1], folder)
    damage(folder)
    with pytest.raises(DataError) as error:
        open_shards(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def swap(folder):
    (folder / "00000.h5").rename(folder / "spare.h5")
    (folder / "00001.h5").rename(folder / "00000.h5")
    (folder / "spare.h5").rename(folder / "00001.h5")


def edit(key, value):
    def change(folder):
        index = json.loads((folder / INDEX).read_text())
        index[key] = value(index[key]) if callable(value) else value
        (folder / INDEX).write_text(json.dumps(index))

    return change


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda folder: (folder / "00001.h5").unlink(), "no such file"),
        (swap, "is not the shard that shards.json names"),
        (lambda folder: (folder / "00001.h5").write_bytes(b"x"), "is not an HDF5 file"),
        (edit("fingerprint", "0" * 16), "has been changed; write the shards again"),
        (edit("shards", lambda shards: shards[::-1]), "has been changed"),
        (edit("shards", lambda shards: [{**shards[0], "file": "../a.h5"}]), "'shards.0.file' is"),
        (edit("splits", {}), "'splits.train' is missing"),
        (edit("format", "other"), "'format' is 'other'"),
        (lambda folder: (folder / INDEX).write_text("{"), "cannot be read as JSON"),
    ],
)
def test_what_is_not_whole_is_refused_in_one_line(stored, tmp_path, damage, expected):
    assert expected in damaged(stored, tmp_path, damage)


def test_shards_of_other_shapes_are_refused(stored, tmp_path, monkeypatch):
    """Even if somebody writes an index for them."""
    from cltr.data import shards

    other = small.dataset(seed=1)
    other = cltr.Dataset(**{**vars(other), "highest_grade": 3.0, "labels": other.labels.clip(0, 3)})
    shards.write_shards(other, tmp_path / "other", n_shards=7)

    def mix(folder):
        index, theirs = (json.loads((f / INDEX).read_text()) for f in (folder, tmp_path / "other"))
        shutil.copy(tmp_path / "other" / "00002.h5", folder / "00002.h5")
        index["shards"][2] = theirs["shards"][2]
        index.pop("seal")
        (folder / INDEX).write_text(json.dumps({**index, "seal": shards._seal(index)}))

    assert "highest grade 3.0; the first shard has 4.0" in damaged(stored, tmp_path, mix)


def test_a_folder_that_is_there_and_too_many_shards_are_refused(stored, tmp_path):
    with pytest.raises(UsageError, match="exists; name a new folder"):
        split_dataset(str(stored[0]), stored[1], n_shards=2)
    with pytest.raises(UsageError, match=r"--shards 25: expected 1 to 24, the number of queries"):
        split_dataset(str(stored[0]), tmp_path / "many", n_shards=25)
    assert not (tmp_path / "many").exists()


@pytest.fixture
def text(tmp_path):
    lines = [f"{d % 3} qid:{q} 1:{q + d} 2:0.5\n" for q in range(9) for d in range(4)]
    (tmp_path / "train.txt").write_text("".join(lines))
    return tmp_path / "train.txt"


def imported(text, *words):
    from click.testing import CliRunner

    from cltr.cli import cli

    return CliRunner().invoke(cli, ["data", "import", "--train", str(text), *map(str, words)])


def test_an_import_into_shards_is_that_into_a_file_and_a_split(text, tmp_path):
    assert imported(text, "--out", tmp_path / "data.h5").exit_code == 0
    done = imported(text, "--shards", 3, "--out", tmp_path / "data")
    assert done.exit_code == 0, done.output
    one, shards = cltr.open_dataset(tmp_path / "data.h5"), cltr.open_dataset(tmp_path / "data")
    assert len(list((tmp_path / "data").glob("*.h5"))) == 3
    assert shards.fingerprint == one.fingerprint
    assert np.array_equal(np.asarray(shards.features[:]), one.features)
    assert not list(tmp_path.glob(".*"))  # the one file is gone


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--shards", "10", "--out", "new"], "--shards 10: expected 1 to 9, the number of queries"),
        (["--shards", "0", "--out", "new"], "Invalid value for '--shards'"),
        (["--shards", "3", "--out", "."], "--out .: exists; name a new folder"),
    ],
)
def test_shards_that_cannot_be_are_refused_in_one_line(text, words, expected, monkeypatch):
    monkeypatch.chdir(text.parent)
    done = imported(text, *words)
    assert done.exit_code != 0
    assert expected in (done.output + str(done.exception))
    assert sorted(path.name for path in text.parent.iterdir()) == ["train.txt"]
