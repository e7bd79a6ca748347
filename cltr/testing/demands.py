"""What all checks share: a demand, the class itself, and that inputs stay as they are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cltr.interfaces import Component
from cltr.plugins import ROLES
from cltr.plugins.contracts import class_problem


def demand(condition: bool, message: str) -> None:
    """Raise what is wrong, unless it is right."""
    if not condition:
        raise AssertionError(message)


def check_component(component: Component) -> None:
    """The class, as the loader checks it; and what ``cltr plugins`` shows of it."""
    contract = next(known for _, known in ROLES.values() if isinstance(component, known))
    problem = class_problem(type(component), contract)
    demand(not problem, problem)
    name = component.name
    demand(bool(type(component).__doc__), f"'{name}' has no docstring; 'cltr plugins' shows it")
    for key, field in component.Options.model_fields.items():
        demand(bool(field.description), f"option '{name}.{key}' has no description")
    demand(component.Options.model_config.get("extra") == "forbid", f"'{name}' takes any option")


def demand_floats(values: Any, shape: tuple[int, ...], what: str) -> None:
    """So many finite numbers of type float64."""
    demand(isinstance(values, np.ndarray), f"{what}: {type(values).__name__}, not an array")
    demand(values.shape == shape, f"{what}: shape {values.shape}, not {shape}")
    demand(values.dtype == np.float64, f"{what}: {values.dtype}, not float64")
    demand(bool(np.isfinite(values).all()), f"{what}: NaN or infinite values")


@contextmanager
def unchanged(**arrays: Any) -> Iterator[None]:
    """Inputs are for reading: what is done inside must not change these arrays."""
    before = {name: np.array(values) for name, values in arrays.items()}
    yield
    for name, values in before.items():
        same = np.array_equal(values, arrays[name], equal_nan=values.dtype.kind == "f")
        demand(same, f"it changes {name} in place; work on a copy")
