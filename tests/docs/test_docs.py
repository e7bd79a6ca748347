"""Guards: examples in docs/plugins.md work, docs/cli.md is current, hooks are documented."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

from cltr import hookspecs, plugins, testing
from cltr.cli.common.help_page import help_page

ROOT = Path(__file__).parents[2]
CHECKS = {
    "click-model": testing.check_click_model,
    "reward": testing.check_reward,
    "estimator": testing.check_estimator,
    "ranker": testing.check_ranker,
}


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)


@pytest.fixture
def fresh_registry():
    plugins.registry.cache_clear()
    yield
    plugins.registry.cache_clear()


@pytest.mark.parametrize("number", range(4))
def test_examples_of_the_plugin_page_conform(number, tmp_path, fresh_registry):
    source = python_blocks("plugins.md")[number]
    file = tmp_path / f"example_{number}.py"
    file.write_text(source)
    before = {role: set(plugins.registry().names(role)) for role in plugins.ROLES}
    plugins.load_file(file)
    new = [
        (role, name)
        for role in plugins.ROLES
        for name in set(plugins.registry().names(role)) - before[role]
    ]
    assert len(new) == 1
    role, name = new[0]
    CHECKS[role](plugins.registry().find(role, name)())


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
