"""Call the hooks of one plugin and check what they return."""

import inspect
from collections.abc import Iterable
from typing import Any

import pluggy

from cltr import hookspecs
from cltr.errors import PluginError
from cltr.interfaces import API_VERSION
from cltr.options import did_you_mean
from cltr.plugins.catalogue import ROLES, Found
from cltr.plugins.compatibility import check_api
from cltr.plugins.contracts import class_problem


def components_of(plugin: Any, *, name: str) -> Found:
    """Register one plugin with a manager of its own, call its hooks, check what they return.

    Args:
        plugin: a module, or any object with functions marked by ``hookimpl``.
        name: what pluggy calls it in its errors.
    """
    check_api(plugin)
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name=name)
    implemented = {caller.name: caller for caller in manager.get_hookcallers(plugin) or ()}
    if not implemented:
        raise PluginError("it implements no hook of cltr.hookspecs; mark functions with hookimpl")
    notes = [_unknown_hook(caller) for caller in implemented.values() if not caller.has_spec()]
    found: list[tuple[str, type[Any]]] = []
    wrong: list[str] = []
    for role, (hook, contract) in ROLES.items():
        for component in _returned_by(implemented[hook]) if hook in implemented else ():
            problem = _problem(component, implemented[hook], contract)
            if problem:
                wrong.append(problem)
            else:
                found.append((role, component))
    if wrong and not found:
        raise PluginError(wrong[0])
    return Found(found, notes + [f"{problem}; this class is left out" for problem in wrong])


def _unknown_hook(caller: Any) -> str:
    """A line for an unknown hook that its plugin calls optional; any other one is a mistake."""
    if all(implementation.optionalhook for implementation in caller.get_hookimpls()):
        return f"its hook '{caller.name}' is not part of API {API_VERSION} and is ignored"
    hooks = [hook for hook, _ in ROLES.values()]
    raise PluginError(
        f"there is no hook '{caller.name}'; the hooks are {', '.join(hooks)}"
        + did_you_mean(caller.name, hooks)
    )


def _returned_by(hook: Any) -> Iterable[Any]:
    returned = (hook() or [None])[0]  # pluggy leaves out None
    if not isinstance(returned, list | tuple):
        raise PluginError(f"{hook.name} returned {returned!r}; it must return a list of classes")
    return returned


def _problem(component: Any, hook: Any, contract: type[Any]) -> str:
    """What keeps a class from being used, if anything."""
    if not (inspect.isclass(component) and issubclass(component, contract)):
        return f"{hook.name} returned {component!r}, which is no {contract.__name__} class"
    return class_problem(component, contract) or ""
