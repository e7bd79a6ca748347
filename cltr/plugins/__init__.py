"""Plugins: found by entry point or file, checked, and kept with who provides each component."""

from cltr.plugins.catalogue import ROLES, Failure, Registry
from cltr.plugins.discovery import load_file, register_class, registry, versions
from cltr.plugins.origins import Provider
from cltr.plugins.requirements import changed_files, missing_plugins, plugins_of

__all__ = [
    "ROLES",
    "Failure",
    "Provider",
    "Registry",
    "changed_files",
    "load_file",
    "missing_plugins",
    "plugins_of",
    "register_class",
    "registry",
    "versions",
]
