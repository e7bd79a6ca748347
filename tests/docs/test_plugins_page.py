"""Guards docs/plugins.md and its examples: there is a module and a test for every kind."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from cltr import plugins
from cltr.interfaces import API_VERSION
from cltr.plugins.new_package import new_package

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "".join((DOCS / name).read_text() for name in ("plugins.md", "reference/plugin-examples.md"))
BLOCKS = re.findall(r'^ *```(\w+)(?: title="(.+?)")?\n(.*?)^ *```', PAGE, re.S | re.M)
FILES = {title: code for kind, title, code in BLOCKS if kind == "python" and title}
MODULES = {title: code for title, code in FILES.items() if not title.startswith("test_")}
COMMANDS = [
    line.strip()
    for kind, _, code in BLOCKS
    if kind == "sh"
    for line in code.splitlines()
    if line.strip()
]


@pytest.fixture
def folder(small_demo, monkeypatch, fresh_registry):
    """All files of the page, and the data that its commands speak of."""
    for title, code in FILES.items():
        (small_demo / title).write_text(code)
        monkeypatch.delitem(sys.modules, title.removesuffix(".py"), raising=False)
    monkeypatch.syspath_prepend(small_demo)
    return small_demo


def test_all_blocks_are_known():
    kinds = {kind for kind, _, _ in BLOCKS}
    assert kinds == {"python", "sh", "toml"}
    untitled = [code for kind, title, code in BLOCKS if kind == "python" and not title]
    assert f'requires_api = "{API_VERSION}"\n' in untitled
    assert all(line.startswith("cltr ") for line in COMMANDS)


def test_there_is_a_module_of_every_kind(folder):
    for title in MODULES:
        plugins.load_file(folder / title)
    registered = plugins.registry()
    ours = {
        role
        for role, known in registered.components.items()
        for entries in known.values()
        for _, provider in entries
        if Path(provider.distribution).name in MODULES
    }
    assert ours == set(plugins.ROLES)


def test_every_module_has_a_test():
    tested = "\n".join(code for title, code in FILES.items() if title.startswith("test_"))
    for title in MODULES:
        assert f"from {title.removesuffix('.py')} import" in tested


def test_the_entry_point_is_that_of_a_new_package(folder):
    (table,) = (code for kind, _, code in BLOCKS if kind == "toml")
    shown = tomllib.loads("\n".join(line.strip() for line in table.splitlines()))
    new_package("my-reward", "reward", folder=folder / "new")
    made = tomllib.loads((folder / "new/pyproject.toml").read_text())
    assert shown["project"]["name"] == made["project"]["name"]
    assert shown["project"]["entry-points"] == made["project"]["entry-points"]
    assert shown["tool"]["setuptools"] == made["tool"]["setuptools"]
