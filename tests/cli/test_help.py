"""Guards help: of every command, with examples, and without anything heavy being there."""

import re

import pytest

from cltr.cli import COMMANDS

BLOCK = """
import sys
for name in ("torch", "numpy", "numba", "h5py"): sys.modules[name] = None
sys.argv = ["cltr", *{words!r}]
from cltr.cli import main
main()
"""


def test_the_first_page_lists_every_command(cltr):
    done = cltr("--help")
    assert done.exit_code == 0
    for name, summary in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(summary)}$", done.stdout, re.MULTILINE)
    assert "cltr train --estimator prpo --reward dr" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_has_help(cltr, name, flag):
    done = cltr(name, flag)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Usage: cltr {name}")
    assert COMMANDS[name] in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", [*sorted(set(COMMANDS) - {"data", "plugins"}), "plugins show"])
def test_help_has_examples_and_the_shared_options(cltr, name):
    text = cltr(*name.split(), "--help").stdout
    assert "Examples:" in text
    assert f"\n    cltr {name.split()[0]}" in text
    for option in ("--json", "--plugin", "--verbose"):
        assert option in text


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["simulate", "-h"]])
def test_help_needs_neither_torch_nor_numpy(run_python, words):
    assert "Usage: cltr" in run_python(BLOCK.format(words=words))


def test_the_version(cltr):
    from cltr import __version__

    assert cltr("--version").stdout == f"cltr {__version__}\n"
