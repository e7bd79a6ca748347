"""Guards ``cltr plugins new``: a package of every kind installs and passes its own checks at once.

All packages are made, built, installed and tested together, so that this stays quick.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cltr.cli import cli
from cltr.cli.plugins import KINDS as OFFERED
from cltr.errors import UsageError
from cltr.plugins import ROLES
from cltr.plugins.new_package import KINDS, new_package

ROOT = Path(__file__).parents[2]


def run(*words: object, folder: Path, path: Path | None = None) -> str:
    """Run a Python module; what it printed, once it is seen to have succeeded."""
    environment = os.environ | {"MYPYPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment.pop("CLTR_PLUGINS", None)
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> dict[str, Path]:
    """A new package of every kind."""
    folder = tmp_path_factory.mktemp("packages")
    for kind in KINDS:
        new_package(f"new-{kind}", kind, folder=folder / kind)
    return {kind: folder / kind for kind in KINDS}


@pytest.fixture(scope="module")
def site(packages, tmp_path_factory) -> Path:
    """A folder in which all of them are installed."""
    folder = tmp_path_factory.mktemp("site")
    words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    words += ["--no-build-isolation", "--target", folder]
    run("pip", *words, *packages.values(), folder=folder)
    return folder


def test_there_is_one_of_every_kind():
    assert set(KINDS) == set(OFFERED) == set(ROLES)


def test_all_install_and_are_found(site, packages):
    code = "from cltr.cli import main; main()"
    words = [sys.executable, "-W", "error", "-c", code, "plugins", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    listed = json.loads(done.stdout)
    assert listed["failed"] == listed["clashes"] == listed["notes"] == []
    found = {row["role"] for row in listed["components"] if row["name"] == f"new-{row['role']}"}
    assert found == set(KINDS)


def test_all_pass_their_own_tests(site, packages, tmp_path):
    tests = [package / "tests" for package in packages.values()]
    words = ["-q", "--import-mode=importlib", "-p", "no:cacheprovider", "-W", "error"]
    printed = run("pytest", *words, "--rootdir", tmp_path, *tests, folder=tmp_path, path=site)
    assert "passed" in printed


def test_all_pass_ruff(packages):
    for package in packages.values():
        run("ruff", "check", "--no-cache", ".", folder=package)
        run("ruff", "format", "--no-cache", "--check", ".", folder=package)


def test_all_pass_mypy(packages):
    modules = [next(package.glob("cltr_*.py")) for package in packages.values()]
    first = next(iter(packages.values()))
    words = ["--config-file", first / "pyproject.toml", "--follow-imports=silent"]
    cache = ["--cache-dir", os.devnull]
    printed = run("mypy", *words, *cache, *modules, folder=first)
    assert f"no issues found in {len(modules)} source files" in printed


@pytest.mark.parametrize("name", ["", "My", "a/b", "9lives", "../up"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="is not a name"):
        new_package(name, "reward", folder=tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_kind_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no kind 'rewards'.*Did you mean 'reward'"):
        new_package("mine", "rewards", folder=tmp_path / "new")


def test_nothing_is_written_over(tmp_path):
    with pytest.raises(UsageError, match="exists already"):
        new_package("mine", "reward", folder=tmp_path)


def test_a_class_does_not_take_the_name_of_its_contract(tmp_path):
    written = new_package("reward-function", "reward", folder=tmp_path / "new")
    text = (tmp_path / "new/cltr_reward_function.py").read_text()
    assert "class MyRewardFunction(RewardFunction):" in text
    assert len(written) == 4


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["plugins", "new", "cltr-mine", "--kind", "reward"]
    done = CliRunner().invoke(cli, words, prog_name="cltr")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "wrote cltr-mine/pyproject.toml",
        "wrote cltr-mine/README.md",
        "wrote cltr-mine/cltr_mine.py",
        "wrote cltr-mine/tests/test_cltr_mine.py",
        "next: pip install --editable cltr-mine && pytest cltr-mine",
    ]
