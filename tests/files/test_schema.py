"""Guards what is believed of an HDF5 file: foreign ones are refused, one line each."""

import h5py
import numpy as np
import pytest

from cltr.errors import DataError
from cltr.files.storage import open_h5
from tests.stored import MEMBERS, read, write


def _replace(file, name, values, **options):
    del file[name]
    file.create_dataset(name, data=values, **options)


def _external_storage(file):
    del file["pair"]
    file.create_dataset("pair", (2,), "<i8", external=[("raw.bin", 0, 16)])


def _virtual(file):
    layout = h5py.VirtualLayout((2,), "<i8")
    layout[:] = h5py.VirtualSource("other.h5", "pair", (2,))
    del file["pair"]
    file.create_virtual_dataset("pair", layout)


def _link(file, link):
    del file["pair"]
    file["pair"] = link


FOREIGN = {
    "another program": (lambda f: f.attrs.__delitem__("format"), "HDF5 file of another program"),
    "another format": (lambda f: f.attrs.modify("format", "log"), "is a log file, not a test file"),
    "a number as format": (lambda f: f.attrs.create("format", 3), "attribute 'format' is 3; exp"),
    "a newer version": (lambda f: f.attrs.modify("version", 9), "version 9 of test, newer than 1"),
    "not complete": (lambda f: f.attrs.__delitem__("complete"), "was not written to its end"),
    "a member missing": (lambda f: f.__delitem__("ends"), "'ends' is missing; expected values"),
    "a member too many": (lambda f: f.create_dataset("x", data=1), "'x' does not belong there"),
    "a group too many": (lambda f: f.create_group("x"), "'x' does not belong there"),
    "a group in place": (lambda f: (f.__delitem__("pair"), f.create_group("pair")), "'pair' does"),
    "a type in place": (lambda f: _link(f, np.dtype("<i8")), "'pair' does not belong there"),
    "nested too deep": (lambda f: f.create_dataset("context/a/b", data=1), "'context/a' does not"),
    "a cycle": (lambda f: f["context"].__setitem__("again", f["/"]), "'context/again' does not"),
    "wrong type": (lambda f: _replace(f, "ends", np.arange(4.0)), "'ends' has type float64; exp"),
    "big-endian": (lambda f: _replace(f, "pair", np.array([1, 2], ">i8")), "'pair' has type >i8"),
    "wrong axes": (lambda f: _replace(f, "pair", np.zeros((2, 2), int)), "'pair' has shape (2, 2)"),
    "a scalar": (lambda f: _replace(f, "pair", np.int64(2)), "'pair' has shape (); expected 2"),
    "nothing": (lambda f: _replace(f, "pair", h5py.Empty("<i8")), "'pair' has shape None; exp"),
    "wrong length": (
        lambda f: _replace(f, "ends", np.arange(9)),
        "'ends' has length 9; expected 4 to agree with 'values'; "
        "the file is damaged, so make it again",
    ),
    "wrong number": (
        lambda f: _replace(f, "pair", np.arange(3)),
        "'pair' has length 3; expected 2",
    ),
    "wrong context": (
        lambda f: f.create_dataset("context/user", data=np.arange(2)),
        "'context/user' has length 2; expected 3 to agree with 'values'; "
        "the file is damaged, so make it again",
    ),
    "external link": (lambda f: _link(f, h5py.ExternalLink("o.h5", "/a")), "'pair' is a link to"),
    "soft link": (lambda f: _link(f, h5py.SoftLink("/ends")), "'pair' is a link to elsewhere"),
    "external storage": (_external_storage, "'pair' lies in another file; refused"),
    "virtual": (_virtual, "'pair' lies in another file; refused"),
    "never written": (
        lambda f: (f.__delitem__("pair"), f.create_dataset("pair", (2,), "<i8")),
        "'pair' is not all there",
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_file_is_refused(tmp_path, case):
    path = tmp_path / "file.h5"
    write(path)
    change, message = FOREIGN[case]
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_optional_members_may_be_missing(tmp_path):
    path = tmp_path / "file.h5"
    write(path)
    with h5py.File(path, "r+") as file:
        del file["pair"], file["context"]
    with open_h5(path, format="test", members=MEMBERS, optional=["pair"]) as file:
        assert "pair" not in file
