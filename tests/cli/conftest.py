"""The command line in this process, on a few queries in place of the demo data."""

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cltr.cli import cli
from tests import small


@pytest.fixture(autouse=True)
def here(small_demo: Path) -> Path:
    """An empty folder, which is the current one."""
    return small_demo


@pytest.fixture
def cltr() -> Callable[..., Result]:
    """Run a command; its exit code, stdout and stderr."""

    def run(*words: Any) -> Result:
        return CliRunner().invoke(cli, [str(word) for word in words], prog_name="cltr")

    return run


@pytest.fixture
def train(cltr: Callable[..., Result]) -> Callable[..., dict[str, Any]]:
    """Train on little, with ``--json``; the result."""

    def run(*words: Any, reward: str = "ips") -> dict[str, Any]:
        logged = "--log" in words or "--config" in words
        flags = small.FLAGS[2:] if logged else small.FLAGS
        done = cltr("train", *flags, "--reward", reward, *words, "--json")
        assert done.exit_code == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    return run


@pytest.fixture
def refused(cltr: Callable[..., Result], here: Path) -> Callable[..., str]:
    """Run a command that must fail: its one line, after checks that it left nothing behind."""

    def found() -> set[Path]:
        return {one for one in here.rglob("*") if "__pycache__" not in one.parts}

    def run(*words: Any, code: int) -> str:
        before = found()
        done = cltr(*words)
        lines = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
        assert done.exit_code == code, done.stderr
        assert done.stdout == ""
        assert len(lines) == 1
        assert done.stderr.rstrip().endswith(lines[0])
        assert "internal error" not in lines[0]
        assert "Traceback" not in done.stderr
        assert found() == before
        return lines[0].removeprefix("Error: ")

    return run


@pytest.fixture
def disk_of() -> Callable[[int], Any]:
    """A disk that is full after so many bytes of a file."""

    @contextmanager
    def limit(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limit
