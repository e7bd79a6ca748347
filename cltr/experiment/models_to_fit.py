"""Which click models are fitted, with which options."""

from collections.abc import Sequence
from typing import Any

from cltr.errors import UsageError
from cltr.experiment.components import build
from cltr.experiment.config import Choice, parse_value
from cltr.interfaces import ClickModel
from cltr.plugins import registry

ALL = "click-model"
"""The role in ``-o click-model.key=value``: an option of every model that is fitted."""


def choose_models(
    names: Sequence[str], assignments: Sequence[str] = (), *, sessions: bool
) -> list[ClickModel]:
    """The models by name, with their options.

    Args:
        names: of click models; all that can be fitted if there are none.
        assignments: ``name.key=value`` for one of them, ``click-model.key=value`` for all.
        sessions: whether the log has interactions, which some models need.
    """
    chosen = list(names) or [name for name in registry().names(ALL) if _fits(name, sessions)]
    options: dict[str, dict[str, Any]] = {name: {} for name in chosen}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        owner, dot, key = path.rpartition(".")
        if not (equals and dot and key):
            raise UsageError(f"-o {assignment}: expected name.key=value, such as sdbn.method=em")
        if owner not in (ALL, *chosen):
            raise UsageError(
                f"-o {assignment}: no click model '{owner}' is fitted; there are: "
                f"{', '.join(chosen)}, or {ALL} for all of them"
            )
        for name in chosen if owner == ALL else [owner]:
            options[name][key.replace("-", "_")] = parse_value(text)
    return [build(ALL, Choice(name=name, **options[name]), owner=name) for name in chosen]


def _fits(name: str, sessions: bool) -> bool:
    model: type[ClickModel] = registry().find(ALL, name)
    if model.fit is ClickModel.fit:
        return False
    one = model()
    return sessions or (one.independent and not one.needs_sessions)
