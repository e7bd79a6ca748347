"""Python's search for circular garbage, made rarer; it would look at all objects of libraries.

A full search visits everything that is alive. While libraries are imported, and at the end of the
process, nothing of that is garbage. Young objects are searched as often as before.
"""

import atexit
import gc
import sys

BETWEEN_FULL = 100
"""Searches of the middle generation between full ones; Python's own number is 10."""


def search_seldom() -> None:
    """Search all objects seldom, and not at all at the end. Called once, by a command's process."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, BETWEEN_FULL)
    atexit.register(_search_no_more)


def _search_no_more() -> None:
    """At the end; but duckdb would complain in many lines about objects that are left."""
    if "duckdb" not in sys.modules:
        gc.freeze()
