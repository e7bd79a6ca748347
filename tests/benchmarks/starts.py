"""What a new process does first; nothing heavy is imported at the top."""

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

ONE_EPOCH = ("training.epochs=1", "production.epochs=1", "reward.epochs=1")


def cltr() -> None:
    """``cltr --help`` in a new process."""
    subprocess.run(
        [Path(sys.executable).parent / "cltr", "--help"], capture_output=True, check=True
    )


def python() -> None:
    """A process that imports what every command line needs."""
    subprocess.run([sys.executable, "-c", "import click"], capture_output=True, check=True)


def train_once() -> None:
    """``cltr train`` on the demo, as short as it can be."""
    from cltr.cli import main

    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["cltr", "train", "--no-skyline", "--no-report", "--out", f"{folder}/run"]
        sys.argv += [word for option in ONE_EPOCH for word in ("-o", option)]
        with suppress(SystemExit):
            main()


def import_libraries() -> None:
    """The two libraries that a run cannot do without."""
    import numba
    import torch

    del numba, torch
