"""Methods of a study as they are typed on the command line."""

from collections.abc import Iterable
from typing import Any

from cltr.errors import UsageError
from cltr.experiment.config import RunConfig, parse_assignments, parse_value
from cltr.studies.study import merged


def parse_method(text: str) -> tuple[str, dict[str, Any]]:
    """A method as typed: ``ESTIMATOR[/REWARD[/RANKER]] [KEY=VALUE ...]``, possibly ``NAME: ...``.

    Example:
        >>> parse_method("prpo/dr estimator.clip=0.5")
        ('prpo/dr estimator.clip=0.5', {'estimator': {'name': 'prpo', 'clip': 0.5}, 'reward': 'dr'})
        >>> parse_method("cold: dr init=random")
        ('cold', {'estimator': {'name': 'dr'}, 'init': 'random'})
    """
    label, colon, rest = text.partition(": ")
    words = (rest if colon else text).split()
    if not words:
        raise UsageError("-m needs a method, such as prpo/dr or 'prpo/dr estimator.clip=0.5'")
    names, options = words[0].split("/"), words[1:]
    if len(names) > 3 or not all(names) or "=" in words[0]:
        raise UsageError(
            f"-m {text}: expected ESTIMATOR/REWARD/RANKER, such as prpo/dr, then KEY=VALUE words"
        )
    values: dict[str, Any] = {"estimator": {"name": names[0]}}
    values |= dict(zip(("reward", "ranker"), names[1:], strict=False))
    for option in options:
        key, equals, value = option.partition("=")
        if "." in key:
            for role, given in parse_assignments([option]).items():
                values[role] = merged(values.get(role), given)
        elif equals and key.replace("-", "_") in RunConfig.model_fields:
            values[key.replace("-", "_")] = parse_value(value)
        else:
            raise UsageError(f"-m {text}: '{option}' is not KEY=VALUE, such as estimator.clip=0.5")
    return label if colon else " ".join(words), values


def parse_methods(texts: Iterable[str], taken: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """Methods as typed, by name; refuses two of the same name.

    Args:
        texts: as for :func:`parse_method`.
        taken: names of methods that are there already.
    """
    named = [parse_method(text) for text in texts]
    names = [*taken, *(name for name, _ in named)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(
            f"two methods are called '{twice}'; name one, as in -m 'other: {twice} ...'"
        )
    return dict(named)
