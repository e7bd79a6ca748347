"""Damaged inputs by the thousand, in a process that is watched for crashes and hangs.

One process makes the world, tries one damaged input after the other and writes a line for each. If
it dies or hangs, that trial has failed, and another process goes on with the next one.
"""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from select import select
from typing import IO

from tests.reliability.fuzzing import Attack, Trial
from tests.reliability.processes import processor_seconds
from tests.reliability.targets import TARGETS
from tests.reliability.world import make_world, no_workers

LONGEST = 10.0
"""Seconds of the processor after which a trial is a hang; a busy machine does not add to them."""
BLOCKED = 180.0
"""Seconds of the clock after which a trial waits for something that does not come."""
SET_UP = 900.0
"""Seconds of the clock for what is not a trial: the world, good files, compiling."""
CHILD = ["-m", "tests.reliability.watching"]
"""What tries damaged inputs: words for Python."""
LAST_WORDS = 1_500
"""Characters kept of what a lost process said."""


def fuzz(count: int, *, first: int = 0) -> Iterator[Trial]:
    """Trials spread over all targets, in a process of its own that is started anew if it ends."""
    numbers = range(first, first + count)
    cases = [(number % len(TARGETS), number // len(TARGETS)) for number in numbers]
    done = 0
    while done < len(cases):
        for trial in _watched(cases[done:]):
            done += 1
            yield trial


def _watched(cases: list[tuple[int, int]]) -> Iterator[Trial]:
    """Trials of one process; the one in which it died or hung is the last."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, *CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            cwd=Path(__file__).parents[2],
        )
        assert process.stdin is not None and process.stdout is not None
        number = 0
        try:
            process.stdin.write(json.dumps(cases).encode())
            process.stdin.close()
            for trial in _trials(process):
                yield trial
                number += 1
            ended = process.wait()
            if number < len(cases):
                yield _lost(cases[number], ended, said)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def _lost(case: tuple[int, int], ended: int, said: IO[str]) -> Trial:
    said.seek(0)
    ends = {-signal.SIGXCPU: f"hang over {LONGEST:g} s", -signal.SIGALRM: "blocked"}
    outcome = ends.get(ended, f"died with {ended}")
    return Trial(TARGETS[case[0]].name, case[1], outcome, said.read()[-LAST_WORDS:])


def _trials(process: "subprocess.Popen[bytes]") -> Iterator[Trial]:
    """Trials as they come, until the process ends or is ended."""
    assert process.stdout is not None
    handle = process.stdout.fileno()
    rest, damaged = b"", False
    began, processor = time.monotonic(), 0.0
    while True:
        if not select([handle], [], [], 0.5)[0]:
            seconds = time.monotonic() - began
            if damaged and processor_seconds(process.pid) - processor > LONGEST:
                _end(process, signal.SIGXCPU)
            elif seconds > (BLOCKED if damaged else SET_UP):
                _end(process, signal.SIGALRM)
            continue
        read = os.read(handle, 1 << 16)
        if not read:
            return
        *lines, rest = (rest + read).split(b"\n")
        for line in lines:
            if line.startswith(b"["):
                yield Trial(*json.loads(line))
        damaged = bool(lines) and lines[-1] == b"damaged"
        began, processor = time.monotonic(), processor_seconds(process.pid)


def _end(process: "subprocess.Popen[bytes]", number: int) -> None:
    """End a process that hangs; first it says where."""
    process.send_signal(signal.SIGUSR1)
    time.sleep(1.0)
    process.send_signal(number)  # the process does not handle it, so that it ends


def _child() -> None:
    sys.dont_write_bytecode = True  # a plugin file changes within a second
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    cases = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(what: str) -> None:
        answers.write(what + "\n")
        answers.flush()

    with tempfile.TemporaryDirectory(prefix="cltr-fuzz-") as name:
        folder = Path(name)
        make_world(folder)
        with chdir(folder), no_workers():
            attack = Attack(folder, tell)
            for target, seed in cases:
                tell(json.dumps(attack.run(TARGETS[target], seed)))


if __name__ == "__main__":
    _child()
