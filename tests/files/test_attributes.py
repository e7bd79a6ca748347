"""Attributes of HDF5 files: fixed lengths are written, and a damaged heap does not hang."""

import os

import h5py
import numpy as np
import pytest

from cltr.errors import DataError
from cltr.files import attributes
from cltr.files.attributes import read_attribute, write_attributes
from tests.stored import MEMBERS, read, write


def of_version_0_1(path):
    """A file as version 0.1 wrote it: text of variable length."""
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.attrs.update(format="test", version=1)
        file["values"] = np.ones((3, 2), np.float32)
        file["ends"] = np.arange(4)
        file["names"] = np.array([b"a"] * 3)
        file["pair"] = np.array([1, 2])
        file.attrs["complete"] = True


@pytest.mark.parametrize("text", ["", "words", "na\u00efve \u65e5\u672c", "x" * 100_000])
def test_text_comes_back(tmp_path, text):
    with h5py.File(tmp_path / "file.h5", "w", libver=("v110", "v110")) as file:
        write_attributes(file, text=text)
        assert read_attribute(file, "text", path="f") == text


def test_nothing_of_variable_length_is_written(tmp_path):
    write(tmp_path / "file.h5")
    assert b"GCOL" not in (tmp_path / "file.h5").read_bytes()  # HDF5's heap of such text


def test_files_of_version_0_1_open(tmp_path):
    of_version_0_1(tmp_path / "old.h5")
    assert read(tmp_path / "old.h5").shape == (3, 2)


def test_a_damaged_heap_is_refused_and_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(attributes, "PATIENCE", 2.0)
    path = tmp_path / "old.h5"
    of_version_0_1(path)
    damaged = bytearray(path.read_bytes())
    damaged[damaged.find(b"GCOL") + 48] = 255  # HDF5 reads this heap for ever
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="damaged; write the file again"):
        read(path)


def test_bytes_that_are_not_text_are_refused(tmp_path):
    with h5py.File(tmp_path / "file.h5", "w") as file:
        file.attrs.create("text", np.bytes_(b"\xff\xfe"), dtype=h5py.string_dtype("utf-8", 2))
        with pytest.raises(DataError, match="not text in UTF-8"):
            read_attribute(file, "text", path="f")


def test_references_are_refused(tmp_path):
    with h5py.File(tmp_path / "file.h5", "w") as file:
        file.attrs["odd"] = file.ref
        with pytest.raises(DataError, match="neither text nor a number"):
            read_attribute(file, "odd", path="f")


def test_chunked_arrays_are_refused_before_they_are_read(tmp_path):
    """38 kB on disk that would take 4 GB of memory."""
    path = tmp_path / "file.h5"
    write(path)
    with h5py.File(path, "r+") as file:
        del file["values"]
        file.create_dataset(
            "values", (3, 2_000_000), "<f4", chunks=(1, 2_000_000), compression="gzip"
        )[...] = 0
    with pytest.raises(DataError, match="'values' is stored in chunks"):
        read(path)
    assert "values" in MEMBERS


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.h5")
    with pytest.raises(DataError, match="not a regular file"):
        read(tmp_path / "pipe.h5")
