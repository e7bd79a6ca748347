"""Guards plugins: what a stranger gets wrong is one line, and everything else goes on working."""

from importlib.metadata import version

import pytest

from cltr.errors import PluginError, UnknownNameError
from cltr.interfaces import RewardFunction
from cltr.plugins import ROLES, Provider, load_file, registry, versions
from tests.strangers import REWARD, one_failure

HOOKS = ", ".join(hook for hook, _ in ROLES.values())
CORE = f"cltr {version('cltr')}"


def test_a_package_is_found_by_its_entry_point(site):
    site.install("acme-cltr", REWARD.format(name="acme"))
    found = registry()
    assert found.names("reward") == ["acme", "labels", "naive"]
    component = found.find("reward", "acme")
    assert issubclass(component, RewardFunction)
    assert found.components["reward"]["acme"][0][1] == Provider("acme-cltr", "2.0", "acme-cltr")
    assert not found.warnings()


def test_the_core_registers_through_the_same_hooks(fresh_registry, monkeypatch):
    monkeypatch.setenv("CLTR_PLUGINS", "")
    found = registry()
    assert {provider.distribution for provider in found.providers} == {"cltr"}
    assert {"plain", "prpo"} <= set(found.names("estimator"))
    assert {"naive", "labels"} <= set(found.names("reward"))
    assert {"trust-bias", "pbm", "adversarial"} <= set(found.names("click-model"))
    assert "exact" in found.names("ranker")


def test_an_unknown_name_says_what_is_there_and_what_may_be_meant(site):
    site.install("acme-cltr", REWARD.format(name="acme"))
    with pytest.raises(UnknownNameError) as caught:
        registry().find("reward", "acne")
    assert str(caught.value) == (
        f"no reward named 'acne'; installed: acme (acme-cltr 2.0), labels ({CORE}), "
        f"naive ({CORE}). Did you mean 'acme'?"
    )


def test_an_unknown_name_mentions_the_plugin_that_failed(site):
    site.install("acme-cltr", "import no_such_module")
    with pytest.raises(UnknownNameError) as caught:
        registry().find("reward", "acme")
    assert str(caught.value).startswith(
        f"no reward named 'acme'; installed: labels ({CORE}), naive ({CORE}); "
        "acme-cltr 2.0 failed to load: ModuleNotFoundError: No module named 'no_such_module'"
    )


def test_an_unknown_name_mentions_the_packages_that_are_left_out(monkeypatch, fresh_registry):
    monkeypatch.setenv("CLTR_PLUGINS", "cltr")
    with pytest.raises(UnknownNameError) as caught:
        registry().find("reward", "dr")
    assert "; CLTR_PLUGINS leaves out cltr-clickmodels, cltr-dr, " in str(caught.value)


def test_an_unknown_name_mentions_the_packages_that_are_not_installed(monkeypatch, fresh_registry):
    monkeypatch.setattr("cltr.plugins.compatibility.requires", lambda name: ["cltr-nowhere"])
    with pytest.raises(UnknownNameError, match=r"; not installed: pip install cltr-nowhere$"):
        registry().find("reward", "something-else")


def test_two_packages_of_one_name_are_a_warning_and_an_error_when_asked_for(site):
    site.install("acme-cltr", REWARD.format(name="acme"))
    site.install("other-cltr", REWARD.format(name="acme"), version="0.3")
    found = registry()
    assert found.warnings() == ["reward 'acme' comes from both acme-cltr 2.0 and other-cltr 0.3"]
    with pytest.raises(UnknownNameError) as caught:
        found.find("reward", "acme")
    assert str(caught.value) == (
        "reward 'acme' comes from both acme-cltr 2.0 and other-cltr 0.3; "
        "uninstall one, or set CLTR_PLUGINS=acme-cltr"
    )
    assert found.find("reward", "naive").name == "naive"


def test_what_the_clash_advises_helps(site, monkeypatch):
    site.install("acme-cltr", REWARD.format(name="acme"))
    site.install("other-cltr", REWARD.format(name="acme"), version="0.3")
    monkeypatch.setenv("CLTR_PLUGINS", "acme-cltr")
    assert registry().find("reward", "acme").__module__ == "acme_cltr"


def test_a_stranger_cannot_take_a_name_of_the_core_in_silence(site):
    site.install("acme-cltr", REWARD.format(name="naive"))
    with pytest.raises(UnknownNameError, match=f"comes from both {CORE} and acme-cltr 2"):
        registry().find("reward", "naive")


