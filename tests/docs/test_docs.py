"""Guards: docs/cli.md is current, hooks are documented, examples in other pages hold."""

import doctest
import inspect
from pathlib import Path

import pytest

from cltr import hookspecs
from cltr.cli.common.help_page import help_page

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


@pytest.mark.parametrize("page", ["safety.md", "notation.md", "methods.md"])
def test_examples_in_text_pages_hold(page):
    failed, _ = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert failed == 0
