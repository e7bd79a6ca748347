"""Which plugins a run or a study needs, and which of them are missing here."""

from collections.abc import Iterable, Mapping

from cltr.interfaces import Component
from cltr.plugins.compatibility import CORE
from cltr.plugins.discovery import LIBRARIES, identity, registry


def plugins_of(components: Iterable[Component]) -> dict[str, str]:
    """The plugins that provide some components: packages by version, files by content.

    The core itself is not named.
    """
    known = registry()
    providers = [known.provider_of(type(component)) for component in components]
    needed = [each for each in providers if each is not None and each.distribution != CORE]
    return dict(sorted(identity(provider) for provider in needed))


def missing_plugins(needed: Mapping[str, str]) -> str:
    """How to get the plugins that are needed and not here; empty if all are.

    Args:
        needed: as :func:`plugins_of` gives them.
    """
    here = {identity(provider)[0] for provider in registry().providers}
    missing = {name: kept for name, kept in needed.items() if name not in {*here, *LIBRARIES}}
    ways = [
        f"--plugin {name}" if name.endswith(".py") else f"pip install {name}=={version}"
        for name, version in missing.items()
    ]
    return f"; it needs {', '.join(missing)}, not loaded here: {'; '.join(ways)}" if ways else ""


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names of plugin files whose content is another one.

    Args:
        before: as :func:`plugins_of` gave them.
        now: as it gives them.

    Example:
        >>> changed_files({"mine.py": "ab12", "cltr-dr": "0.1"}, {"mine.py": "cd34"})
        ['mine.py']
    """
    return [
        name
        for name, kept in before.items()
        if name.endswith(".py") and now.get(name, kept) != kept
    ]