@pytest.mark.parametrize("restriction", ["", "cltr", "no-such-plugin"])
def test_the_restriction_leaves_the_core(site, monkeypatch, restriction):
    site.install("acme-cltr", REWARD.format(name="acme"))
    monkeypatch.setenv("CLTR_PLUGINS", restriction)
    assert registry().names("reward") == ["labels", "naive"]


def test_the_restriction_takes_entry_points_and_spaces(site, monkeypatch):
    site.install("acme-cltr", REWARD.format(name="acme"))
    site.install("other-cltr", REWARD.format(name="other"))
    monkeypatch.setenv("CLTR_PLUGINS", " acme-cltr , other-cltr")
    assert registry().names("reward") == ["acme", "labels", "naive", "other"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("x = 1", "it implements no hook of cltr.hookspecs; mark functions with hookimpl"),
    ],
)
def test_a_plugin_that_breaks_at_import_is_one_line(site, code, reason):
    site.install("acme-cltr", code)
    assert one_failure() == f"acme-cltr 2.0: {reason}"
    assert registry().warnings() == [f"plugin acme-cltr 2.0 failed: {reason}"]


def test_code_that_is_no_python_is_one_line(site):
    site.install("acme-cltr", "def broken(:")
    assert one_failure().startswith(
        "acme-cltr 2.0: SyntaxError: invalid syntax (acme_cltr.py, line 1)"
    )


def test_a_plugin_without_its_module_is_one_line(site):
    site.install("acme-cltr", "")
    (site.folder / "acme_cltr.py").unlink()
    assert one_failure() == "acme-cltr 2.0: ModuleNotFoundError: No module named 'acme_cltr'"


def test_a_long_complaint_is_cut(site):
    site.install("acme-cltr", "raise ValueError('word ' * 1000)")
    assert len(one_failure()) < 600


HOOK = """
from cltr import RewardFunction, hookimpl

class Mine(RewardFunction):
    name = "mine"
    def mu(self, data, *, propensity_clip=0.0):
        return data.statistics.click_rate

@hookimpl
"""


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (
            "def cltr_reward(): return [Mine]",
            f"there is no hook 'cltr_reward'; the hooks are {HOOKS}. Did you mean 'cltr_rewards'?",
        ),
        (
            "def cltr_rewards(): pass",
            "cltr_rewards returned None; it must return a list of classes",
        ),
        (
            "def cltr_rewards(): return Mine",
            "cltr_rewards returned <class 'acme_cltr.Mine'>; it must return a list of classes",
        ),
        (
            "def cltr_rewards(): return ['mine']",
            "cltr_rewards returned 'mine', which is no RewardFunction class",
        ),
        (
            "def cltr_estimators(): return [Mine]",
            "cltr_estimators returned <class 'acme_cltr.Mine'>, which is no Estimator class",
        ),
        ("def cltr_rewards(): return 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_wrong_hook_is_one_line(site, hook, reason):
    site.install("acme-cltr", HOOK + hook)
    assert one_failure() == f"acme-cltr 2.0: {reason}"


def test_a_hook_that_asks_for_arguments_is_told_which(site):
    site.install("acme-cltr", HOOK + "def cltr_rewards(config): return [Mine]")
    failure = one_failure()
    assert failure.startswith("acme-cltr 2.0: PluginValidationError: Plugin 'acme-cltr' for hook")
    assert "{'config'}" in failure


CLASS = """
from cltr import RewardFunction, hookimpl

class Base(RewardFunction):
    pass

{body}

@hookimpl
def cltr_rewards():
    return [Mine]
"""
CONTRACT = (
    "the contract is mu(self, data: cltr.types.ClickData, *, propensity_clip: float = 0.0) -> "
    "numpy.ndarray[tuple[typing.Any, ...], numpy.dtype[numpy.float64]]"
)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "class Mine(RewardFunction):\n    name = 'mine'\n    def mu(self, data): return 0",
            f"Mine.mu(self, data) lacks 'propensity_clip'; {CONTRACT}",
        ),
        (
            "class Mine(RewardFunction):\n    name = 'mine'\n"
            "    def mu(self, data, clicks, propensity_clip=0): return 0",
            f"Mine.mu(self, data, clicks, propensity_clip=0) asks for 'clicks'; {CONTRACT}",
        ),
        (
            "class Base(RewardFunction):\n    def mu(self, data): return 0\n"
            "class Mine(Base):\n    name = 'mine'",
            f"Mine.mu(self, data) lacks 'propensity_clip'; {CONTRACT}",
        ),
        (
            "class Mine(RewardFunction):\n    def mu(self, data, *, propensity_clip=0): return 0",
            "Mine has no name; give it one: name = 'my-reward-function'",
        ),
        (
            "class Mine(RewardFunction):\n    name = 'mine'",
            "Mine does not implement mu",
        ),
    ],
)
def test_a_class_that_does_not_keep_the_contract_is_one_line(site, body, reason):
    site.install("acme-cltr", CLASS.format(body=body))
    assert one_failure() == f"acme-cltr 2.0: {reason}"


