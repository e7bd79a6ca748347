"""Commands in processes of their own, forked from one that has imported everything.

So a trial costs what the command costs, and the moments of kills fall into its work, not into
imports.
"""

import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

BLOCKED = 180.0
"""Seconds of the clock after which a process waits for something that does not come."""
ORPHANED = 30.0
"""The same for processes that a command has left."""


def import_all(names: list[str]) -> None:
    """Import modules, and load what numba has compiled before, so that trials need not.

    Nothing is run here: what has started threads cannot be forked.
    """
    from numba.core.dispatcher import Dispatcher

    for name in names:
        with suppress(ImportError):  # some are there for a moment only, or under another name
            import_module(name)
    modules = [one for name, one in sys.modules.items() if name.startswith("cltr.kernels.")]
    for kernel in [one for module in modules for one in vars(module).values()]:
        if not isinstance(kernel, Dispatcher) or kernel.targetoptions.get("parallel"):
            continue
        if hasattr(kernel._cache, "_cache_file"):
            for signature, *_ in kernel._cache._cache_file._load_index():
                kernel.compile(signature)


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    told: str
    """What it wrote to stderr."""
    seconds: float
    """Of the clock, from the call of :meth:`Started.finish`."""
    processor: float
    """Seconds of the processor since then."""
    blocked: bool


class Started:
    """A command at work.

    Args:
        words: of the command, without ``cltr``.
        folder: where it runs; temporary files go to its folder ``tmp``.
        before: called in the new process first.
    """

    def __init__(
        self, words: list[str], folder: Path, *, before: Callable[[], None] | None = None
    ) -> None:
        sys.stdout.flush()
        self._told, told = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _run(words, folder, told, before)
        os.close(told)

    def ended(self) -> bool:
        """Whether it has ended; it can still be asked how."""
        how = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return how is not None

    def finish(self) -> Ended:
        """Wait for it, and for the processes that it started."""
        began, processor = time.monotonic(), processor_seconds(self.pid)
        blocked = False
        while not self.ended():
            blocked = blocked or time.monotonic() - began > BLOCKED
            if blocked:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.005)
        seconds = time.monotonic() - began
        taken = processor_seconds(self.pid) - processor
        _, status = os.waitpid(self.pid, 0)
        told = self._read() + self._orphans()
        return Ended(os.waitstatus_to_exitcode(status), told, seconds, taken, blocked)

    def _read(self) -> str:
        """What was written to stderr; a pipe, since a limit of file sizes would cut a file."""
        os.set_blocking(self._told, False)
        with os.fdopen(self._told, "rb") as stream:
            return (stream.read() or b"").decode(errors="replace")

    def _orphans(self) -> str:
        until = time.monotonic() + ORPHANED
        while (left := _of_session(self.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        for one in left:
            os.kill(one, signal.SIGKILL)
        return "".join(f"\norphan {one}" for one in left)


def _run(words: list[str], folder: Path, told: int, before: Callable[[], None] | None) -> None:
    """What the new process does: the command, as its script does it."""
    os.setsid()
    os.chdir(folder)
    tempfile.tempdir = str(folder / "tmp")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(told, 2)
    sys.argv = ["cltr", *words]
    if before is not None:
        before()
    code = 70
    try:
        from cltr.cli import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        code = 130  # before main has begun
        os.write(2, b"Error: interrupted; to start again: cltr " + shlex.join(words).encode())
    finally:
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(code)


def processor_seconds(pid: int) -> float:
    """What a process has taken of the processor, with those that it started and has seen end."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _of_session(session: int) -> list[int]:
    """Processes of a session that have not ended."""
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdigit():
            try:
                fields = (one / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(one.name))
    return found
