"""Guards docs/architecture.md: its folders, modules, layers and paths are those of the code."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_folder_and_module_is_explained():
    first_cells = re.findall(r"^\| ([^|]*) \|", PAGE, re.M)
    named = {name.rstrip("/") for cell in first_cells for name in re.findall(r"`([\w/]+)`", cell)}
    folders = {path.parent.name for path in ROOT.glob("cltr/*/__init__.py")}
    modules = {path.stem for path in ROOT.glob("cltr/*.py")} - {"__init__"}
    assert folders | modules <= named, folders | modules - named


def test_layers_are_those_of_the_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (one["layers"] for one in settings["contracts"] if one["type"] == "layers")
    shown = re.search(r"```diagram\n(.*?)```", PAGE, re.S)
    assert shown and shown[1].splitlines() == layers


def test_every_file_that_is_named_is_there():
    found = [name for name in re.findall(r"`([\w/]+/[\w./]+)`", PAGE) if not name.endswith("/")]
    assert len(found) > 12
    for name in found:
        assert (ROOT / name).exists() or (ROOT / "cltr" / name).exists(), name
