"""Ctrl-C and SIGTERM: one line, the right exit code, and nothing half-written."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cltr.cli.common import interrupts

COMMANDS = {
    "train": ["train", "--out", "run", "--no-skyline", "-o", "training.epochs=100000"],
    "simulate": ["simulate", "-n", "1e9", "--out", "clicks.h5"],
    "compare": ["compare", "-m", "dr", "-n", "1e9", "--out", "study", "--workers", "1"],
}
HOW = {
    "train": "to resume: cltr train --resume run",
    "simulate": "to start again: cltr simulate -n 1e9 --out clicks.h5",
    "compare": "to resume: cltr compare -m dr -n 1e9 --out study --workers 1",
}
BEGUN = {
    "train": "run/run.toml",
    "simulate": ".clicks.h5.cltr-partial",
    "compare": "study/study.toml",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_ends_a_command_at_once(tmp_path, command, number):
    code = "from cltr.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *COMMANDS[command]],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(tmp_path, BEGUN[command])
    process.send_signal(number)
    try:
        _, told = process.communicate(timeout=30)  # two seconds, on a machine that is not busy
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert told.splitlines()[-1].startswith(f"Error: interrupted; {HOW[command]}")
    assert told.count("Traceback") == 0
    assert not list(tmp_path.rglob("*.cltr-partial"))


def wait_for(folder: Path, name: str) -> None:
    """Until the command is at work; a file tells, or some seconds do."""
    for _ in range(300):
        if (folder / name).exists():
            break
        time.sleep(0.1)
    time.sleep(0.5)


LOST = """
import os, signal, time
from cltr.cli.common import interrupts
class Gone:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000): pass
with interrupts.end_on_signals():
    Gone()
    time.sleep(60)
"""


def test_a_signal_that_comes_while_an_object_is_removed_is_one_line():
    """Python drops what is raised there."""
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("Error: interrupted; ")


LATE = """
import os, signal, sys
from cltr.cli import main
from cltr.cli.common import interrupts
signal.set_wakeup_fd = lambda fd, **_: fd == -1 and os.kill(os.getpid(), signal.SIGTERM)
sys.argv = ["cltr", "data", "info", "demo"]
main()
"""


def test_a_signal_in_the_instant_in_which_a_command_ends_is_one_line():
    done = subprocess.run(
        [sys.executable, "-c", LATE], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stderr.startswith("Error: interrupted; ")
    assert done.stderr.count("\n") == 1


def test_an_interrupted_run_says_how_to_resume(tmp_path):
    words = [*COMMANDS["train"]]
    process = subprocess.Popen(
        [sys.executable, "-c", "from cltr.cli import main; main()", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(tmp_path, BEGUN["train"])
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert "to resume: cltr train --resume run" in told


def test_a_signal_waits_until_a_worker_process_is_started(monkeypatch):
    """It would lose its parent before it knows what to do, and show a traceback."""
    again = []
    monkeypatch.setattr(interrupts, "_received", 0)
    monkeypatch.setattr(interrupts.signal, "raise_signal", again.append)
    monkeypatch.setattr(interrupts.threading, "Timer", At)
    code = compile("handle(15, sys._getframe())", f"lib/{interrupts.STARTING}", "exec")
    exec(code, {"handle": interrupts._handle, "sys": sys})
    assert again == [15]
    with pytest.raises(KeyboardInterrupt):
        interrupts._handle(15, sys._getframe())


class At:
    """A timer that does not wait."""

    def __init__(self, seconds, work, words):
        del seconds
        self.start = lambda: work(*words)
