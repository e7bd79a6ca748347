"""Guards commands and data layouts that plugins add to the command line."""

import json
from pathlib import Path

import pytest

from tests.judged import text
from tests.strangers import Site

ROOT = Path(__file__).parents[2]
COMMAND = (ROOT / "examples/cltr-example-command/cltr_example_command.py").read_text()
LAYOUT = """
from cltr import DataLayout, hookimpl


class Halves(DataLayout):
    name, title, highest_grade = "halves", "Two halves", 4

    def find(self, folder, *, fold):
        files = {"train": [folder / "a.dat"], "test": [folder / "b.dat"]}
        return (files, ["a.dat trains, b.dat tests"]) if files["train"][0].exists() else None


@hookimpl
def cltr_data_layouts():
    return [Halves]
"""


@pytest.fixture
def site(here, monkeypatch, fresh_registry):
    return Site(here, monkeypatch)


def test_a_command_of_a_plugin_is_a_command(cltr, train, site):
    site.install("acme-cltr", COMMAND)
    site.monkeypatch.setenv("CLTR_PLUGINS", "acme-cltr,cltr-ips")
    result = train("--out", "runs/001-mine")
    done = cltr("runs")
    assert done.exit_code == 0
    expected = result["metrics"]["policy"]["ndcg@5"]
    assert done.stdout == f"{expected:.4f}  001-mine  prpo/ips/exact\n"
    assert "List the finished runs of FOLDER" in cltr("runs", "--help").stdout
    line = cltr("runs", "nowhere").stderr
    assert line.startswith("Error: nowhere: no finished run here")
    assert {"role": "command", "name": "runs"}.items() <= (
        json.loads(cltr("plugins", "runs", "--json").stdout)["components"][0].items()
    )


def test_a_mistyped_command_may_be_one_of_a_plugin(refused, site):
    site.install("acme-cltr", COMMAND)
    assert refused("runz", code=2).endswith("runs. Did you mean 'runs'? (see 'cltr --help')")


def test_a_plugin_cannot_replace_a_command(cltr, site):
    site.install("acme-cltr", COMMAND.replace('name = "runs"', 'name = "train"'))
    done = cltr("train", "--reward", "nonesuch")
    assert "Warning: acme-cltr 2.0: cltr has a command 'train' of its own" in done.stderr
    assert "Error: no reward named 'nonesuch'" in done.stderr


def test_help_looks_for_no_plugin(run_python):
    code = "import sys\nsys.argv = ['cltr', '--help']\nfrom cltr.cli import main\n"
    code += "try:\n    main()\nfinally:\n    assert 'cltr.plugins' not in sys.modules"
    assert "Plugins may add" in run_python(code)


def test_a_data_layout_of_a_plugin(cltr, here, site, refused):
    site.install("acme-cltr", LAYOUT)
    folder = here / "data"
    folder.mkdir()
    (folder / "a.dat").write_text(text(range(20)))
    (folder / "b.dat").write_text(text(range(20, 26)))
    done = cltr("data", "import", "data", "--preset", "halves", "--out", "d.h5", "--json")
    assert done.exit_code == 0, done.stderr
    info = json.loads(done.stdout)
    assert info["splits"]["test"]["queries"] == 6
    assert "a.dat trains, b.dat tests" in info["notes"]
    assert refused("data", "import", "data", "--preset", "halfs", "--out", "e.h5", code=2).endswith(
        "Did you mean 'halves'?"
    )


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("1 / 0", 1, "command 'runs' (acme-cltr 2.0): it failed: ZeroDivisionError: division"),
        ("raise click.UsageError('no')", 2, "no"),
        ("raise CltrError('no runs')", 1, "no runs"),
        ("click.get_current_context().exit(3)", 3, ""),
    ],
)
def test_what_goes_wrong_in_a_command_is_its_own(cltr, site, body, code, line):
    broken = COMMAND.replace("    found = sorted(", f"    {body}\n    found = sorted(")
    site.install("acme-cltr", broken)
    done = cltr("runs")
    assert done.exit_code == code
    assert done.stderr.startswith(f"Error: {line}" if line else "")
    assert "internal error" not in done.stderr
