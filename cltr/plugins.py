"""Find plugins, load a component by name, say who provides it.

Entry points are loaded one by one under ``try``: a broken plugin is one line, never a crash.
"""

import importlib
import importlib.util
import inspect
import os
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from cltr import hookspecs, interfaces
from cltr.errors import PluginError, UnknownNameError
from cltr.files.fingerprints import file_fingerprint
from cltr.options import did_you_mean

ROLES: dict[str, tuple[str, type[interfaces.Component]]] = {
    "click-model": ("cltr_click_models", interfaces.ClickModel),
    "reward": ("cltr_rewards", interfaces.RewardFunction),
    "estimator": ("cltr_estimators", interfaces.Estimator),
    "ranker": ("cltr_rankers", interfaces.Ranker),
    "scorer": ("cltr_scorers", interfaces.Scorer),
    "log-reader": ("cltr_log_readers", interfaces.LogReader),
}
"""Role: the hook that registers it, and the contract that it keeps."""
LONGEST_REASON = 500
"""Characters of a stranger's error that are shown."""
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


LIBRARIES = ("numba", "numpy", "torch")
"""Whose own arithmetic is in every number."""


@dataclass(frozen=True)
class Provider:
    """A package (or file) that registers components."""

    distribution: str
    version: str
    entry_point: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".strip()


@dataclass(frozen=True)
class Failure:
    """A plugin that could not be loaded, and why, in one line."""

    provider: Provider
    reason: str


@dataclass
class Registry:
    """Components by role and name, with who provides them."""

    components: dict[str, dict[str, list[tuple[type[Any], Provider]]]] = field(
        default_factory=lambda: {role: {} for role in ROLES}
    )
    failures: list[Failure] = field(default_factory=list)
    providers: list[Provider] = field(default_factory=list)

    def add(self, provider: Provider, load: Callable[[], Any]) -> None:
        """Load one plugin and collect all that it registers; a failure is kept, not raised."""
        try:
            found = list(_components_of(load(), provider))
        except (Exception, SystemExit) as error:  # whatever a stranger's module raises
            self.failures.append(Failure(provider, _one_line(error)))
            return
        self.providers.append(provider)
        for role, component in found:
            self.components[role].setdefault(component.name, []).append((component, provider))

    def names(self, role: str) -> list[str]:
        """The names registered for a role, sorted."""
        return sorted(self.components[role])

    def find(self, role: str, name: str) -> type[Any]:
        """The class registered under a name, or an error that says what is there."""
        entries = self.components[role].get(name, [])
        if len(entries) == 1:
            return entries[0][0]
        if entries:
            packages = [str(provider) for _, provider in entries]
            raise UnknownNameError(
                f"{role} '{name}' comes from both {' and '.join(packages)}; "
                f"uninstall one, or set CLTR_PLUGINS={entries[0][1].distribution}"
            )
        installed = ", ".join(
            f"{known} ({providers[0][1]})"
            for known, providers in sorted(self.components[role].items())
        )
        failed = "".join(
            f"; {failure.provider} failed to load: {failure.reason}" for failure in self.failures
        )
        raise UnknownNameError(
            f"no {role} named '{name}'; installed: {installed or 'none'}{failed}"
            + did_you_mean(name, self.components[role])
        )

    def clashes(self) -> list[str]:
        """One line for each name that two packages register."""
        return [
            f"{role} '{name}' comes from both {' and '.join(str(p) for _, p in entries)}"
            for role, known in self.components.items()
            for name, entries in known.items()
            if len(entries) > 1
        ]

    def warnings(self) -> list[str]:
        """One line for each plugin that failed and each name that clashes."""
        failed = [f"plugin {each.provider} failed: {each.reason}" for each in self.failures]
        return failed + self.clashes()


@cache
def registry() -> Registry:
    """All installed plugins; ``CLTR_PLUGINS=a,b`` restricts them (the core is always there)."""
    found = Registry()
    wanted = os.environ.get("CLTR_PLUGINS")
    allowed = None if wanted is None else {word.strip() for word in wanted.split(",")}
    for entry in sorted(entry_points(group=hookspecs.GROUP), key=_core_first):
        provider = _provider(entry)
        names = {provider.distribution, entry.name}
        if provider.distribution == "cltr" or allowed is None or names & allowed:
            found.add(provider, entry.load)
    return found


def load_file(path: Path) -> None:
    """Register the plugin in a plain Python file (``--plugin my_clicks.py``)."""
    path = Path(path)
    if not path.is_file():
        raise PluginError(f"{path}: no such plugin file")
    provider = Provider(str(path), "", path.stem)
    known = registry()
    if provider in known.providers:
        return
    known.add(provider, lambda: _import_file(path))
    for failure in known.failures:
        if failure.provider == provider:
            known.failures.remove(failure)
            raise PluginError(f"{path}: {failure.reason}")


