"""Guards: docs/cli.md is current, hooks are documented, names of columns are those of the code."""

import inspect
import re
from pathlib import Path

from cltr import hookspecs
from cltr.cli.common.help_page import help_page
from cltr.files.table_columns import KNOWN

ROOT = Path(__file__).parents[2]


def test_every_hook_is_documented():
    page = (ROOT / "docs" / "plugins.md").read_text()
    for name, hook in inspect.getmembers(hookspecs, inspect.isfunction):
        if name.startswith("cltr_"):
            arguments = ", ".join(inspect.signature(hook).parameters)
            assert f"`{name}({arguments})`" in page


def test_command_line_page_is_current():
    assert (ROOT / "docs" / "cli.md").read_text() == help_page(), (
        "docs/cli.md is not current; run: python -m cltr.cli.common.help_page > docs/cli.md"
    )


def test_pages_name_every_column_that_is_known():
    """What docs/logs.md and docs/data.md say that is found is what the code finds."""
    roles = {
        "logs.md": ("query", "document", "position", "click", "session", "documents", "clicks"),
        "data.md": ("query", "document", "label", "split"),
    }
    for name, wanted in roles.items():
        page = (ROOT / "docs" / name).read_text()
        (table,) = re.findall(r"names that are known \| option \|\n\|[-|]+\n((?:\|.*\n)+)", page)
        shown = {}
        for line in table.splitlines():
            role, names = line.split("|")[1:3]
            shown[role.split()[0]] = tuple(re.findall(r"`([^`]+)`", names))
        for role in wanted:
            assert shown[role] == KNOWN[role], f"{name}: {role}"
