"""Fitted click models at rest: HDF5, with a header that says which model it is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from cltr.clicks.fit_tools import Convergence, Parameters
from cltr.errors import DataError, UnsupportedError
from cltr.files.attributes import write_attributes
from cltr.files.json_files import parse_json
from cltr.files.schema import Member
from cltr.files.storage import attribute, create_h5, open_h5
from cltr.interfaces import ClickModel
from cltr.options import Options
from cltr.types import Floats

FORMAT = "cltr-click-model"
MEMBERS = {
    "shared": Member("<f8", ("shared values",)),
    "documents": Member("<f8", ("tables", "documents")),
    "networks": Member("<f8", ("weights",)),
    "objective": Member("<f8", ("steps",)),
    "query_ids": Member("S", ("documents",)),
    "document_ids": Member("S", ("documents",)),
    "compared": Member("<f8", ("ranks",)),
    "covariance": Member("<f8", (2, "ranks", 2, "ranks")),
}
OPTIONAL = ("query_ids", "document_ids", "compared", "covariance")
"""What a file may lack; those of 0.1.0 have neither ``compared`` nor ``covariance``."""


class Header(Options):
    """What the arrays of the file are."""

    name: str
    options: dict[str, Any]
    shared: dict[str, tuple[int, ...]]
    """Shape of each of the arrays that lie end to end in ``shared``."""
    documents: dict[str, float]
    """Names of the rows of ``documents``, and what an unseen document gets."""
    strength: dict[str, float]
    networks: dict[str, tuple[int, ...]]
    converged: bool
    notes: tuple[str, ...]


def save_click_model(path: Path, model: ClickModel) -> None:
    """Write a fitted click model; what :func:`load_click_model` reads predicts the same clicks."""
    fitted = model.fitted
    if fitted is None:
        raise UnsupportedError(f"click model '{model.name}' is not fitted; fit it before saving")
    header = Header(
        name=model.name,
        options=model.options.model_dump(mode="json"),
        shared={name: values.shape for name, values in fitted.shared.items()},
        documents=dict(fitted.unseen),
        strength=dict(fitted.strength),
        networks={name: values.shape for name, values in fitted.networks.items()},
        converged=fitted.convergence.converged,
        notes=fitted.convergence.notes,
    )
    rows = [fitted.documents[name] for name in header.documents]
    n_documents = len(rows[0]) if rows else 0
    with create_h5(path, format=FORMAT) as file:
        write_attributes(file, header=header.model_dump_json())
        file["shared"] = _flatten(fitted.shared)
        file["documents"] = np.array(rows).reshape(len(rows), n_documents)
        file["networks"] = _flatten(fitted.networks)
        file["objective"] = fitted.convergence.objective
        if fitted.query_ids is not None and fitted.document_ids is not None and rows:
            file["query_ids"] = _encode(fitted.query_ids)
            file["document_ids"] = _encode(fitted.document_ids)
        if fitted.compared is not None:
            file["compared"] = fitted.compared
        if fitted.covariance is not None:
            file["covariance"] = fitted.covariance


def load_click_model(path: Path) -> ClickModel:
    """Read a fitted click model; the plugin that provides its class must be installed."""
    from cltr.plugins import registry

    with open_h5(path, format=FORMAT, members=MEMBERS, optional=OPTIONAL) as file:
        header = _header(path, attribute(file, "header", str, path=path))
        arrays = {name: file[name][...] for name in MEMBERS if name in file}
    if len(header.documents) != len(arrays["documents"]):
        raise DataError(
            f"{path}: 'documents' has {len(arrays['documents'])} rows; "
            f"its header names {len(header.documents)}"
        )
    model: ClickModel = registry().create("click-model", header.name, **header.options)
    model.fitted = Parameters(
        shared=_unflatten(path, "shared", arrays["shared"], header.shared),
        documents=dict(zip(header.documents, arrays["documents"], strict=True)),
        unseen=header.documents,
        strength=header.strength,
        convergence=Convergence(arrays["objective"], header.converged, header.notes),
        networks=_unflatten(path, "networks", arrays["networks"], header.networks),
        query_ids=_decode(path, arrays.get("query_ids")),
        document_ids=_decode(path, arrays.get("document_ids")),
        compared=arrays.get("compared"),
        covariance=arrays.get("covariance"),
    )
    _check(path, model.fitted)
    return model


def _check(path: Path, fitted: Parameters) -> None:
    """Refuse numbers that are not finite; and documents whose ids are not all there."""
    groups = (fitted.shared, fitted.documents, fitted.networks)
    arrays = [one for group in groups for one in group.values()]
    arrays += [one for one in (fitted.compared, fitted.covariance) if one is not None]
    if not all(np.isfinite(one).all() for one in arrays):
        raise DataError(f"{path}: has parameters that are not finite; fit it again")


def _header(path: Path, text: str) -> Header:
    try:
        return Header(**parse_json(text, where=path))
    except (DataError, TypeError, ValidationError) as error:
        raise DataError(f"{path}: its header is not that of a click model; fit it again") from error


def _flatten(arrays: Mapping[str, Floats]) -> Floats:
    return np.concatenate([np.empty(0), *(values.ravel() for values in arrays.values())])


def _unflatten(
    path: Path, name: str, values: Floats, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Floats]:
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    if sum(sizes) != len(values) or any(size < 0 for size in sizes):
        raise DataError(f"{path}: '{name}' has {len(values)} values; its header says {sum(sizes)}")
    parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []
    return {
        key: part.reshape(shape) for (key, shape), part in zip(shapes.items(), parts, strict=True)
    }


def _encode(ids: NDArray[Any]) -> NDArray[np.bytes_]:
    return np.char.encode(ids.astype(str), "utf-8")


def _decode(path: Path, ids: NDArray[np.bytes_] | None) -> NDArray[np.str_] | None:
    try:
        return None if ids is None else np.char.decode(ids, "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: has ids that are not UTF-8; fit it again") from error
