"""Whether a plugin and this version of the core fit together."""

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from cltr.errors import PluginError
from cltr.interfaces import API_VERSION

CORE = "cltr"


def check_requirements(requirements: Iterable[str] | None, *, core_version: str) -> None:
    """Refuse a package whose metadata ask for another version of the core.

    Args:
        requirements: its ``Requires-Dist`` lines.
        core_version: the one that is installed.
    """
    for line in requirements or ():
        if _name(line) != CORE or line.strip() == CORE:
            continue  # most name the core without a version: no need to parse that
        from packaging.requirements import InvalidRequirement, Requirement

        try:
            needed = Requirement(line)
        except InvalidRequirement:
            continue  # pip would not have installed it for this
        if needed.marker and not needed.marker.evaluate():
            continue
        if not needed.specifier.contains(core_version, prereleases=True):
            raise PluginError(
                f"it needs {CORE}{needed.specifier}, but {CORE} {core_version} is installed; "
                f"install a {CORE} that fits, or another version of this plugin"
            )


def absent_plugins() -> list[str]:
    """Plugin packages that come with the core and are not installed, as after ``--no-deps``."""
    try:
        needed = requires(CORE) or []
    except PackageNotFoundError:
        return []
    names = {_name(line) for line in needed if "extra ==" not in line}
    return sorted(name for name in names if name.startswith(f"{CORE}-") and not _installed(name))


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _name(requirement: str) -> str:
    """The package that a ``Requires-Dist`` line is about."""
    found = re.match(r"[\w.-]*", requirement.strip())
    return found[0].lower() if found else ""


def check_api(plugin: Any) -> None:
    """Refuse a plugin that asks for contracts that this core does not have.

    A plugin that says ``requires_api = "1.2"`` works with API 1.2 and every later 1.x.
    """
    needed = getattr(plugin, "requires_api", None)
    if needed is None:
        return
    try:
        major, minor = (int(part) for part in needed.split("."))
    except (AttributeError, ValueError):
        raise PluginError(
            f"requires_api is {needed!r}; it must be a version such as '{API_VERSION}'"
        ) from None
    our_major, our_minor = (int(part) for part in API_VERSION.split("."))
    if major != our_major or minor > our_minor:
        older = (major, minor) > (our_major, our_minor)
        advice = "upgrade cltr" if older else "upgrade the plugin"
        raise PluginError(
            f"it needs version {needed} of the plugin API, but this cltr has {API_VERSION}; "
            f"{advice}"
        )
