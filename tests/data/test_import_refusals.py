"""Guards what import and open refuse: one line each, and never half a file, killed or full."""

import errno
import os
import resource
import signal
import time
from unittest import mock

import h5py
import numpy as np
import pytest

from cltr.data import disk_spool, text_lines
from cltr.data.importing import import_dataset, open_dataset
from cltr.errors import CltrError, DataError, UsageError
from cltr.files.attributes import write_attributes
from cltr.files.claims import PARTIAL
from tests import children
from tests.judged import text, write_folder


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "data")


BAD_TRAIN = {
    "malformed": ("1 qid:1 1:2 x\n", "train.txt:1: found 'x'; expected 'number:value'"),
    "nan": ("1 qid:1 1:1\n1 qid:1 1:nan\n", "train.txt:2: feature '1:nan' is not finite"),
    "appears again": (
        "1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n",
        "train.txt:3: query '1' appears again; it began at {}/train.txt:1 (train); expected its",
    ),
    "empty": ("", "train.txt: the file is empty"),
    "no features": ("1 qid:1\n1 qid:2\n1 qid:3\n", "train.txt: no document has a feature"),
    "long id": (f"1 qid:{'x' * 300} 1:1\n", "train.txt:1: the query id has 300 characters"),
    "absurd": ("1 qid:1 999999999:1\n", "expected numbers up to 100000; raise most_features"),
    "negative": ("-1 qid:1 1:1\n", "train.txt:1: label '-1' is negative"),
}