def versions() -> dict[str, str]:
    """What a number depends on beside its options: packages by version, plugin files by content."""
    found = {name: version(name) for name in LIBRARIES}
    for provider in registry().providers:
        path = Path(provider.distribution)
        if not provider.version and path.is_file():
            found[path.name] = file_fingerprint(path)
        else:
            found[provider.distribution] = provider.version
    return found


def _core_first(entry: EntryPoint) -> tuple[bool, str, str]:
    provider = _provider(entry)
    return provider.distribution != "cltr", provider.distribution, entry.name


def _provider(entry: EntryPoint) -> Provider:
    if entry.dist is None:
        return Provider(entry.value, "", entry.name)
    return Provider(entry.dist.name, entry.dist.version, entry.name)


def _import_file(path: Path) -> ModuleType:
    name = f"cltr_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("it is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pydantic look up annotations
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _components_of(plugin: Any, provider: Provider) -> Iterable[tuple[str, type[Any]]]:
    """Register one plugin with a manager of its own, call its hooks, check what they return."""
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name=provider.entry_point)
    _check_hook_names(manager)
    implemented = {caller.name: caller for caller in manager.get_hookcallers(plugin) or ()}
    if not implemented:
        raise PluginError("it implements no hook of cltr.hookspecs; mark functions with hookimpl")
    for role, (hook, contract) in ROLES.items():
        if hook in implemented:
            for component in _returned_by(implemented[hook]):
                _check(component, hook, contract)
                yield role, component


def _check_hook_names(manager: pluggy.PluginManager) -> None:
    hooks = [hook for hook, _ in ROLES.values()]
    for hook in vars(manager.hook):
        if not hook.startswith("_") and hook not in hooks:
            hint = did_you_mean(hook, hooks)
            raise PluginError(f"there is no hook '{hook}'; the hooks are {', '.join(hooks)}{hint}")


def _returned_by(hook: Any) -> Iterable[Any]:
    returned = (hook() or [None])[0]  # pluggy leaves out None
    if not isinstance(returned, list | tuple):
        raise PluginError(f"{hook.name} returned {returned!r}; it must return a list of classes")
    return returned


def _check(component: Any, hook: str, contract: type[Any]) -> None:
    if not (inspect.isclass(component) and issubclass(component, contract)):
        raise PluginError(f"{hook} returned {component!r}, which is no {contract.__name__} class")
    if not isinstance(getattr(component, "name", None), str):
        raise PluginError(
            f"{component.__name__} has no name; give it one: name = 'my-{hook[5:-1]}'"
        )
    if inspect.isabstract(component):
        missing = ", ".join(sorted(getattr(component, "__abstractmethods__", ())))
        raise PluginError(f"{component.__name__} does not implement {missing}")
    for method, expected in inspect.getmembers(contract, inspect.isfunction):
        if not method.startswith("_") and getattr(component, method) is not expected:
            _check_signature(component, method, expected)


def _check_signature(component: type[Any], method: str, expected: Any) -> None:
    """A method must accept what the contract passes to it, and ask for no more."""
    theirs, ours = inspect.signature(getattr(component, method)), inspect.signature(expected)
    problem = _mismatch(dict(theirs.parameters), dict(ours.parameters))
    if problem:
        raise PluginError(
            f"{component.__name__}.{method}{theirs} {problem}; the contract is {method}{ours}"
        )


def _mismatch(theirs: dict[str, inspect.Parameter], ours: dict[str, inspect.Parameter]) -> str:
    kinds = {parameter.kind for parameter in theirs.values()}
    by_position = [name for name, one in ours.items() if one.kind is not one.KEYWORD_ONLY]
    for name in ours:
        rest = _VARIABLE[0] if name in by_position else _VARIABLE[1]
        if name not in theirs and rest not in kinds:
            return f"lacks '{name}'"
    for name, one in theirs.items():
        if name not in ours and one.default is one.empty and one.kind not in _VARIABLE:
            return f"asks for '{name}'"
    if [name for name in theirs if name in by_position] != [n for n in by_position if n in theirs]:
        return "has its parameters in another order"
    return ""


def _one_line(error: BaseException) -> str:
    words = textwrap.shorten(str(error), LONGEST_REASON, placeholder=" ...")
    kind = "" if isinstance(error, PluginError) else type(error).__name__
    return ": ".join(part for part in (kind, words) if part)
