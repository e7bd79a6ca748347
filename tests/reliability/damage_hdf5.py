"""Damage HDF5 files by structure: members, types, links, attributes and values."""

import io
import json
from collections.abc import Callable
from random import Random
from typing import Any

import h5py
import numpy as np

from tests.reliability.damage import ODD_VALUES, damage_tree


def damage_hdf5(rng: Random, content: bytes) -> bytes:
    """One or two changes to what a file holds."""
    stream = io.BytesIO(content)
    with h5py.File(stream, "r+") as file:
        for _ in range(rng.choice((1, 1, 2))):
            rng.choice(WAYS)(rng, file)
    return stream.getvalue()


def _members(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, one: found.append(name) if isinstance(one, h5py.Dataset) else None)
    return found


def _replace(file: h5py.File, name: str, values: Any, **how: Any) -> None:
    del file[name]
    file.create_dataset(name, data=values, **how)


def _delete(rng: Random, file: h5py.File) -> None:
    del file[rng.choice(_members(file))]


def _retype(rng: Random, file: h5py.File) -> None:
    name = rng.choice(_members(file))
    kind = rng.choice(("f2", "f4", "f8", ">f8", "i1", "i4", "i8", "u1", "u4", "u8", "?", "S3"))
    values = file[name][...]
    if values.dtype.kind in "SVO":
        values = np.arange(values.size).reshape(values.shape)
    with np.errstate(all="ignore"):
        _replace(file, name, values.astype(kind))


def _reshape(rng: Random, file: h5py.File) -> None:
    name = rng.choice(_members(file))
    values = file[name][...]
    shapes: tuple[Callable[[], Any], ...] = (
        lambda: values[None],
        lambda: values.reshape(-1),
        lambda: values[: rng.randrange(len(values) + 1)] if values.ndim else values,
        lambda: np.concatenate([values, values]) if values.ndim else values,
        lambda: values[:0] if values.ndim else values,
        lambda: values[..., :0] if values.ndim else values,
    )
    _replace(file, name, rng.choice(shapes)())


def _revalue(rng: Random, file: h5py.File) -> None:
    name = rng.choice(_members(file))
    values = file[name][...]
    if not values.size:
        return
    odd = {
        "f": (np.nan, np.inf, -np.inf, -1.0, 1e308, 2.0, 3.3e38),
        "i": (-1, 0, 1, 2**62, -(2**63), 10**6),
        "u": (0, 2**31, 0xD800, 0x110000, 0x202E, 27),
        "b": (True, False),
        "S": (b"\xff\xfe", b"\x1b[31m", b""),
    }[values.dtype.kind]
    flat = values.reshape(-1)
    with np.errstate(all="ignore"):
        for place in rng.sample(range(flat.size), min(flat.size, rng.choice((1, 3, 100)))):
            value = rng.choice(odd)
            if values.dtype.kind in "iu":
                limits = np.iinfo(values.dtype)
                value = min(max(int(value), int(limits.min)), int(limits.max))
            flat[place] = value
    file[name][...] = flat.reshape(values.shape)


def _chunk(rng: Random, file: h5py.File) -> None:
    name = rng.choice(_members(file))
    shape = file[name].shape
    if rng.randrange(2) or not shape:
        _replace(file, name, np.atleast_1d(file[name][...]), chunks=True, compression="gzip")
        return
    kind = file[name].dtype
    del file[name]  # little on disk, much in memory
    file.create_dataset(name, (shape[0], 50_000_000), kind, chunks=(1, 1_000_000))


def _declare(rng: Random, file: h5py.File) -> None:
    name = rng.choice(_members(file))
    shape, kind = list(file[name].shape or (1,)), file[name].dtype
    shape[rng.randrange(len(shape))] = rng.choice((2**20, 2**31, 2**40))
    del file[name]
    file.create_dataset(name, tuple(shape), kind)  # never written: declared only


def _link(rng: Random, file: h5py.File) -> None:
    name = rng.choice(_members(file))
    targets = (
        h5py.SoftLink("/"),
        h5py.SoftLink(f"/{name}"),
        h5py.ExternalLink("/etc/passwd", "/"),
        h5py.ExternalLink("data.h5", "/features"),
    )
    del file[name]
    file[name] = rng.choice(targets)


def _other_storage(rng: Random, file: h5py.File) -> None:
    name = rng.choice(_members(file))
    shape, kind = file[name].shape or (1,), file[name].dtype
    del file[name]
    if rng.randrange(2):
        layout = h5py.VirtualLayout(shape, kind)
        layout[...] = h5py.VirtualSource("data.h5", "features", shape)
        file.create_virtual_dataset(name, layout)
    else:
        file.create_dataset(name, shape, kind, external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])


def _odd_member(rng: Random, file: h5py.File) -> None:
    name = rng.choice(("odd", "train", "a/b/c", "x" * 500, "\u202ename"))
    if name in file:
        return
    makers: tuple[Callable[[], Any], ...] = (
        lambda: file.create_group(name),
        lambda: file.create_dataset(name, data=np.array([file.ref], h5py.ref_dtype)),
        lambda: file.create_dataset(name, data=["text"], dtype=h5py.string_dtype()),
        lambda: file.create_dataset(name, data=np.zeros(2, [("a", "i4"), ("b", "f8")])),
        lambda: file.__setitem__(name, np.dtype("i8")),
        lambda: file.create_dataset(name, data=h5py.Empty("f4")),
        lambda: file.__setitem__(name, file["/"]),
    )
    rng.choice(makers)()


def _attribute(rng: Random, file: h5py.File) -> None:
    name = rng.choice([*file.attrs, "odd"])
    values: tuple[Any, ...] = (
        *(-1, 0, 2**62, np.nan, np.inf, 1e308, True, "x", "", "\x1b[31m[/red]", "x" * 50_000),
        *(np.bytes_(b"\xff\xfe"), np.arange(3), file.ref, h5py.Empty("f8"), ["a", "b"]),
        np.zeros(1, [("a", "i4")])[0],
    )
    if rng.randrange(4) == 0:
        file.attrs.pop(name, None)
        return
    file.attrs[name] = rng.choice(values)


def _json_attribute(rng: Random, file: h5py.File) -> None:
    """Inside the JSON that an attribute holds."""
    for name in ("about", "description", "header"):
        if name not in file.attrs:
            continue
        raw = file.attrs[name]
        text = raw.decode() if isinstance(raw, bytes) else str(raw)
        try:
            tree = json.loads(text)
        except ValueError:
            return
        damage_tree(rng, tree)
        odd = json.dumps(tree)
        if rng.randrange(5) == 0:
            odd = rng.choice(("[" * 20_000, '{"a":' * 20_000, json.dumps(rng.choice(ODD_VALUES))))
        file.attrs[name] = np.bytes_(odd.encode("utf-8", "replace"))


WAYS = (
    *(_delete, _retype, _reshape, _revalue, _revalue, _revalue, _chunk, _declare, _link),
    *(_other_storage, _odd_member, _attribute, _attribute, _json_attribute),
)
