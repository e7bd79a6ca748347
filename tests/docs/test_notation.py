"""Guards the dictionary: what docs/notation.md says stands in the code does stand there."""

import ast
import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

NOTATION = Path(__file__).parents[2] / "docs" / "notation.md"
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in NOTATION.read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| symbol")
]


@pytest.mark.parametrize("where", sorted({row[-1].strip("`") for row in ROWS}))
def test_each_place_exists(where):
    parts = where.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        for name in parts[depth:]:
            found = getattr(found, name)
        return
    pytest.fail(f"nothing is called {where}")


def test_each_row_is_whole():
    assert len(ROWS) > 50
    for row in ROWS:
        assert len(row) == 5, row
        assert row[2], row
        assert row[0] or row[1], row


def test_no_symbol_and_no_meaning_comes_twice():
    for column in (0, 2):
        entries = [row[column] for row in ROWS if row[column]]
        assert len(entries) == len(set(entries))


SOURCES = [ast.parse(path.read_text()) for path in (NOTATION.parents[1] / "cltr").rglob("*.py")]


def test_no_class_name_stands_for_two_ideas():
    names = Counter(
        node.name
        for source in SOURCES
        for node in source.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("name", ["SPLITS", "CHUNK", "Progress", "Table", "Source", "Estimate"])
def test_words_that_once_had_several_meanings_have_one(name):
    """Type aliases and constants too."""
    found = [
        target.id
        for source in SOURCES
        for node in source.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    classes = [n.name for source in SOURCES for n in source.body if isinstance(n, ast.ClassDef)]
    assert [*found, *classes].count(name) <= 1


def test_ranks_are_never_weights_or_a_distribution():
    """A parameter or field of floats is named by what it holds."""
    wrong = [
        node.lineno
        for source in SOURCES
        for node in ast.walk(source)
        if isinstance(node, ast.arg | ast.AnnAssign)
        and (node.arg if isinstance(node, ast.arg) else ast.unparse(node.target)) == "ranks"
        and "Floats" in ast.unparse(node.annotation or ast.Constant(""))
    ]
    assert wrong == []
