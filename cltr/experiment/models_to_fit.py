"""Which click models are fitted, with which options."""

from collections.abc import Mapping, Sequence
from typing import Any

from cltr.errors import UsageError
from cltr.experiment.components import build
from cltr.interfaces import ClickModel, Fittable
from cltr.options import Choice
from cltr.plugins import registry

ALL = "click-model"
"""The role in ``-o click-model.key=value``: an option of every model that is fitted."""


def choose_models(
    names: Sequence[str], options: Mapping[str, Any] | None = None, *, sessions: bool
) -> list[ClickModel]:
    """The models by name, with their options.

    Args:
        names: of click models; all that can be fitted if there are none.
        options: values by ``name.key`` for one of them, by ``click-model.key`` for all.
        sessions: whether the log has interactions, which some models need.
    """
    chosen = list(names) or [name for name in registry().names(ALL) if _fits(name, sessions)]
    values: dict[str, dict[str, Any]] = {name: {} for name in chosen}
    for path, value in (options or {}).items():
        owner, dot, key = path.rpartition(".")
        if not (dot and key):
            raise UsageError(f"-o {path}: expected name.key, such as sdbn.method")
        if owner not in (ALL, *chosen):
            raise UsageError(
                f"-o {path}: no click model '{owner}' is fitted; there are: "
                f"{', '.join(chosen)}, or {ALL} for all of them"
            )
        for name in chosen if owner == ALL else [owner]:
            values[name][key.replace("-", "_")] = value
    return [build(ALL, Choice(name=name, **values[name]), owner=name) for name in chosen]


def _fits(name: str, sessions: bool) -> bool:
    model: type[ClickModel] = registry().find(ALL, name)
    if not issubclass(model, Fittable):
        return False
    return sessions or (model().independent and not model.needs_sessions)
