"""Guards: docs/python.md names all results, and the README's Python is short."""

import re
from pathlib import Path

import cltr

ROOT = Path(__file__).parents[2]
LINES = 10
"""At most, in the README."""


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


def test_the_readme_needs_ten_lines():
    (block,) = blocks("README.md")
    assert len([line for line in block.splitlines() if line.strip()]) <= LINES


def test_every_public_result_and_verb_is_on_the_page():
    page = (ROOT / "docs/python.md").read_text()
    for name in ("Run", "Log", "LogCheck", "FitReport", "Evaluation", "Comparison", "ClickRanker"):
        assert name in cltr.__all__ and f"{name}`" in page
