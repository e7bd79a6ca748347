"""The base class of all components: a name that users type, and options that are checked."""

from typing import Any, ClassVar

from cltr.options import Options as CheckedOptions


class Component:
    """Base class of all components: a name that users type, and options that are checked."""

    name: ClassVar[str]
    """The name that users type: lower-case letters, digits and hyphens."""

    class Options(CheckedOptions):
        """No options."""

    options: Any
    """The checked options. For mypy, declare ``options: "MyReward.Options"`` in the subclass."""

    def __init__(self, **options: Any) -> None:
        self.options = self.Options.parse(options, owner=self.name)

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self.options)
        return f"{type(self).__name__}({shown})"
