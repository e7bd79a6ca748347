"""The code blocks of the pages: found, run in order, or checked where they cannot be run.

A block is run as it stands, in an empty folder, after the blocks before it. One that needs hours,
a cluster or a file that cannot be passed on says so in its first line::

    # not run by the tests: needs a Spark cluster

Then its commands are checked against the command line, and its Python is compiled. A block of
``text`` shows lines that the block before it printed; numbers may differ.
"""

import argparse
import contextlib
import doctest
import io
import json
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from cltr.cli import COMMANDS, cli
from cltr.plugins import registry

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r'^(?P<indent> *)```(?P<kind>[\w-]*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^ *```$',
    re.S | re.M,
)
NOT_RUN = re.compile(r"# not run by the tests: .+")
NUMBER = re.compile(r"[+-]?\d[\d,.]*")
ELSEWHERE = {"sql", "java", "vespa", "diagram"}
"""Kinds that other tests run (tests/serving), and kinds that are no code of ours."""
QUICK = {
    "train": ["training.epochs=2", "production.epochs=2"],
    "compare": ["training.epochs=2", "production.epochs=2"],
}
"""Options that make the runs of a page short, if the page shows no output."""


@dataclass(frozen=True)
class Block:
    """One block of a page."""

    page: str
    line: int
    kind: str
    title: str
    text: str

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{self.page}, line {self.line}"

    @property
    def is_run(self) -> bool:
        """Whether the tests run it."""
        return NOT_RUN.match(self.text) is None

    @property
    def commands(self) -> list[str]:
        """Lines of a shell block, without comments and continuations."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def blocks_of(page: str, text: str) -> list[Block]:
    """All blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] for line in match["text"].splitlines(keepends=True))
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match["kind"], match["title"] or "", body))
    return found


def masked(text: str) -> str:
    """Words without numbers, spaces and frames: what does not change with the machine."""
    return re.sub(r"[\s│]+", " ", NUMBER.sub("#", text)).strip()


@dataclass
class Runner:
    """Runs the blocks of one page in the current folder."""

    quick: bool = False
    names: dict[str, Any] = field(default_factory=dict)
    said: str = ""

    def run(self, block: Block) -> None:
        """Run or check one block."""
        method = getattr(self, f"_{block.kind}", None)
        if method is not None:
            method(block)
        elif block.kind not in ELSEWHERE:
            raise AssertionError(f"{block.place}: a block needs a kind, this has '{block.kind}'")

    def _python(self, block: Block) -> None:
        if block.text.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block.text, self.names, block.place, None, 0)
            done = doctest.DocTestRunner(verbose=False).run(test, clear_globs=False)
            assert done.failed == 0, block.place
            self.names |= test.globs
            return
        code = compile(block.text, block.place, "exec")
        if block.title:
            Path(block.title).write_text(block.text)
        elif block.is_run:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(code, self.names)
            self.said = said.getvalue()

    def _sh(self, block: Block) -> None:
        for command in block.commands:
            check_command(command, block.place)
        if block.is_run:
            self.said = "".join(self._command(command, block) for command in block.commands)

    def _command(self, command: str, block: Block) -> str:
        line, _, target = command.partition(" > ")
        program, *words = shlex.split(line, comments=True)
        said = ""
        if program == "cltr":
            if "--plugin" in words:
                registry.cache_clear()
            done = CliRunner().invoke(cli, [*words, *self._quicker(words)], prog_name="cltr")
            assert done.exit_code in (0, 3), f"{block.place}: {command}: {done.output}"
            said = done.stdout
        elif program == "python":
            said = run_script(words)
        else:
            assert program in ("make", "pip"), f"{block.place}: {program}"
        if target:
            Path(target.strip()).write_text(said)
        return said

    def _quicker(self, words: list[str]) -> Iterator[str]:
        if not self.quick or words[0] not in QUICK or "--config" in words:
            return
        for option in QUICK[words[0]]:
            key = option.partition("=")[0]
            of_production = key.startswith("production")
            if not any(key in word for word in words) and not (of_production and "--log" in words):
                yield from ("-o", option)
        if "--no-skyline" not in words:
            yield "--no-skyline"

    def _text(self, block: Block) -> None:
        for line in block.text.splitlines():
            if line.strip() != "...":
                assert masked(line) in masked(self.said), (
                    f"{block.place}: {line!r} is not in:\n{self.said}"
                )

    def _toml(self, block: Block) -> None:
        tomllib.loads(block.text)

    def _json(self, block: Block) -> None:
        json.loads(block.text)


def run_script(words: list[str]) -> str:
    """What a script of examples/ prints, run in this process."""
    path = str(ROOT / words[0])
    before = sys.argv
    sys.argv = [path, *words[1:]]
    try:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = before
    return said.getvalue()


def check_command(line: str, place: str) -> None:
    """Raise if a command could not be typed like this: no such program, command or option."""
    program, *words = shlex.split(line.partition(" > ")[0].partition(" | ")[0], comments=True)
    if program == "cltr":
        command, left = _resolve(words, place)
        _check_options(command, left, f"{place}: {line}")
    elif program == "python":
        _check_script(words, f"{place}: {line}")
    elif program == "torchrun":
        given = _of_torchrun(words, f"{place}: {line}")
        check_command(shlex.join([given.training_script, *given.training_script_args]), place)
    elif program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.M), place
    elif program == "pip":
        _check_extras(line, place)
    else:
        assert program in ("curl", "twine", "pytest"), f"{place}: what is '{program}'?"


def _of_torchrun(words: list[str], place: str) -> argparse.Namespace:
    """What torchrun makes of some words; it takes some options of cltr for its own."""
    from torch.distributed.run import parse_args

    try:
        return parse_args(words)
    except SystemExit:
        raise AssertionError(f"{place}: torchrun refuses it; is there '--' after cltr?") from None


def _resolve(words: list[str], place: str) -> tuple[click.Command, list[str]]:
    """The command that some words begin with, and the other words."""
    assert words and words[0] in COMMANDS, f"{place}: cltr has no command '{' '.join(words[:1])}'"
    command = cli.get_command(click.Context(cli), words[0])
    left = words[1:]
    if isinstance(command, click.Group) and left:
        inner = command.get_command(click.Context(command), left[0])
        if inner is not None:
            return inner, left[1:]
        command = command.get_command(click.Context(command), "show")  # 'cltr plugins NAME'
    assert command is not None, place
    return command, left


def _check_options(command: click.Command, words: list[str], place: str) -> None:
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    known |= {"--help", "-h"}
    for word in words:
        name = word.partition("=")[0]
        if re.match(r"--?[a-zA-Z]", word):
            assert name in known, f"{place}: no option {name}"


def _check_script(words: list[str], place: str) -> None:
    """The module or script is there, and knows the options."""
    if words[0] == "-m":
        name, words = words[1], words[2:]
        if not name.startswith("tests."):
            assert find_spec(name.partition(".")[0]) or name in ("build", "venv"), place
            return
        path = ROOT / name.replace(".", "/")
        path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    else:
        path, words = ROOT / words[0], words[1:]
    assert path.exists(), f"{place}: no such script"
    for word in words:
        if word.startswith("--"):
            assert f'"{word.partition("=")[0]}"' in path.read_text(), f"{place}: no option {word}"


def _check_extras(line: str, place: str) -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in re.findall(r"cltr\[(\w+)\]", line):
        assert extra in known["optional-dependencies"], f"{place}: no extra '{extra}'"
