"""Guards the dictionary: what docs/notation.md says stands in the code does stand there."""

import importlib
import re
from pathlib import Path

import pytest

NOTATION = Path(__file__).parent.parent / "docs" / "notation.md"
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
