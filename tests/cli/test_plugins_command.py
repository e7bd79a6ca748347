"""Guards ``cltr plugins`` and plugins on the command line: shown, loaded, restricted, failed."""

import json
import tomllib

import pytest

from cltr.plugins import ROLES, Failure, Provider, load_file, registry
from cltr.studies.runner import check_methods
from cltr.studies.study import Study
from tests.strangers import Site

FILE = '''
from cltr.hookspecs import hookimpl
from cltr.interfaces import RewardFunction


class Constant(RewardFunction):
    """The same for all documents."""

    name = "constant"

    def mu(self, data, *, propensity_clip=0.0):
        return data.exposure.weights * 0.0 + 1.0


@hookimpl
def cltr_rewards():
    return [Constant]
'''


@pytest.fixture
def plugin(here, fresh_registry):
    path = here / "my_rewards.py"
    path.write_text(FILE)
    return path


def test_everything_is_listed_with_its_options(cltr):
    result = json.loads(cltr("plugins", "--json").stdout)
    assert set(result) == {"components", "failed", "clashes", "notes"}
    found = {(row["role"], row["name"]) for row in result["components"]}
    assert found == {(role, name) for role in ROLES for name in registry().names(role)}
    (prpo,) = (row for row in result["components"] if row["name"] == "prpo")
    assert prpo["package"] == "cltr"
    assert prpo["summary"].startswith("The plain estimator, but moving a document")
    assert prpo["options"]["clip"]["default"] == "auto"
    assert all(option["description"] for option in prpo["options"].values())


def test_people_get_a_table(cltr):
    text = cltr("plugins").stdout
    for word in ("role", "package", "prpo", "trust-bias", "estimator"):
        assert word in text


def test_one_component_or_one_package(cltr):
    rows = json.loads(cltr("plugins", "prpo", "--json").stdout)["components"]
    assert [row["name"] for row in rows] == ["prpo"]
    assert "rollback" in cltr("plugins", "prpo").stdout
    rows = json.loads(cltr("plugins", "cltr-ips", "--json").stdout)["components"]
    assert {row["name"] for row in rows} == {"ips", "snips"}


def test_an_unknown_name(refused):
    line = refused("plugins", "prpoo", code=2)
    assert line == (
        "no component or package named 'prpoo'; 'cltr plugins' lists all. Did you mean 'prpo'?"
    )


def test_a_plugin_from_a_plain_file(cltr, train, plugin):
    result = train("--plugin", plugin, reward="constant")
    assert result["reward"] == "constant"
    rows = json.loads(cltr("plugins", "--plugin", plugin, "constant", "--json").stdout)
    assert rows["components"][0]["package"] == str(plugin)


def test_a_file_that_is_no_plugin(refused, plugin):
    plugin.write_text("import nonesuch")
    line = refused("train", "--plugin", plugin.name, code=1)
    assert line.startswith("my_rewards.py: ModuleNotFoundError: No module named 'nonesuch'")


def test_plugins_can_be_restricted(refused, cltr, fresh_registry, monkeypatch):
    monkeypatch.setenv("CLTR_PLUGINS", "cltr-safe")
    rows = json.loads(cltr("plugins", "--json").stdout)["components"]
    assert {row["package"] for row in rows} == {"cltr", "cltr-safe"}
    assert refused("train", "--reward", "ips", code=2).startswith(
        "no reward named 'ips'; installed"
    )


def test_a_broken_plugin_is_a_warning_and_no_more(cltr, train, fresh_registry):
    broken = Failure(Provider("acme-cltr", "2.0", "acme"), "ImportError: no acme")
    registry().failures.append(broken)
    result = json.loads(cltr("plugins", "--json").stdout)
    assert result["failed"] == [
        {"package": "acme-cltr", "version": "2.0", "error": "ImportError: no acme"}
    ]
    assert "acme-cltr 2.0: ImportError: no acme" in cltr("plugins").stdout
    done = cltr("train", "--reward", "nonesuch")
    assert done.exit_code == 2
    assert "Warning: plugin acme-cltr 2.0 failed: ImportError: no acme" in done.stderr
    train()  # its output is one JSON object, warnings or not


