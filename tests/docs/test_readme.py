"""Guards the README: its make targets exist, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https://)([^)]*)\)", README))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
