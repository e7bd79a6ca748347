"""Guards: the Python of docs/python.md and of the README runs as it stands, block after block."""

import re
from pathlib import Path

import pytest

import cltr

ROOT = Path(__file__).parents[2]
LINES = 10
"""At most, in the README."""


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    found = blocks(page)
    assert found
    for number, block in enumerate(found, start=1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    assert capsys.readouterr().out


def test_the_readme_needs_ten_lines():
    (block,) = blocks("README.md")
    assert len([line for line in block.splitlines() if line.strip()]) <= LINES


def test_every_public_result_and_verb_is_on_the_page():
    page = (ROOT / "docs/python.md").read_text()
    for name in ("Run", "Log", "LogCheck", "FitReport", "Evaluation", "Comparison", "ClickRanker"):
        assert name in cltr.__all__ and f"{name}`" in page
