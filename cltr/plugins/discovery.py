"""Find plugins: installed packages by entry point, plain files by ``--plugin``.

Entry points are loaded one by one under ``try``: a broken plugin is one line, never a crash.
"""

import importlib.util
import os
import sys
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from cltr import hookspecs
from cltr.errors import PluginError
from cltr.files.fingerprints import file_fingerprint
from cltr.interfaces import Component
from cltr.plugins.catalogue import ROLES, Found, Registry
from cltr.plugins.compatibility import CORE, check_requirements
from cltr.plugins.hooks import components_of
from cltr.plugins.origins import Provider
from cltr.plugins.seam import guard

SESSION = "this Python session"
"""Who provides a class that no package and no file registers."""
LIBRARIES = ("numba", "numpy", "torch")
"""Whose own arithmetic is in every number."""


@cache
def registry() -> Registry:
    """All installed plugins; ``CLTR_PLUGINS=a,b`` restricts them (the core is always there)."""
    found = Registry()
    wanted = os.environ.get("CLTR_PLUGINS")
    allowed = None if wanted is None else {word.strip() for word in wanted.split(",")}
    for entry in sorted(entry_points(group=hookspecs.GROUP), key=_core_first):
        provider = _provider(entry)
        names = {provider.distribution, entry.name}
        if provider.distribution == CORE or allowed is None or names & allowed:
            found.add(provider, partial(_load, entry, provider))
        else:
            found.left_out.append(provider)
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
    known.add(provider, lambda: _register(_import_file(path), provider))
    for failure in known.failures:
        if failure.provider == provider:
            known.failures.remove(failure)
            raise PluginError(f"{path}: {failure.reason}")


def register_class(role: str, component: type[Component]) -> None:
    """Register a class that was defined in this process, such as in a notebook.

    A class that was defined again takes the place of the one before.
    """
    known, provider = registry(), Provider(SESSION, "", f"{role} {component.name}")
    entries = known.components[role].get(component.name, [])
    if any(candidate is component for candidate, _ in entries):
        return
    for _, other in entries:
        if other != provider:
            raise PluginError(
                f"{role} '{component.name}' is provided by {other}; give your class another name"
            )
    plugin = SimpleNamespace(**{ROLES[role][0]: hookspecs.hookimpl(lambda: [component])})
    found = _register(plugin, provider)
    known.components[role].pop(component.name, None)
    known.add(provider, lambda: found)


def versions() -> dict[str, str]:
    """What a number depends on beside its options: packages by version, plugin files by content."""
    found = {name: version(name) for name in LIBRARIES}
    return found | dict(identity(provider) for provider in registry().providers)


def identity(provider: Provider) -> tuple[str, str]:
    """A package and its version, or a plugin file and the hash of its content."""
    path = Path(provider.distribution)
    if not provider.version and path.is_file():
        return path.name, file_fingerprint(path)
    return provider.distribution, provider.version


def _core_first(entry: EntryPoint) -> tuple[bool, str, str]:
    provider = _provider(entry)
    return provider.distribution != CORE, provider.distribution, entry.name


def _provider(entry: EntryPoint) -> Provider:
    if entry.dist is None:
        return Provider(entry.value, "", entry.name)
    return Provider(entry.dist.name, entry.dist.version, entry.name)


def _load(entry: EntryPoint, provider: Provider) -> Found:
    if entry.dist is not None:
        check_requirements(entry.dist.requires, core_version=version(CORE))
    return _register(entry.load(), provider)


def _register(plugin: Any, provider: Provider) -> Found:
    """All that a plugin registers, its classes guarded in the plugin's name."""
    found = components_of(plugin, name=provider.entry_point)
    for role, component in found.components:
        guard(component, role, provider)
    return found


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
