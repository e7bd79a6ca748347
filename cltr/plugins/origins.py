"""Who provides a component, and whose fault an exception is."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cltr.errors import CltrError, NotFiniteError, PluginError
from cltr.plugins.compatibility import CORE

LONGEST_REASON = 500
"""Characters of a stranger's error that are shown."""
ORIGIN = "_cltr_origin"
"""Attribute of a registered class, or of a model that a scorer built: its :class:`Origin`."""


@dataclass(frozen=True)
class Provider:
    """A package (or file) that registers components."""

    distribution: str
    version: str
    entry_point: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".strip()


@dataclass(frozen=True)
class Origin:
    """A component and who provides it, as messages name it."""

    role: str
    name: str
    provider: Provider

    def __str__(self) -> str:
        return f"{self.role} '{self.name}' ({self.provider})"

    def fault(self, what: str) -> PluginError:
        """An error that says whose fault something is."""
        return PluginError(f"{self}: {what}")


def origin_of(component: Any) -> Origin | None:
    """Of a class, an instance or a model; None if nobody has registered it.

    A class that is derived from a registered one is not registered by that.
    """
    found: Origin | None = getattr(component, "__dict__", {}).get(ORIGIN)
    if found is None and not isinstance(component, type):
        found = vars(type(component)).get(ORIGIN)
    return found


def call(
    origin: Origin | None, what: str, function: Callable[..., Any], *given: Any, **named: Any
) -> Any:
    """Call a function of a component; its exception becomes one line that names the component.

    Errors of the core are the core's own: one of its components is not blamed for them.
    """
    try:
        return function(*given, **named)
    except Exception as error:
        ours = isinstance(error, CltrError | MemoryError) and not isinstance(error, NotFiniteError)
        if ours or origin is None or origin.provider.distribution == CORE:
            raise
        raise origin.fault(
            f"{what} failed: {_numpy_on_tensor(error, what) or one_line(error)}"
        ) from error


def _numpy_on_tensor(error: Exception, what: str) -> str:
    """What to do where numpy was given a tensor; empty if the error is another one."""
    if "numpy() on Tensor that requires grad" not in str(error):
        return ""
    slope = "slope" if what == "gain" else f"{what}_slope"
    return (
        f"it gives a torch tensor to a numpy function. cltr calls {what} with tensors to find its "
        f"slope: use operators and methods that arrays and tensors share (** or .clip, not np.log),"
        f" or define {slope}"
    )


def one_line(error: BaseException) -> str:
    """A stranger's error in one line of bounded length; what is not ours with its type."""
    words = textwrap.shorten(str(error), LONGEST_REASON, placeholder=" ...")
    kind = "" if isinstance(error, CltrError) else type(error).__name__
    return ": ".join(part for part in (kind, words) if part)