def test_parameters_in_another_order_are_refused(site):
    site.install(
        "acme-cltr",
        """
        from cltr import Estimator, hookimpl

        class Mine(Estimator):
            name = "mine"

            def gain(self, logging_weights, weights, rewards):
                return weights * rewards

        @hookimpl
        def cltr_estimators():
            return [Mine]
        """,
    )
    assert (
        "Mine.gain(self, logging_weights, weights, rewards) has its parameters in another order"
        in (one_failure())
    )


@pytest.mark.parametrize(
    "signature",
    [
        "self, data, **anything",
        "self, *data, propensity_clip=0",
        "self, data, propensity_clip=0, more=1",
        "*everything, **anything",
    ],
)
def test_a_method_may_accept_more_than_it_must(site, signature):
    body = f"class Mine(RewardFunction):\n    name = 'mine'\n    def mu({signature}): return 0"
    site.install("acme-cltr", CLASS.format(body=body))
    assert registry().find("reward", "mine").name == "mine"


def test_one_broken_plugin_does_not_take_another_with_it(site):
    site.install("acme-cltr", "raise SystemExit(3)")
    site.install("other-cltr", REWARD.format(name="other"))
    assert one_failure() == "acme-cltr 2.0: SystemExit: 3"
    assert registry().find("reward", "other").name == "other"


def test_a_plain_file_is_a_plugin(tmp_path, fresh_registry):
    path = tmp_path / "my_clicks.py"
    path.write_text(REWARD.format(name="from-file"))
    load_file(path)
    load_file(path)  # once more changes nothing
    assert registry().find("reward", "from-file").name == "from-file"
    ((_, provider),) = registry().components["reward"]["from-file"]
    assert str(provider) == str(path)


def test_a_plain_file_has_its_content_for_a_version(tmp_path, fresh_registry):
    path = tmp_path / "mine.py"
    path.write_text(REWARD.format(name="mine"))
    load_file(path)
    before = versions()
    assert before.keys() >= {"cltr", "cltr-dr", "numba", "numpy", "torch", "mine.py"}
    path.write_text(path.read_text() + "# changed\n")
    assert versions()["mine.py"] != before["mine.py"]


def test_a_plain_file_may_postpone_its_annotations(tmp_path, fresh_registry):
    path = tmp_path / "postponed.py"
    path.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from cltr import Options, RewardFunction, hookimpl\n"
        "from pydantic import PositiveInt\n"
        "@dataclass\nclass Part:\n    size: int\n"
        "class Mine(RewardFunction):\n"
        "    name = 'postponed'\n"
        "    class Options(Options):\n        epochs: PositiveInt = 3\n"
        "    def mu(self, data, *, propensity_clip=0.0): return data\n"
        "@hookimpl\ndef cltr_rewards(): return [Mine]\n"
    )
    load_file(path)
    assert registry().find("reward", "postponed")(epochs="4").options.epochs == 4


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("broken.py", "1 / 0", "ZeroDivisionError: division by zero"),
        ("leaves.py", "raise SystemExit", "SystemExit"),
        ("empty.py", "", "it implements no hook of cltr.hookspecs; mark functions with hookimpl"),
        ("notes.txt", "hello", "it is no Python file; its name must end in .py"),
        ("absent.py", None, "no such plugin file"),
    ],
)
def test_a_plain_file_that_breaks_is_an_error(tmp_path, fresh_registry, name, code, reason):
    path = tmp_path / name
    if code is not None:
        path.write_text(code)
    with pytest.raises(PluginError) as caught:
        load_file(path)
    assert str(caught.value) == f"{path}: {reason}"
    assert not [failure for failure in registry().failures if "cltr" not in str(failure.provider)]


def test_methods_of_every_contract_that_a_class_keeps_are_checked():
    from cltr.clicks.models import PositionBased
    from cltr.interfaces import ClickModel
    from cltr.plugins.contracts import class_problem

    class Narrow(PositionBased):
        def fit(self, counts):
            raise NotImplementedError

    assert "Narrow.fit(self, counts) lacks 'dataset'" in class_problem(Narrow, ClickModel)
    assert class_problem(PositionBased, ClickModel) == ""
