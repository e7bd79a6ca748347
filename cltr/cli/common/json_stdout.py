"""With ``--json``, stdout gets one JSON object and nothing else, whatever plugins print."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_kept: list[TextIO] = []


def json_stdout() -> TextIO:
    """Where the JSON object goes: the stdout that the command was started with."""
    return _kept[-1] if _kept else sys.stdout


@contextmanager
def stdout_for_json(wanted: bool) -> Iterator[None]:
    """Send what is printed to stderr, also by native code and by child processes.

    Args:
        wanted: whether to do so at all.
    """
    if not wanted:
        yield
        return
    before = sys.stdout
    before.flush()
    number = _file_number(before)
    kept = None if number is None else os.dup(number)
    target = before if kept is None else os.fdopen(kept, "w", encoding=before.encoding)
    try:
        if number is not None:
            os.dup2(sys.stderr.fileno(), number)
        sys.stdout = sys.stderr
        _kept.append(target)
        yield
    finally:
        _kept.remove(target)
        sys.stdout = before
        if number is not None and kept is not None:
            os.dup2(kept, number)
            target.close()


def _file_number(stream: TextIO) -> int | None:
    """Of stdout, if both it and stderr are files of the system; tests replace them by buffers."""
    try:
        sys.stderr.fileno()
        return stream.fileno()
    except (AttributeError, io.UnsupportedOperation, ValueError):
        return None
