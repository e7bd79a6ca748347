"""What commands leave in a folder, to compare to the bit; times do not count."""

import json
from pathlib import Path
from typing import Any

import h5py

UNEQUAL = (".png", ".svg", ".html")
"""Pictures and pages hold times or identifiers of their own."""


def content(folder: Path) -> dict[str, Any]:
    """All files but partial ones; JSON without times."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or name.startswith("tmp/") or "partial" in name:
            continue
        if path.suffix == ".json":
            found[name] = _timeless(json.loads(path.read_text()))
        elif path.suffix == ".h5":
            found[name] = _arrays(path)
        elif path.suffix == ".csv" and name.startswith(("study", "figure")):
            found[name] = len(path.read_text().splitlines())  # it holds seconds
        else:
            found[name] = "picture" if path.suffix in UNEQUAL else path.read_bytes()
    return {name: one for name, one in found.items() if "/checkpoint/" not in name}


def difference(folder: Path, expected: dict[str, Any]) -> str:
    """The first file that is there, says that it is whole, and is not what it should be."""
    for name, found in content(folder).items():
        if name in expected and found != expected[name] and _says_it_is_whole(name):
            return name
    return ""


def _says_it_is_whole(name: str) -> bool:
    """Files of a stopped run change while it goes on; all others appear once, when whole."""
    return not name.startswith("stopped/") and not name.endswith("study.toml")


def _arrays(path: Path) -> dict[str, Any]:
    """What an HDF5 file holds; groups also hold the time at which they were made."""
    found: dict[str, Any] = {}

    def add(name: str, one: Any) -> None:
        found[name] = (str(one.dtype), one[...].tobytes()) if hasattr(one, "dtype") else ""

    with h5py.File(path) as file:
        file.visititems(add)
        return found | {f"@{name}": bytes(value) for name, value in file.attrs.items()}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(one) for k, one in value.items() if k != "seconds"}
    return [_timeless(one) for one in value] if isinstance(value, list) else value
