"""What a new process does first; nothing heavy is imported at the top."""

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.benchmarks.processes import whole_process

CLTR = Path(sys.executable).parent / "cltr"
ONE_EPOCH = ("training.epochs=1", "production.epochs=1", "reward.epochs=1")


def cltr() -> None:
    """``cltr --help`` in a new process."""
    subprocess.run([CLTR, "--help"], capture_output=True, check=True)


def python() -> None:
    """A process that imports what every command line needs."""
    subprocess.run([sys.executable, "-c", "import click"], capture_output=True, check=True)


def train_words(folder: Path) -> list[str]:
    """``cltr train`` on the demo, as short as it can be."""
    words = ["train", "--no-skyline", "--no-report", "--out", str(folder / "run")]
    return words + [word for option in ONE_EPOCH for word in ("-o", option)]


def train_once() -> None:
    """The same in this process."""
    from cltr.cli import main

    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["cltr", *train_words(Path(folder))]
        with suppress(SystemExit):
            main()


def train_seconds() -> float:
    """Processor seconds of ``cltr train`` from its start to the end of its process."""
    with tempfile.TemporaryDirectory() as folder:
        return whole_process(CLTR, *train_words(Path(folder)))


def import_seconds() -> float:
    """Of a process that imports the two libraries that a run cannot do without, and ends."""
    return whole_process(sys.executable, "-c", "import numba, torch")
