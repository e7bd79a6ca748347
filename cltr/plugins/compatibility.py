"""Whether a plugin and this version of the core fit together."""

from collections.abc import Iterable
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
        if not line.lower().startswith(CORE) or line.strip() == CORE:
            continue  # most name the core without a version: no need to parse that
        from packaging.requirements import InvalidRequirement, Requirement

        try:
            needed = Requirement(line)
        except InvalidRequirement:
            continue  # pip would not have installed it for this
        if needed.name.lower() != CORE or (needed.marker and not needed.marker.evaluate()):
            continue
        if not needed.specifier.contains(core_version, prereleases=True):
            raise PluginError(
                f"it needs {CORE}{needed.specifier}, but {CORE} {core_version} is installed; "
                f"install a {CORE} that fits, or another version of this plugin"
            )


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
