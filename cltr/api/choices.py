"""Keyword arguments as values of a run file: names, components and options."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from cltr.api.fit_report import FittedModel
from cltr.api.sources import FileName
from cltr.errors import UsageError
from cltr.experiment.components import FITTED
from cltr.experiment.config import CURRENT, TABLES, RunConfig, nest_options, resolve, table_of
from cltr.interfaces import ClickModel, Component
from cltr.plugins import ROLES, register_class

CHOICES = frozenset(RunConfig.model_fields) - {"provenance", "version"}
"""Keywords that are keys of a run file."""


def configure(
    given: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    config: FileName | None = None,
) -> RunConfig:
    """Return the checked configuration of a run.

    Args:
        given: values by key of the run file; None means not given.
        options: options of components, by ``role.key``.
        config: a run file with values for everything that is not given.
    """
    path = None if config is None else Path(config)
    version = {} if path else {"version": CURRENT}  # a file without one has the defaults of 0.1
    return resolve(version | gather(given, options, path), source=str(path) if path else "")


def gather(
    given: Mapping[str, Any], options: Mapping[str, Any] | None, config: Path | None
) -> dict[str, Any]:
    """Merge a run file, keywords and options; later ones replace earlier ones."""
    values = RunConfig.load(config) if config else {}
    for key, value in given.items():
        if value is None:
            continue
        if key in TABLES:
            values[key] = _chosen(key, value, table_of(values, key))
        else:
            values[key] = str(value) if isinstance(value, PathLike) else value
    for table, chosen in nest_options(options or {}).items():
        values[table] = _default_name(table, values) | table_of(values, table) | chosen
    return values


def chosen_component(key: str, value: Any, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """One component and its options, where a verb has no use for others; empty if not asked for."""
    values = gather({key: value}, options, None)
    other = [table.replace("_", "-") for table in values if table != key]
    if other:
        raise UsageError(
            f"-o {other[0]}: only options of the {key.replace('_', '-')} can be set here"
        )
    found: dict[str, Any] = values.get(key, {})
    return found


def _chosen(key: str, value: Any, before: dict[str, Any]) -> dict[str, Any]:
    """A component by name or as an object, as a table of the run file."""
    if isinstance(value, Component):
        return named(_role(key), value)
    if isinstance(value, FittedModel):
        return {"name": f"{FITTED}{value.path}"}
    if not isinstance(value, str):
        raise UsageError(
            f"{key} is {value!r}: give the name of a component, or a component such as "
            "cltr.PRPO(clip=0.5)"
        )
    return before if before.get("name") == value else {"name": value}


def _role(key: str) -> str:
    return "click-model" if key in ("click_model", "users") else key


def named(role: str, component: Component) -> dict[str, Any]:
    """Return the name and options of a component; register it if it is not registered."""
    contract = ROLES[role][1]
    if not isinstance(component, contract):
        raise UsageError(f"{component!r} is no {role}: it is no {contract.__name__}")
    if isinstance(component, ClickModel) and component.fitted is not None:
        raise UsageError(
            f"click model '{component.name}' is fitted; name its file, as {FITTED}models/"
            f"{component.name}.h5"
        )
    register_class(role, type(component))
    return {"name": component.name, **component.options.model_dump(mode="json")}


def _default_name(table: str, values: dict[str, Any]) -> dict[str, Any]:
    """The table's default component, so that an option alone does not need a name beside it."""
    if table == "users":  # as assumed, unless told otherwise
        assumed = RunConfig.model_fields["click_model"].default.name
        return {"name": table_of(values, "click_model").get("name", assumed)}
    default = RunConfig.model_fields[table].default
    name = getattr(default, "name", None)
    return {"name": name} if name else {}
