"""Write the reference pages that are made from code: ``python docs/reference_pages.py``.

``reference/components.md`` lists every component with its options, ``reference/run-file.md`` every
key of a run file, ``reference/api.md`` every public name of the package, and
``reference/contracts.md`` the methods of every kind of plugin. A test fails when one of them is not
current.
"""

import inspect
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

import cltr
from cltr.experiment.config import RunConfig
from cltr.options import Choice, Options
from cltr.plugins import registry

sys.path.insert(0, str(Path(__file__).parent))
from docstrings import attributes, cell, described, methods, plain, signature, summary

FOLDER = Path(__file__).parent / "reference"
OURS = {"cltr"} | {path.parent.name for path in FOLDER.parents[1].glob("plugins/*/pyproject.toml")}
"""Packages of this repository; a stranger's plugin that happens to be installed is left out."""
HOWTO = "`python docs/reference_pages.py` makes this page from the code.\n"
VERBS = ("train", "simulate", "ingest", "check", "fit", "evaluate", "gate", "explore", "rank")
VERBS += ("report", "compare", "load")
"""Functions that commands are made of, in the order of their use."""


def components_page() -> str:
    """Every component by role, with its package and its options."""
    lines = ["# Components and their options", ""]
    lines += [
        "After reading this page you know all components and their options. Choose a component by",
        "its name, such as `--estimator prpo`, and set its options by",
        "`-o ROLE.KEY=VALUE`, such as `-o estimator.clip=0.1`. `cltr plugins` lists what is",
        "installed, also other people's components. In Python, classes take the same options:",
        "`cltr.PRPO(clip=0.1)`.",
        "",
        HOWTO,
    ]
    for role, known in registry().components.items():
        lines += [f"## {role}", ""]
        for name, entries in sorted(known.items()):
            for component, provider in entries:
                if provider.distribution in OURS:
                    lines += _component(name, component, provider.distribution)
    return "\n".join(lines).rstrip() + "\n"


def _component(name: str, component: type[Any], package: str) -> Iterator[str]:
    yield from (f"### {name}", "", f"{plain(summary(component))} Package `{package}`.", "")
    options = getattr(component, "Options", None)
    if options is not None and options.model_fields:
        yield from _option_table(options.model_fields.items())


def _option_table(fields: Iterable[tuple[str, FieldInfo]]) -> Iterator[str]:
    yield from ("| option | default | meaning |", "|---|---|---|")
    for key, field in fields:
        yield f"| `{key}` | `{_default(field)}` | {cell(field.description or '')} |"
    yield ""


def run_file_page() -> str:
    """Every key of a run file."""
    lines = ["# The run file", ""]
    lines += [
        "After reading this page you know every key of a run file. A run folder has `run.toml`:",
        "every choice of the run, with its seed and versions.",
        "`cltr train --config run.toml` repeats the run. A file may leave keys out. Then `version`",
        'says which defaults they have: new runs write `"0.2"`, and a file without a version has',
        "the defaults of 0.1.",
        "",
        HOWTO,
        "## Keys",
        "",
    ]
    fields = RunConfig.model_fields
    plain = {key: field for key, field in fields.items() if not _is_table(field)}
    lines += _option_table(plain.items())
    lines += ["## Tables", ""]
    for key, field in fields.items():
        if key == "provenance" or key in plain:
            continue
        lines += [f"### [{key}]", ""]
        default = field.default
        if isinstance(default, Choice) or default is None:
            chosen = f" The default name is `{default.name}`." if default else ""
            role = "click-model" if key == "users" else key.replace("_", "-")
            lines.append(
                f"`name` chooses a component, and the other keys are its options: see "
                f"[{role}](components.md#{role}).{chosen}"
            )
            lines.append("")
        else:
            lines += _option_table(type(default).model_fields.items())
    return "\n".join(lines).rstrip() + "\n"


def _is_table(field: FieldInfo) -> bool:
    return (field.default is None and "Choice" in str(field.annotation)) or isinstance(
        field.default, Options
    )


def api_page() -> str:
    """Every public name of the package."""
    lines = ["# Python API", ""]
    lines += [
        "After reading this page you know every function and class that `import cltr` gives. The",
        "[guide](../python.md) shows them in use.",
        "Most commands are functions here, with the same options and defaults.",
        "[Contracts](contracts.md) has the base classes of plugins.",
        "",
        HOWTO,
    ]
    names = set(cltr.__all__)
    verbs = [name for name in VERBS if name in names]
    results = [name for name in cltr.__all__ if _module(name).startswith("cltr.api")]
    contracts = [name for name in cltr.__all__ if _module(name) in CONTRACTS]
    groups = {
        "Functions": verbs + sorted(_functions() - set(verbs)),
        "Results and tools": [name for name in results if not _is_function(name)],
    }
    names -= set(contracts)
    rest = sorted(names - {name for group in groups.values() for name in group})
    groups["Data and components"] = rest
    for title, group in groups.items():
        lines += [f"## {title}", ""]
        for name in group:
            lines += _entry(name, getattr(cltr, name))
    return "\n".join(lines).rstrip() + "\n"


