"""Find plugins, load a component by name, say who provides it.

Entry points are loaded one by one under ``try``: a broken plugin is one line, never a crash.
"""

import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from cltr import hookspecs, interfaces
from cltr.errors import PluginError, UnknownNameError
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


def _core_first(entry: EntryPoint) -> tuple[bool, str, str]:
    provider = _provider(entry)
    return provider.distribution != "cltr", provider.distribution, entry.name


def _provider(entry: EntryPoint) -> Provider:
    if entry.dist is None:
        return Provider(entry.value, "", entry.name)
    return Provider(entry.dist.name, entry.dist.version, entry.name)


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"cltr_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _components_of(plugin: Any, provider: Provider) -> Iterable[tuple[str, type[Any]]]:
    """Register one plugin with a manager of its own, call its hooks, check what they return."""
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name=provider.entry_point)
    manager.check_pending()
    if not manager.get_hookcallers(plugin):
        raise PluginError("it implements no hook of cltr.hookspecs; mark functions with hookimpl")
    for role, (hook, contract) in ROLES.items():
        for returned in getattr(manager.hook, hook)():
            for component in returned:
                _check(component, hook, contract)
                yield role, component


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
    for method in component.__dict__:
        expected = getattr(contract, method, None)
        if inspect.isfunction(expected) and not method.startswith("__"):
            _check_signature(component, method, expected)


def _check_signature(component: type[Any], method: str, expected: Any) -> None:
    """A method must accept what the contract passes to it."""
    theirs = inspect.signature(getattr(component, method))
    if any(p.kind is p.VAR_KEYWORD for p in theirs.parameters.values()):
        return
    for name, parameter in inspect.signature(expected).parameters.items():
        positional = any(p.kind is p.VAR_POSITIONAL for p in theirs.parameters.values())
        if name not in theirs.parameters and not (
            positional and parameter.kind is not parameter.KEYWORD_ONLY
        ):
            raise PluginError(
                f"{component.__name__}.{method}{theirs} lacks '{name}'; "
                f"the contract is {method}{inspect.signature(expected)}"
            )


def _one_line(error: BaseException) -> str:
    first = (str(error).strip().splitlines() or [""])[0]
    return first if isinstance(error, PluginError) else f"{type(error).__name__}: {first}"
