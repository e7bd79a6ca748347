"""A small HDF5 file for tests, with a member of every kind."""

import numpy as np

from cltr.files.schema import Member
from cltr.files.storage import create_h5, map_array, open_h5

MEMBERS = {
    "values": Member("<f4", ("rows", "columns")),
    "ends": Member("<i8", ("rows+1",)),
    "names": Member("S", ("rows",)),
    "pair": Member("<i8", (2,)),
    "context/*": Member("<i8", ("rows",)),
}


def write(path, *, rows=3):
    with create_h5(path, format="test") as file:
        file["values"] = np.ones((rows, 2), np.float32)
        file["ends"] = np.arange(rows + 1)
        file["names"] = np.array([b"a"] * rows)
        file["pair"] = np.array([1, 2])
        file["context/device"] = np.arange(rows)


def read(path):
    with open_h5(path, format="test", members=MEMBERS) as file:
        return map_array(file["values"])
