"""Say once on stderr when kernels are compiled: it takes seconds, and happens once per machine.

Compiled kernels are kept beside their source (numba's cache), so that a command says this
at its first use after an installation or an update. Kernels import this module.
"""

import sys
from typing import Any

from numba.core import event

MESSAGE = "compiling fast code for this command, once; this takes some seconds\n"


class _Announcer(event.Listener):
    """Speaks at the first compilation; what is found in the cache is not compiled."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        name = getattr(event.data["dispatcher"].py_func, "__module__", "")
        if not self.said and name.startswith("cltr") and sys.__stderr__ is not None:
            self.said = True
            sys.__stderr__.write(MESSAGE)
            sys.__stderr__.flush()

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


event.register("numba:compile", _Announcer())
