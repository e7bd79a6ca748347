"""Whether a class keeps its contract: one function for the loader and for ``cltr.testing``."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from cltr import extensions, interfaces

NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
"""A component's name: it must be usable in options, lists, paths and study files."""
CONTRACT_PAGES = (interfaces, extensions)
"""Modules that name all contracts, wherever these are defined."""
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def class_problem(component: type[Any], contract: type[interfaces.Component]) -> str:
    """What is wrong with a class, in one line; empty if nothing is."""
    found = _name_problem(component, contract)
    if found:
        return found
    if inspect.isabstract(component):
        missing = ", ".join(sorted(getattr(component, "__abstractmethods__", ())))
        return f"{component.__name__} does not implement {missing}"
    for method, expected in _contract_methods(component):
        if getattr(component, method) is not expected:
            found = _signature_problem(component, method, expected)
            if found:
                return found
    return _constructor_problem(component, contract)


def _contract_methods(component: type[Any]) -> Iterator[tuple[str, Any]]:
    """Methods of all contracts that a class keeps: ``Fittable`` beside ``ClickModel``, say."""
    for contract in component.__mro__:
        if any(getattr(page, contract.__name__, None) is contract for page in CONTRACT_PAGES):
            for method, expected in vars(contract).items():
                if inspect.isfunction(expected) and not method.startswith("_"):
                    yield method, expected


def _name_problem(component: type[Any], contract: type[Any]) -> str:
    name = getattr(component, "name", None)
    if not isinstance(name, str):
        example = re.sub(r"(?<!^)(?=[A-Z])", "-", contract.__name__).lower()
        return f"{component.__name__} has no name; give it one: name = 'my-{example}'"
    if not NAME.fullmatch(name):
        return (
            f"{component.__name__} has the name {name!r}; a name has lower-case letters, digits "
            "and single hyphens, such as 'my-name'"
        )
    return ""


def _signature_problem(component: type[Any], method: str, expected: Any) -> str:
    """A method must accept what the contract passes to it, and ask for no more."""
    theirs, ours = inspect.signature(getattr(component, method)), inspect.signature(expected)
    problem = _mismatch(dict(theirs.parameters), dict(ours.parameters))
    if not problem:
        return ""
    return f"{component.__name__}.{method}{theirs} {problem}; the contract is {method}{ours}"


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


def _constructor_problem(component: type[Any], contract: type[Any]) -> str:
    """A component is built from its options alone, and takes all of them."""
    theirs = inspect.signature(component).parameters
    kinds = {one.kind for one in theirs.values()}
    ours = inspect.signature(contract).parameters
    given = [name for name, one in ours.items() if one.kind not in _VARIABLE]
    for name, one in theirs.items():
        if one.default is one.empty and one.kind not in _VARIABLE:
            return (
                f"{component.__name__}.__init__ asks for '{name}'; a component is built from its "
                "options alone: declare them in a nested class Options"
            )
    lacking = [f"'{name}'" for name in given if name not in theirs]
    lacking += ["'**options'"] * (inspect.Parameter.VAR_KEYWORD not in kinds)
    if lacking:
        return (
            f"{component.__name__}.__init__ lacks {' and '.join(lacking)}; "
            "take it and pass it on to super().__init__"
        )
    return ""
