"""Tables of a page that a command writes, between two comments."""

import re
from pathlib import Path


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- table: {name} -->\n", "\n<!-- end of table -->"


def _place(page: str, name: str) -> re.Match[str]:
    start, end = (re.escape(mark) for mark in _marks(name))
    found = re.search(f"(?<={start})(.*?)(?={end})", page, re.DOTALL)
    if found is None:
        raise ValueError(f"the page has no place for the table {name!r}: {_marks(name)[0]}")
    return found


def read_table(path: Path, name: str) -> str:
    """A table of a page."""
    return _place(path.read_text(), name)[0]


def write_table(path: Path, name: str, table: str) -> None:
    """Replace a table of a page."""
    page = path.read_text()
    found = _place(page, name)
    path.write_text(page[: found.start()] + table + page[found.end() :])
