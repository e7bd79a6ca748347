"""Guards the tutorials: every command and every line of Python runs, and prints what is shown."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cltr.cli import cli

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```', re.S | re.M)
NUMBER = re.compile(r"[+-]?\d[\d,.]*")


def masked(text: str) -> str:
    """Words without numbers, spaces and frames: what does not change with the machine."""
    return re.sub(r"[\s│]+", " ", NUMBER.sub("#", text)).strip()


def run(command: str) -> str:
    """The output of one command of the page; exit codes 0 and 3 are answers."""
    program, *words = shlex.split(command)
    if program == "cltr":
        done = CliRunner().invoke(cli, words, prog_name="cltr")
        assert done.exit_code in (0, 3), f"{command}: {done.output}"
        return done.stdout
    assert program == "python"
    words[0] = str(ROOT / words[0])
    found = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"{command}: {found.stderr}"
    return found.stdout


@pytest.mark.parametrize("page", ["shop", "first-comparison", "first-plugin"])
def test_a_tutorial_runs_from_start_to_end(page, tmp_path, monkeypatch, fresh_registry):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    said, names = "", {}
    blocks = BLOCK.findall((ROOT / "docs" / "tutorials" / f"{page}.md").read_text())
    assert blocks
    for kind, title, text in blocks:
        if title:
            Path(title).write_text(text)
        elif kind == "python":
            exec(compile(text, page, "exec"), names)
        elif kind == "sh":
            said = "".join(run(line) for line in text.splitlines() if line.strip())
        elif kind == "text":
            for line in text.splitlines():
                assert masked(line) in masked(said), f"{line!r} is not in:\n{said}"
        else:
            raise AssertionError(f"{page}: a block of {kind}")
