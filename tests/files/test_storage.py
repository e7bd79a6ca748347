"""Guards files at rest: whole or absent, whatever happens; nothing foreign is believed."""

import errno
import os
import resource
import signal
from pathlib import Path

import h5py
import numpy as np
import pytest

from cltr.errors import DataError
from cltr.files import storage
from cltr.files.attributes import write_attributes
from cltr.files.claims import PARTIAL
from cltr.files.storage import attribute, create_h5, map_array, write_beside
from tests import children
from tests.stored import read, write


def leftovers(folder):
    return [path.name for path in Path(folder).iterdir() if path.name.endswith(PARTIAL)]


def test_file_appears_only_when_whole(tmp_path):
    target = tmp_path / "file.txt"
    with write_beside(target) as partial:
        partial.write_text("whole")
        assert partial.parent == tmp_path
        assert partial.name.endswith(PARTIAL)
        assert not target.exists()
    assert target.read_text() == "whole"
    assert not leftovers(tmp_path)


def test_new_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "other").write_text("")
    with write_beside(tmp_path / "file") as partial:
        partial.write_text("")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, DataError])
def test_error_keeps_the_old_file(tmp_path, error):
    target = tmp_path / "file.txt"
    target.write_text("old")
    with pytest.raises(error), write_beside(target) as partial:
        partial.write_text("half")
        raise error("stop")
    assert target.read_text() == "old"
    assert not leftovers(tmp_path)


def test_kill_leaves_a_file_with_a_name_that_says_so(tmp_path):
    target = tmp_path / "file.h5"

    def task():
        with create_h5(target, format="test") as file:
            file["values"] = np.ones((1000, 2), np.float32)
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    assert children.run(task) is None
    assert not target.exists()
    (name,) = leftovers(tmp_path)
    with pytest.raises(
        DataError, match=r"not written to its end|cut off|not an HDF5|cannot be read"
    ):
        read(tmp_path / name)


def test_no_folder_is_one_line(tmp_path):
    with (
        pytest.raises(DataError, match=r"file.h5: there is no folder '.*missing'; create it first"),
        create_h5(tmp_path / "missing" / "file.h5", format="test"),
    ):
        pass


def test_folder_as_target_is_one_line(tmp_path):
    with pytest.raises(DataError, match="is a folder; name a file"), write_beside(tmp_path):
        pass


def test_full_disk_is_one_line(tmp_path):
    target = tmp_path / "file.txt"
    with pytest.raises(DataError) as caught, write_beside(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert str(caught.value) == (
        f"{target}: cannot be written: no space left on device; an earlier file of that name "
        "is unchanged; free some space, or write elsewhere"
    )
    assert not list(tmp_path.iterdir())


def test_error_about_another_file_is_not_ours(tmp_path):
    with pytest.raises(FileNotFoundError), write_beside(tmp_path / "file.txt"):
        (tmp_path / "input.txt").read_text()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("room", [0, 100, 2_000, 5_000, 100_000, 300_000])
def test_hdf5_on_a_full_disk_is_one_line(tmp_path, room):
    """With a real limit of the system: HDF5 itself would end the process here."""
    target = tmp_path / "file.h5"

    def task():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        write(target, rows=100_000)

    answer = children.run(task)
    assert answer is not None
    assert answer.startswith(f"DataError: {target}: cannot be written: file too large; an earlier")
    assert not list(tmp_path.iterdir())


def test_hdf5_without_space_is_one_line(tmp_path, monkeypatch):
    class Full:
        def __init__(self, stream):
            self.stream = stream

        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

        def __getattr__(self, name):
            return getattr(self.stream, name)

    begin = storage._Sink.__init__

    def begin_full(self, path):
        begin(self, path)
        self.stream = Full(self.stream)

    monkeypatch.setattr(storage._Sink, "__init__", begin_full)
    with pytest.raises(DataError, match="no space left on device"):
        write(tmp_path / "file.h5")
    assert not list(tmp_path.iterdir())


def test_hdf5_comes_back(tmp_path):
    write(tmp_path / "file.h5")
    assert np.array_equal(read(tmp_path / "file.h5"), np.ones((3, 2)))


def test_same_content_same_bytes(tmp_path):
    write(tmp_path / "a.h5")
    write(tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_mapped_array_outlives_the_file_and_does_not_change_it(tmp_path):
    path = tmp_path / "file.h5"
    write(path)
    before = path.read_bytes()
    values = read(path)
    values[0, 0] = 7.0
    assert path.read_bytes() == before
    assert read(path)[0, 0] == 1.0


@pytest.mark.parametrize(("size", "chunks"), [(3, True), (0, None), (3, None)])
def test_what_cannot_be_mapped_is_read(tmp_path, size, chunks):
    with h5py.File(tmp_path / "file.h5", "w") as file:
        file.create_dataset("a", data=np.arange(size), chunks=chunks)
        file.flush()
        assert np.array_equal(map_array(file["a"]), np.arange(size))


def test_cut_file_is_refused_wherever_it_is_cut(tmp_path):
    path = tmp_path / "file.h5"
    write(path, rows=500)
    whole = path.read_bytes()
    for size in range(0, len(whole), max(len(whole) // 60, 1)):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"cut off|not an HDF5 file|cannot be read"):
            read(path)


def test_flipped_bits_never_crash(tmp_path):
    """In the places that say where things are, a flipped bit is refused or changes nothing."""
    path = tmp_path / "file.h5"
    write(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, min(4096, len(whole)), 150).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        answer = children.run(lambda: len(read(path)))
        assert answer is not None
        assert answer == "3" or answer.startswith("DataError: ")


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "is not an HDF5 file"), (b"1 qid:1 1:2\n" * 90, "is not an HDF5 file")],
)
def test_other_files_are_refused(tmp_path, data, message):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(DataError, match=message):
        read(tmp_path / "file")


def test_missing_file_and_folder_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none.h5")
    with pytest.raises(DataError, match="is a folder, not an HDF5 file"):
        read(tmp_path)


def test_attribute_is_checked(tmp_path):
    with h5py.File(tmp_path / "file.h5", "w") as file:
        write_attributes(file, n=3, x=0.5, text="words")
        assert attribute(file, "n", int, path="f") == 3
        assert attribute(file, "text", str, path="f") == "words"
        assert attribute(file, "none", float, default=1.5, path="f") == 1.5
        with pytest.raises(DataError, match=r"f: attribute 'x' is 0.5; expected int"):
            attribute(file, "x", int, path="f")
        with pytest.raises(DataError, match="f: attribute 'none' is missing"):
            attribute(file, "none", int, path="f")
