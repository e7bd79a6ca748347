"""Guards one way to write percentages, 12%, in all that cltr prints and in all pages."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPACED = re.compile(r"\d(?: |\u00a0|\u202f|&nbsp;)%(?! ?[\d{(])")
"""A number, a space and the sign; a number behind it makes it a division."""
RECORDED = ("budget 2 %", "one has 50 % of the traffic", "0.5 % lose everything")
"""Names in files of results, which were written so."""
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "examples").rglob("*.ipynb"))
CODE = sorted(path for name in ("cltr", "plugins") for path in (ROOT / name).rglob("*.py"))


def spaced(text: str) -> list[str]:
    """Percentages with a space, each with some words around it."""
    for name in RECORDED:
        text = text.replace(name, "")
    return [text[max(0, found.start() - 30) : found.end() + 20] for found in SPACED.finditer(text)]


def strings(path: Path) -> list[str]:
    """All strings of a module, docstrings too; a number stands for each value that is filled in."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            values = (one.value if isinstance(one, ast.Constant) else "0" for one in node.values)
            found.append("".join(values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(re.sub(r"\{[^}]*\}", "0", node.value))
    return found


@pytest.mark.parametrize("text", ["fell by 12 % of", "12\u00a0%", "12&nbsp;%", "(12 %)"])
def test_a_space_is_found(text):
    assert len(spaced(text)) == 1


def test_divisions_and_names_are_no_percentages():
    assert not spaced("n % 5 == 0, 7 % 5, 12% of, budget 2 %")


def test_strings_that_are_filled_in_are_looked_at(tmp_path):
    (tmp_path / "module.py").write_text(
        'def f(x):\n    """Half, 50 %."""\n    return f"{x} % of"\n'
    )
    found = [spaced(text) for text in strings(tmp_path / "module.py")]
    assert sum(map(len, found)) == 2


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages(path):
    assert spaced(path.read_text()) == []


def test_code():
    wrong = {path.name: [one for text in strings(path) for one in spaced(text)] for path in CODE}
    assert {name: found for name, found in wrong.items() if found} == {}
