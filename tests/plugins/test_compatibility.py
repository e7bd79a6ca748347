"""Guards versions: a plugin and a core that do not fit are told apart before anything runs."""

from importlib.metadata import version

import pytest

from cltr.interfaces import API_VERSION
from cltr.plugins import registry
from tests.strangers import REWARD, one_failure

CORE = version("cltr")
MAJOR, MINOR = (int(part) for part in API_VERSION.split("."))
OPTIONAL = """
@hookimpl(optionalhook=True)
def cltr_teleporters():
    return ["from the future"]
"""


@pytest.mark.parametrize(
    "line", ["cltr", "cltr>=0.0.1", "cltr (>=0.0.1)", "cltr[test]", "numpy>=99"]
)
def test_a_package_that_fits_is_loaded(site, line):
    site.install("acme-cltr", REWARD.format(name="acme"), requires=(line,))
    assert registry().find("reward", "acme").name == "acme"
    assert registry().warnings() == []


@pytest.mark.parametrize(
    "line", ["cltr>=99", "Cltr >=99", "cltr<0.0.1", "cltr-dr", "cltr>=99; extra == 'x'"]
)
def test_only_a_requirement_on_the_core_that_applies_counts(site, line):
    site.install("acme-cltr", REWARD.format(name="acme"), requires=(line,))
    if "-dr" in line or "extra" in line:
        assert registry().warnings() == []
        return
    specifier = line[4:].strip()
    assert one_failure() == (
        f"acme-cltr 2.0: it needs cltr{specifier}, but cltr {CORE} is installed; install a cltr "
        "that fits, or another version of this plugin"
    )
    assert "acme" not in registry().names("reward")


@pytest.mark.parametrize("needed", [API_VERSION, f"{MAJOR}.0"])
def test_a_plugin_of_this_api_or_an_earlier_minor_one_is_loaded(site, needed):
    site.install("acme-cltr", f"requires_api = '{needed}'\n" + REWARD.format(name="acme"))
    assert registry().find("reward", "acme").name == "acme"


@pytest.mark.parametrize(
    ("needed", "advice"),
    [(f"{MAJOR}.{MINOR + 1}", "upgrade cltr"), (f"{MAJOR - 1}.9", "upgrade the plugin")],
)
def test_a_plugin_of_another_api_is_not(site, needed, advice):
    site.install("acme-cltr", f"requires_api = '{needed}'\n" + REWARD.format(name="acme"))
    assert one_failure() == (
        f"acme-cltr 2.0: it needs version {needed} of the plugin API, but this cltr has "
        f"{API_VERSION}; {advice}"
    )


@pytest.mark.parametrize("needed", ["1", "1.0", "'one'", "'1'"])
def test_requires_api_is_written_as_a_version(site, needed):
    site.install("acme-cltr", f"requires_api = {needed}\n" + REWARD.format(name="acme"))
    assert "it must be a version such as" in one_failure()


def test_an_unknown_hook_that_is_optional_is_ignored_with_one_line(site):
    site.install("acme-cltr", REWARD.format(name="acme") + OPTIONAL)
    assert registry().find("reward", "acme").name == "acme"
    assert registry().warnings() == [
        f"plugin acme-cltr 2.0: its hook 'cltr_teleporters' is not part of API {API_VERSION} "
        "and is ignored"
    ]


def test_an_unknown_hook_that_is_not_optional_is_a_failure(site):
    site.install(
        "acme-cltr", REWARD.format(name="acme") + OPTIONAL.replace("optionalhook=True", "")
    )
    line = "acme-cltr 2.0: there is no hook 'cltr_teleporters'; the hooks are cltr_click_models, "
    assert one_failure().startswith(line)


@pytest.mark.parametrize(
    "name", ["", "my/reward", "My", "a b", "a--b", "-a", "fitted:x", "a.b", "a,b"]
)
def test_names_are_validated(site, name):
    site.install("acme-cltr", REWARD.format(name=name))
    assert one_failure() == (
        f"acme-cltr 2.0: Mine has the name {name!r}; a name has lower-case letters, digits and "
        "single hyphens, such as 'my-name'"
    )


@pytest.mark.parametrize(
    ("constructor", "reason"),
    [
        ("def __init__(self, x, **options): ...", "asks for 'x'; a component is built from its"),
        ("def __init__(self): ...", "lacks '**options'; take it and pass it on"),
    ],
)
def test_a_constructor_takes_the_options(site, constructor, reason):
    code = REWARD.format(name="acme").replace(
        '    name = "acme"', f'    name = "acme"\n    {constructor}'
    )
    site.install("acme-cltr", code)
    assert f"acme-cltr 2.0: Mine.__init__ {reason}" in one_failure()


def test_a_failure_keeps_its_traceback(site):
    site.install("acme-cltr", "def divide():\n    return 1 / 0\ndivide()\n")
    (failure,) = registry().failures
    assert "in divide" in failure.traceback
    assert failure.traceback.rstrip().endswith("ZeroDivisionError: division by zero")