CONTRACTS = ("cltr.interfaces", "cltr.extensions", "cltr.options", "cltr.hookspecs")
CONTRACTS += (
    "cltr.contracts.click_models",
    "cltr.contracts.component",
    "cltr.contracts.estimators",
)
INTERFACES, EXTENSIONS, DOCUMENTS = "cltr.interfaces", "cltr.extensions", "cltr.documents"
KINDS: dict[str, list[tuple[str, str]]] = {
    "Every kind": [(INTERFACES, "Component"), ("cltr.options", "Options")],
    "Click model": [(INTERFACES, name) for name in ("ClickModel", "Fittable")],
    "Reward": [(INTERFACES, "RewardFunction")],
    "Estimator": [(INTERFACES, name) for name in ("Estimator", "Penalised", "Enforced", "PerQuery")]
    + [(INTERFACES, name) for name in ("EstimatorContext", "QueryTask")],
    "Ranker": [(INTERFACES, name) for name in ("Ranker", "Policy", "Objective")]
    + [(DOCUMENTS, "Batch")],
    "Scorer": [(INTERFACES, name) for name in ("Scorer", "Model", "Ascent")]
    + [("cltr.training.torch_model", name) for name in ("TorchScorer", "Tensors")]
    + [(DOCUMENTS, name) for name in ("Documents", "ModelSetup")],
    "Log reader": [(INTERFACES, "LogReader")],
    "Metric": [(EXTENSIONS, "Metric")],
    "Exporter": [(EXTENSIONS, name) for name in ("Exporter", "TrainedRanker")],
    "Data layout": [(EXTENSIONS, "DataLayout")],
    "Log question": [(EXTENSIONS, "LogQuestion")],
    "Command": [(EXTENSIONS, "Command")],
}
"""Classes of each kind of plugin, with the module to import them from."""


def contracts_page() -> str:
    """The methods of every kind of plugin."""
    lines = ["# Contracts of plugins", ""]
    lines += [
        "After reading this page you know which methods each kind of plugin must and may have.",
        "`[docs]` is an array with one number per document, `[queries]` one per query. K is the",
        "number of ranks. [Write a plugin](../plugins.md) shows how to start, and",
        "[examples](plugin-examples.md) has one of each kind.",
        "",
        HOWTO,
    ]
    for kind, classes in KINDS.items():
        lines += [f"## {kind}", ""]
        for module, name in classes:
            thing = getattr(import_module(module), name)
            lines += [f"### {name}", "", f"`from {module} import {name}`", ""]
            lines += [*described(thing), *attributes(thing), *methods(thing)]
    return "\n".join(lines).rstrip() + "\n"


def _functions() -> set[str]:
    return {name for name in cltr.__all__ if _is_function(name)}


def _is_function(name: str) -> bool:
    return inspect.isfunction(getattr(cltr, name))


def _module(name: str) -> str:
    return getattr(getattr(cltr, name), "__module__", None) or "cltr.hookspecs"


def _entry(name: str, thing: Any) -> Iterator[str]:
    yield from (f"### cltr.{name}", "")
    if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, BaseModel)):
        yield from ("```text", f"cltr.{name}{signature(thing)}", "```", "")
    yield from described(thing)
    if inspect.isclass(thing):
        yield from _members(thing)


def _own(thing: type) -> dict[str, Any]:
    """What a class has, with what it shares with its siblings; without what all results have."""
    shared = [base for base in thing.__mro__ if base.__module__ == thing.__module__]
    return {name: member for base in reversed(shared) for name, member in vars(base).items()}


def _members(thing: type) -> Iterator[str]:
    rows = [
        (name, summary(member.fget if isinstance(member, property) else member))
        for name, member in _own(thing).items()
        if not name.startswith("_") and (isinstance(member, property) or inspect.isroutine(member))
    ]
    if any(summary for _, summary in rows):
        yield from ("| member | what it is |", "|---|---|")
        yield from (f"| `{name}` | {cell(plain(summary))} |" for name, summary in rows if summary)
        yield ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return "{}"
    value = field.default
    return str(value) if not isinstance(value, str) else value or "''"


PAGES = {
    "components.md": components_page,
    "run-file.md": run_file_page,
    "api.md": api_page,
    "contracts.md": contracts_page,
}


def main() -> None:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
