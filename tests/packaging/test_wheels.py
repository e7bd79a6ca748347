"""Guards ``pip install cltr``: its wheels, alone in a clean environment, run the default command.

The environment has the third-party packages of this one by links, and nothing of cltr. So pip finds
what is missing by the metadata of the wheels alone, and nothing is downloaded.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
LEFT_OUT = (".venv", ".git", "build", "dist", "*.egg-info", "__pycache__", "tests", ".*_cache")


def run(*words, cwd: Path) -> str:
    """A command that must succeed; what it printed."""
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "CLTR_PLUGINS")
    }
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> Path:
    """A folder with the wheels of all packages, built from a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheels")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*LEFT_OUT))
    paths = [source, *(source / "plugins" / path.name for path in PACKAGES)]
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", "dist", *paths, cwd=folder)
    return folder / "dist"


@pytest.fixture(scope="module")
def clean(wheels, tmp_path_factory) -> Path:
    """An environment into which ``pip install cltr`` has put what it put there."""
    folder = tmp_path_factory.mktemp("clean")
    libraries = folder / "third-party"
    libraries.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        ours = entry.name.lower().startswith(("cltr", "__editable__"))
        if not ours and entry.suffix != ".pth":
            (libraries / entry.name).symlink_to(entry)
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(python, "-c", where, cwd=folder).strip())
    (site / "third-party.pth").write_text(f"{libraries}\n")
    options = ["--no-index", "--find-links", wheels]
    run(*PIP, "--python", python, "install", *options, "cltr", cwd=folder)
    return folder


def names() -> set[str]:
    return {path.name for path in PACKAGES}


def test_every_first_party_plugin_is_a_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert names() == {name for name in project["dependencies"] if name.startswith("cltr-")}


def test_there_is_a_wheel_for_every_package(wheels):
    found = {path.name.split("-")[0].replace("_", "-") for path in wheels.glob("*.whl")}
    assert found == {"cltr", *names()}


def test_installing_cltr_brings_its_plugins(clean):
    told = json.loads(run(clean / "env/bin/cltr", "plugins", "--json", cwd=clean))
    assert {row["package"] for row in told["components"]} == {"cltr", *names()}
    assert told["failed"] == []
    where = "import cltr, cltr_dr; print(cltr.__file__, cltr_dr.__file__)"
    for path in run(clean / "env/bin/python", "-c", where, cwd=clean).split():
        assert Path(path).is_relative_to(clean / "env")


def test_what_the_verbs_need_is_in_the_wheel(clean):
    code = "import cltr; [getattr(cltr, name) for name in cltr.__all__]; print(cltr.PRPO())"
    assert "PRPO(" in run(clean / "env/bin/python", "-c", code, cwd=clean)


@pytest.mark.slow  # the kernels are compiled, as they are after every installation
def test_the_default_command_runs(clean):
    words = ("-n", "100", "--no-skyline", "-o", "training.epochs=1", "-o", "production.epochs=1")
    told = json.loads(run(clean / "env/bin/cltr", "train", *words, "--json", cwd=clean))
    assert (told["estimator"], told["reward"]) == ("prpo", "dr")