@pytest.mark.parametrize("case", BAD_TRAIN)
def test_bad_training_file_is_one_line(folder, tmp_path, case):
    content, message = BAD_TRAIN[case]
    (folder / "train.txt").write_text(content)
    if case == "no features":
        for name in ("vali", "test"):
            (folder / f"{name}.txt").write_text(f"0 qid:{name}\n")
    with pytest.raises(DataError) as caught:
        import_dataset([folder], tmp_path / "data.h5")
    assert message.format(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_file_that_is_read_is_never_written(folder):
    path = folder / "train.txt"
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is also an input; choose another file"):
        import_dataset([folder], path)
    assert path.read_bytes() == before


def test_query_in_two_splits_is_refused(folder, tmp_path):
    (folder / "test.txt").write_text(text([24]))
    with pytest.raises(
        DataError, match=r"test.txt:1: query '24' appears again; .*vali.txt:13 \(valid"
    ):
        import_dataset([folder], tmp_path / "data.h5")


def test_query_that_comes_back_in_a_later_block_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text(text([*range(100), 0]))
    with (
        mock.patch.object(text_lines, "BLOCK", 200),
        pytest.raises(
            DataError, match=r"a.txt:301: query '0' appears again; it began at .*a.txt:1 "
        ),
    ):
        import_dataset([tmp_path / "a.txt"], tmp_path / "data.h5")


def test_too_few_queries_to_split_off(tmp_path):
    (tmp_path / "a.txt").write_text(text([1, 2]))
    with pytest.raises(DataError, match="no test files, and 1 training queries are too few"):
        import_dataset([tmp_path / "a.txt"], tmp_path / "data.h5")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"paths": []}, "nothing to import"),
        ({"paths": ["none"]}, "none: no such file or folder"),
        ({"paths": ["data", "data/train.txt"]}, "data: is a folder among 2 paths"),
        ({"paths": ["data"], "train": ["x"]}, "give either paths or --train"),
        ({"paths": [], "test": ["x"]}, "no training files; name them with --train"),
        ({"paths": [], "train": ["x"]}, "x: no such file"),
        ({"paths": ["data/train.txt", "odd.txt"]}, "cannot tell the split of odd.txt"),
        ({"paths": ["empty"]}, "empty: no split in this folder"),
        ({"paths": ["data/train.txt"], "valid_share": 0.0}, "no valid files, and valid_share is 0"),
        ({"paths": ["data"], "most_features": 3}, "expected numbers up to 3"),
    ],
)
def test_wrong_arguments_are_one_line(folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.txt").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CltrError) as caught:
        import_dataset(out="out.h5", **arguments)
    assert message in str(caught.value)
    assert not list(tmp_path.glob("*out.h5*"))


def _set(name, values):
    def change(file):
        del file[name]
        file[name] = values

    return change


FOREIGN = {
    "another format": (lambda f: f.attrs.modify("format", "cltr-log"), "is a log, not a data set"),
    "member missing": (lambda f: f.__delitem__("labels"), "'labels' is missing"),
    "member too many": (lambda f: f.create_dataset("x", data=[1]), "'x' does not belong"),
    "wrong type": (_set("labels", np.zeros(105, int)), "'labels' has type int64"),
    "too few labels": (_set("labels", np.zeros(104)), "'labels' has length 104; expected 105"),
    "link": (_set("labels", h5py.ExternalLink("o.h5", "/x")), "'labels' is a link to elsewhere"),
    "lists do not end": (_set("offsets", np.arange(36)), "'offsets' must rise from 0 to 105"),
    "empty list": (
        _set("offsets", np.sort(np.r_[0, 0, np.arange(3, 102, 3), 105])),
        "'offsets' must rise",
    ),
    "splits overlap": (
        _set("splits", np.array([[0, 20], [19, 25], [25, 35]])),
        "split 'valid' is 19 to 25; expected from 20 on",
    ),
    "splits end early": (
        _set("splits", np.array([[0, 20], [20, 25], [25, 30]])),
        "the splits end at query 30 of 35",
    ),
    "labels too high": (_set("labels", np.full(105, 9.0)), "'labels' are not all between 0 and 2"),
    "labels of a part": (
        _set("labels", np.r_[np.nan, np.ones(104)]),
        "'labels' of a query are missing in part; expected all or none",
    ),
    "labels not finite": (_set("labels", np.full(105, np.inf)), "'labels' are not all between"),
    "ids not text": (_set("query_ids", np.full((35, 2), 2**31, np.uint32)), "'query_ids' is not"),
    "no fingerprint": (lambda f: f.attrs.__delitem__("fingerprint"), "'fingerprint' is missing"),
    "unknown normalisation": (
        lambda f: write_attributes(f, normalization="l2"),
        "normalisation 'l2' with 0 of 2 fitted arrays",
    ),
    "unfitted normalisation": (
        lambda f: write_attributes(f, normalization="z-score"),
        "normalisation 'z-score' with 0 of 2 fitted arrays",
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_file_is_refused(folder, tmp_path, case):
    path = tmp_path / "data.h5"
    import_dataset([folder], path)
    change, message = FOREIGN[case]
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(DataError) as caught:
        open_dataset(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def opens(path):
    try:
        open_dataset(path)
    except DataError:
        return False
    return True


@pytest.mark.parametrize("step", [0, 1, 5, 20, 40, 60, 65])
def test_kill_at_a_step_leaves_nothing_that_opens(folder, tmp_path, step):
    out = tmp_path / "out" / "data.h5"
    out.parent.mkdir()
    steps = iter(range(1000))

    def kill(*_):
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch.object(text_lines, "BLOCK", 100), mock.patch.object(disk_spool, "BLOCK", 100):
        assert children.run(lambda: import_dataset([folder], out, progress=kill)) is None
    assert not out.exists()
    assert all(path.name.endswith(PARTIAL) for path in out.parent.iterdir())
    assert not any(opens(path) for path in out.parent.iterdir())


def test_kill_at_any_time_leaves_the_old_file_or_the_new(folder, tmp_path):
    out = tmp_path / "out" / "data.h5"
    out.parent.mkdir()
    old = import_dataset([folder], out)["fingerprint"]
    (folder / "test.txt").write_text(text(range(50, 90)))
    started = time.monotonic()
    new = import_dataset([folder], tmp_path / "new.h5")["fingerprint"]
    duration = time.monotonic() - started
    whole = open_dataset(tmp_path / "new.h5")
    rng = np.random.default_rng(0)
    for _ in range(15):
        child, receive = children.start(lambda: import_dataset([folder], out))
        time.sleep(rng.uniform(0, 1.2 * duration))
        os.kill(child, signal.SIGKILL)
        children.finish(child, receive)
        assert open_dataset(out).fingerprint in (old, new)
        # One that was killed after its last byte, before it got its name, is whole and may open.
        for path in filter(opens, set(out.parent.iterdir()) - {out}):
            assert np.array_equal(open_dataset(path).features, whole.features)


@pytest.mark.parametrize("room", [0, 100, 1000, 3000, 4000, 6000])
def test_full_disk_is_one_line_and_nothing_is_kept(folder, tmp_path, room):
    out = tmp_path / "out" / "data.h5"
    out.parent.mkdir()

    def task():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        import_dataset([folder], out)

    answer = children.run(task)
    assert answer is not None
    assert answer.startswith(f"DataError: {out}: cannot be written: file too large")
    assert not list(out.parent.iterdir())


def test_no_space_while_reading_is_one_line(folder, tmp_path, monkeypatch):
    def full(self, values):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk_spool._Column, "append", full)
    with pytest.raises(DataError, match=r"data.h5: cannot be written: no space left on device"):
        import_dataset([folder], tmp_path / "data.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_too_large_for_the_disk_is_said_before_writing(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(text(range(10)) + "1 qid:big 90000:1\n")
    free = mock.Mock(free=10**6)
    monkeypatch.setattr("shutil.disk_usage", lambda path: free)
    with pytest.raises(DataError, match=r"31 documents with 90000 features need 0.0 GB, more than"):
        import_dataset([tmp_path / "a.txt"], tmp_path / "data.h5")
