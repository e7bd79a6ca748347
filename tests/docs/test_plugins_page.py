"""Guards docs/plugins.md: every block of it is run, and it has a section for every kind."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from cltr import plugins
from cltr.cli import cli
from cltr.interfaces import API_VERSION
from cltr.plugins.new_package import new_package
from tests.judged import text

PAGE = (Path(__file__).parents[2] / "docs/plugins.md").read_text()
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
SMALL = ["-n", "2000", "--no-skyline", "-o", "training.epochs=2", "-o", "production.epochs=2"]
"""Added to the page's runs, so that the test is quick."""


@pytest.fixture
def folder(small_demo, monkeypatch, fresh_registry):
    """All files of the page, and the data that its commands speak of."""
    for title, code in FILES.items():
        (small_demo / title).write_text(code)
        monkeypatch.delitem(sys.modules, title.removesuffix(".py"), raising=False)
    monkeypatch.syspath_prepend(small_demo)
    views = [
        {"request": f"r{i}", "query": "shoes", "shown": ["a", "b"], "clicked": ["ab"[i % 2]]}
        for i in range(40)
    ]
    (small_demo / "views.jsonl").write_text("\n".join(map(json.dumps, views)))
    for name, queries in (("learn/a", range(4)), ("learn/b", range(4, 12)), ("exam/c", (12, 13))):
        path = small_demo / "folder" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(queries))
    return small_demo


def test_all_blocks_are_known():
    kinds = {kind for kind, _, _ in BLOCKS}
    assert kinds == {"python", "sh", "toml"}
    untitled = [code for kind, title, code in BLOCKS if kind == "python" and not title]
    assert untitled == [f'requires_api = "{API_VERSION}"\n']
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


@pytest.mark.parametrize("title", [title for title in FILES if title.startswith("test_")])
def test_its_tests_pass(folder, tmp_path_factory, title):
    names: dict = {}
    exec(compile((folder / title).read_text(), title, "exec"), names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
        test(*[tmp_path_factory.mktemp("given") for _ in wanted])


def test_every_module_has_a_test():
    tested = "\n".join(code for title, code in FILES.items() if title.startswith("test_"))
    for title in MODULES:
        assert f"from {title.removesuffix('.py')} import" in tested


def test_its_commands_run(folder):
    for line in COMMANDS:
        plugins.registry.cache_clear()
        words = line.split()[1:]
        words += SMALL if words[0] == "train" else []
        done = CliRunner().invoke(cli, words, prog_name="cltr")
        assert done.exit_code in ((0, 3) if words[0] == "check" else (0,)), (line, done.stderr)
    assert (folder / "cltr-my-reward/pyproject.toml").exists()
    assert (folder / "linear/policy.txt").exists()


def test_the_entry_point_is_that_of_a_new_package(folder):
    (table,) = (code for kind, _, code in BLOCKS if kind == "toml")
    shown = tomllib.loads("\n".join(line.strip() for line in table.splitlines()))
    new_package("my-reward", "reward", folder=folder / "new")
    made = tomllib.loads((folder / "new/pyproject.toml").read_text())
    assert shown["project"]["name"] == made["project"]["name"]
    assert shown["project"]["entry-points"] == made["project"]["entry-points"]
    assert shown["tool"]["setuptools"] == made["tool"]["setuptools"]
