"""Guards the promise to plugin authors: a stranger's package, built, installed, used and gone.

It gets a virtual environment of its own. What cltr itself needs (torch among it) is not installed
there again: a ``.pth`` file lets it also see the packages of the environment that runs the tests.
A line of such a file that begins with ``import`` is executed, and ``addsitedir`` reads the ``.pth``
files it finds in turn, so that packages installed for editing are seen, too. pip is that of the
tests and works on the other environment through ``--python``.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from cltr.data.dataset_file import save_dataset
from tests import small

EXAMPLE = Path(__file__).parents[2] / "examples" / "cltr-example-clicks"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
OURS = {("click-model", "device-bias"), ("reward", "smoothed")}


class Environment:
    """A virtual environment, and the cltr command in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
        self.python = path / "bin" / "python"
        packages = Path(self.run("import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        beside = sysconfig.get_path("purelib")
        (packages / "beside.pth").write_text(f"import site; site.addsitedir({beside!r})\n")

    def run(self, code: str, *words: object, fails: int = 0) -> str:
        done = subprocess.run(
            [self.python, "-W", "error", "-c", code, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == fails, done.stderr
        return done.stderr if fails else done.stdout

    def cltr(self, *words: object, fails: int = 0) -> str:
        return self.run("from cltr.cli import main; main()", *words, fails=fails)

    def components(self) -> dict[tuple[str, str], str]:
        """By role and name: who provides each."""
        listed = json.loads(self.cltr("plugins", "--json"))
        assert listed["failed"] == listed["clashes"] == []
        rows = listed["components"]
        return {(row["role"], row["name"]): f"{row['package']} {row['version']}" for row in rows}

    def pip(self, command: str, *words: object) -> None:
        subprocess.run([*PIP, "--python", self.python, command, *map(str, words)], check=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, since a build leaves its traces beside the source."""
    folder = tmp_path_factory.mktemp("build")
    leave = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    source = shutil.copytree(EXAMPLE, folder / "source", ignore=leave)
    words = ["wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder]
    subprocess.run([*PIP, *words, source], check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_a_package_of_a_stranger_comes_works_and_goes(wheel, tmp_path):
    environment = Environment(tmp_path / "venv")
    save_dataset(small.dataset(), tmp_path / "data.h5")
    words = ["train", "--data", tmp_path / "data.h5", *small.FLAGS]
    theirs = ["--click-model", "device-bias", "--reward", "smoothed"]

    assert not OURS & set(environment.components())

    environment.pip("install", "--no-deps", "--no-index", wheel)
    found = environment.components()
    assert {found[one] for one in OURS} == {"cltr-example-clicks 1.0.0"}

    options = ["-o", "click-model.phones=0.25", "-o", "reward.strength=2", "--out", "run", "--json"]
    result = json.loads(environment.cltr(*words, *theirs, *options))
    assert (result["click_model"], result["users"], result["reward"]) == (
        "device-bias",
        "device-bias",
        "smoothed",
    )
    assert 0 < result["metrics"]["policy"]["ndcg@5"] < 1
    run_file = (tmp_path / "venv/run/run.toml").read_text()
    assert "phones = 0.25" in run_file
    assert 'cltr-example-clicks = "1.0.0"' in run_file

    data = ["--data", tmp_path / "data.h5"]
    drawn = ["--users", "device-bias", "-n", "2000", "--sessions", "--out", "log.h5"]
    environment.cltr("simulate", *data, *drawn, "-o", "production.epochs=2")
    chosen = ["--log", "log.h5", "--click-model", "device-bias", "--out", "device.h5"]
    environment.cltr("fit", *data, *chosen)
    fitted = ["--log", "log.h5", "--click-model", "fitted:device.h5", "--out", "fitted"]
    logged = ["train", *data, *small.FLAGS[2:]]  # as many interactions as the log has
    learned = json.loads(environment.cltr(*logged, *fitted, "--reward", "click-model", "--json"))
    assert 0 < learned["metrics"]["policy"]["ndcg@5"] < 1

    code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    flags = ["-q", "--import-mode=importlib", "-p", "no:cacheprovider", "--rootdir", tmp_path]
    assert "3 passed" in environment.run(code, *flags, EXAMPLE / "tests")

    environment.pip("uninstall", "--yes", "cltr-example-clicks")
    assert not OURS & set(environment.components())
    line = environment.cltr(*words, *theirs, fails=2).splitlines()[-1]
    assert line.startswith("Error: no click-model named 'device-bias'; installed: ")
