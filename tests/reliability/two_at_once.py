"""Two processes with the same ``--out``: the second is refused, the first is not harmed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from cltr.files import claims
from tests.reliability.content import content
from tests.reliability.killing import COMMANDS, RARE, Killer, world
from tests.reliability.processes import Started

REFUSED = ("another process", "there is a run already", "already; choose another")


class Pair(NamedTuple):
    """Two processes with the same command in the same folder."""

    command: str
    outcome: str
    """``refused``, ``writes nothing``, or what went wrong."""
    detail: str = ""

    @property
    def survived(self) -> bool:
        return self.outcome in ("refused", "writes nothing")


def pairs() -> Iterator[Pair]:
    """All of them, in a world of their own."""
    with world() as killer:
        yield from all_pairs(killer)


def all_pairs(killer: Killer) -> Iterator[Pair]:
    """Every command that works alone; several processes may share a study."""
    for name in COMMANDS:
        if name not in RARE:
            yield pair(killer, name)


def pair(killer: Killer, name: str) -> Pair:
    """Stop a process that has claimed its output, run another one, let the first go on."""
    usual, folder = killer.usual(name), killer.fresh()
    first = Started(killer.words(name), folder, before=_stop_when_claimed)
    stopped = os.waitid(os.P_PID, first.pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
    if stopped is None or stopped.si_code != os.CLD_STOPPED:
        return Pair(name, "writes nothing" if first.finish().code == usual.code else "failed")
    second = killer.run(killer.words(name), folder)
    os.kill(first.pid, signal.SIGCONT)
    ended = first.finish()
    lines = [line for line in second.told.splitlines() if line.startswith("Error: ")]
    wrong = {
        f"the second ends with {second.code}": second.code not in (1, 2),
        "no line": len(lines) != 1 or not any(word in lines[0] for word in REFUSED),
        f"the first ends with {ended.code}": ended.code != usual.code,
        "the first was harmed": _difference(folder, usual.content),
        "leftovers": bool(list(folder.rglob("*.cltr-*"))),
    }
    outcome = next((what for what, found in wrong.items() if found), "refused")
    return Pair(name, outcome, f"{second.told[-300:]} | {ended.told[-300:]}")


def _difference(folder: Path, expected: dict[str, Any]) -> bool:
    return content(folder) != expected


def _stop_when_claimed() -> None:
    """In the first process: wait for a signal as soon as an output is claimed."""
    lock, before = claims._lock, set[str]()

    def then_stop(path: Path, *given: Any, **named: Any) -> int:
        handle = lock(path, *given, **named)
        if not before:
            before.add(str(path))
            os.kill(os.getpid(), signal.SIGSTOP)
        return handle

    mock.patch.object(claims, "_lock", then_stop).start()
