"""Guards: every command in the README works as it stands."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from cltr.cli import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def commands(program: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.S)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.split()[:1] == [program]]


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    assert commands("make") == ["make demo", "make test"]
    for command in commands("make"):
        assert re.search(rf"^{command.split()[1]}:", makefile, re.M)


def test_demo_target_runs_the_first_command():
    assert "cltr train --estimator prpo --reward dr" in (ROOT / "Makefile").read_text()


def test_every_cltr_command_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(commands("cltr")) >= 5
    for command in commands("cltr"):
        result = CliRunner().invoke(cli, shlex.split(command)[1:])
        assert result.exit_code == 0, f"{command}: {result.output}"


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]*)\)", README))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
