"""Guards: docs/cli.md is current, hooks are documented, names of columns are those of the code."""

import inspect
import re
from pathlib import Path

from cltr import hookspecs
from cltr.cli.common.help_page import help_page
from cltr.files.table_columns import FURTHER, KNOWN
from cltr.logs.problems import PROBLEMS

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
            assert shown[role] == (*KNOWN[role], *FURTHER.get(role, ())), f"{name}: {role}"


def test_the_page_of_logs_names_every_problem():
    """With what it is, what happens by default, and what --on can ask for."""
    page = (ROOT / "docs" / "logs.md").read_text()
    (table,) = re.findall(r"\| other actions \|\n\|[-|]+\n((?:\|.*\n)+)", page)
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert [row[0] for row in shown] == [f"`{name}`" for name in PROBLEMS]
    for (_, what, usual, others), problem in zip(shown, PROBLEMS.values(), strict=True):
        many = f"; `refuse` if it is more than {problem.limit:.0%}"
        assert what == problem.what
        assert usual == f"`{problem.actions[0]}`{many if problem.limit < 1 else ''}"
        assert others == ", ".join(f"`{action}`" for action in problem.actions[1:])


def test_the_help_of_ingest_names_every_problem():
    told = " ".join((ROOT / "docs" / "cli.md").read_text().split())
    assert f"Problems that --on knows: {', '.join(PROBLEMS)}." in told
