"""The paper's experiments as studies: checked-in files, a preset and a figure each."""

import json
import tomllib
from collections.abc import Iterable
from importlib import resources
from typing import Any

from cltr.studies.methods import parse_methods
from cltr.studies.study import Study, merged

FIGURES = ("figure-2", "figure-3", "figure-4", "ingredients")
"""Studies that ship with the package; Figure 1 is a formula (``clipping_figure``)."""
PRESETS = ("paper", "cltr")


def figure_study(
    figure: str,
    *,
    preset: str,
    data: str = "demo",
    quick: bool = False,
    changes: dict[str, Any] | None = None,
    options: dict[str, dict[str, Any]] | None = None,
) -> Study:
    """The study of a figure, on any data set.

    Args:
        figure: one of :data:`FIGURES`.
        preset: one of :data:`PRESETS`.
        data: a data set file, or ``demo``.
        quick: a coarser grid and fewer seeds.
        changes: study values on top, such as ``{"seeds": 5}``.
        options: run file tables on top of the preset's, such as ``{"production": {"seed": 2}}``.
    """
    values = _read(f"{figure}.toml")
    base = _read(f"{preset}.toml") | {"data": data}
    if "curves" in values:  # a figure of the paper; elsewhere the methods say it all
        values["title"] = f"{values['title']} ({preset} preset)"
    return _parse(values, base, quick=quick, changes=changes, options=options)


PANEL = "panel"


def panel_study(
    *,
    data: str = "demo",
    quick: bool = False,
    changes: dict[str, Any] | None = None,
    options: dict[str, dict[str, Any]] | None = None,
    methods: Iterable[str] = (),
) -> Study:
    """The safety panel, on any data set.

    Args:
        data: a data set file, or ``demo``.
        quick: fewer interactions and seeds.
        changes: study values on top, such as ``{"seeds": 5}``.
        options: run file tables that all methods share.
        methods: further ones, as ``cltr compare`` takes them.
    """
    values = _read(f"{PANEL}.toml")
    values["methods"] |= parse_methods(methods, taken=values["methods"])
    return _parse(values, {"data": data}, quick=quick, changes=changes, options=options)


def _parse(
    values: dict[str, Any],
    base: dict[str, Any],
    *,
    quick: bool,
    changes: dict[str, Any] | None,
    options: dict[str, dict[str, Any]] | None,
) -> Study:
    """A study from its file's values, on top of a base."""
    fewer = values.pop("quick", {})
    base = base | values.pop("base", {})
    for role, given in (options or {}).items():
        base[role] = merged(base.get(role), given)
    return Study.parse(
        values | (fewer if quick else {}) | (changes or {}) | {"base": base}, owner=""
    )


def _read(name: str) -> dict[str, Any]:
    text = resources.files("cltr.studies").joinpath("definitions", name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def published_curves(figure: str, data_name: str) -> dict[str, tuple[list[float], list[float]]]:
    """The paper's curves by method, where the data set is one of the paper's; else none.

    Example:
        >>> n, values = published_curves("figure-2", "MSLR-WEB30K")["DR"]
        >>> int(n[0]), values[0]
        (100, 0.16668)
        >>> published_curves("figure-2", "demo")
        {}
    """
    text = resources.files("cltr.studies").joinpath("definitions", "paper-curves.json")
    known = json.loads(text.read_text(encoding="utf-8"))
    by_data = known["figures"].get(figure, {})
    name = next((name for name in by_data if name in data_name.lower()), None)
    if name is None:
        return {}
    n = known["interactions"]
    return {
        method: (n, values * len(n) if len(values) == 1 else values)
        for method, values in by_data[name].items()
    }