def test_a_name_from_two_packages_is_an_error_when_it_is_asked_for(cltr, plugin, here, train):
    other = here / "other.py"
    other.write_text(FILE)
    words = ["--plugin", plugin, "--plugin", other]
    done = cltr("train", *words, "--reward", "constant")
    assert done.exit_code == 2
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"Error: reward 'constant' comes from both {plugin} and {other};")
    assert train(*words, reward="ips")["reward"] == "ips"
    clashes = json.loads(cltr("plugins", *words, "--json").stdout)["clashes"]
    assert clashes == [f"reward 'constant' comes from both {plugin} and {other}"]


def test_a_package_that_failed_is_shown_with_its_traceback_when_asked(
    cltr, here, monkeypatch, fresh_registry
):
    site = Site(here, monkeypatch)
    site.install("acme-cltr", "def divide():\n    return 1 / 0\ndivide()\n")
    brief = cltr("plugins", "acme-cltr")
    assert brief.exit_code == 0
    assert brief.stdout == "failed acme-cltr 2.0: ZeroDivisionError: division by zero\n"
    assert "in divide" in cltr("plugins", "acme-cltr", "--verbose").stdout
    shown = json.loads(cltr("plugins", "acme-cltr", "--verbose", "--json").stdout)
    assert shown["components"] == []
    assert "in divide" in shown["failed"][0]["traceback"]


def test_what_plugins_print_does_not_reach_the_json(train, plugin):
    loud = FILE.replace("return data", "print('mu of', self.name); return data")
    plugin.write_text("print('loading')\n" + loud)
    assert train("--plugin", plugin, reward="constant")["reward"] == "constant"


def test_nor_does_what_native_code_prints(run_python, plugin):
    plugin.write_text("import os\nos.write(1, b'native noise')\n" + FILE)
    words = ["cltr", "plugins", "--plugin", str(plugin), "constant", "--json"]
    printed = run_python(f"import sys\nsys.argv = {words}\nfrom cltr.cli import main\nmain()")
    assert json.loads(printed)["components"][0]["name"] == "constant"


def test_a_run_names_the_plugins_that_it_needs(cltr, train, plugin, here):
    train("--plugin", plugin, "--out", "run", reward="constant")
    kept = tomllib.loads((here / "run/run.toml").read_text())["provenance"]["plugins"]
    assert set(kept) == {"my_rewards.py"}
    registry.cache_clear()
    for words in (["evaluate", "run"], ["train", "--config", "run/run.toml"]):
        done = cltr(*words)
        assert done.exit_code == 2
        line = done.stderr.splitlines()[-1]
        assert line.startswith("Error: no reward named 'constant'; installed: ")
        assert line.endswith("; it needs my_rewards.py, not loaded here: --plugin my_rewards.py")
    assert cltr("evaluate", "run", "--plugin", plugin).exit_code == 0


def test_a_run_says_which_package_it_needs(cltr, train, here, fresh_registry, monkeypatch):
    train("--out", "run", reward="ips")
    kept = tomllib.loads((here / "run/run.toml").read_text())["provenance"]["plugins"]
    assert set(kept) == {"cltr-ips"}
    monkeypatch.setenv("CLTR_PLUGINS", "cltr-safe")
    registry.cache_clear()
    line = cltr("evaluate", "run").stderr.splitlines()[-1]
    assert line.endswith(
        f"; it needs cltr-ips, not loaded here: pip install cltr-ips=={kept['cltr-ips']}"
    )


def test_a_study_names_the_plugins_that_it_needs(plugin, here, refused):
    study = Study.parse({"methods": {"mine": {"reward": "constant"}}}, owner="")
    load_file(plugin)
    needed = check_methods(study)
    assert set(needed) == {"my_rewards.py"}
    file = here / "study.toml"
    file.write_text(study.model_copy(update={"plugins": needed}).to_toml())
    registry.cache_clear()
    line = refused("compare", file, code=2)
    assert line.startswith("method 'mine': no reward named 'constant'; installed: ")
    assert line.endswith("; it needs my_rewards.py, not loaded here: --plugin my_rewards.py")
