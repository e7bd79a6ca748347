"""Guards docs/logs.md: every command and every piece of Python in it works, in its order."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from cltr.cli import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "logs.md").read_text()
BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", PAGE, re.S)


def test_every_block_in_order(small_demo, capsys):
    assert len(BLOCKS) >= 9
    for language, block in BLOCKS:
        if language == "python":
            exec(compile(block, "docs/logs.md", "exec"), {})
            continue
        for line in block.splitlines():
            done = CliRunner().invoke(cli, shlex.split(line)[1:])
            assert done.exit_code == 0, f"{line}: {done.output}"
    assert "20000" in capsys.readouterr().out


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]*)\)", PAGE))
def test_links_lead_somewhere(link):
    assert (ROOT / "docs" / link).exists()
