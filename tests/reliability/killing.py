"""Commands that are killed at random moments: nothing half-written counts, and reruns agree.

A process that has imported everything forks one process per trial, which runs a command as the
console script does. So a trial costs what the command costs, and the moments of the kills fall into
its work, not into imports.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.reliability.world import LITTLE

LONGEST = 10.0
"""Seconds after a signal from which on it is a hang."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_LITTLE = " ".join(LITTLE)
COMMANDS = {
    "train": f"train --data W/data.h5 --reward ips {_LITTLE} --out run",
    "train on a log": f"train --data W/data.h5 --log W/log.h5 {_LITTLE[7:]} --out run",
    "train --resume": "train --resume stopped",
    "simulate": "simulate --data W/data.h5 -n 20000 --sessions --out log.h5",
    "ingest": "ingest W/clicks.csv --sessions --out log.h5",
    "ingest --data-out": "ingest W/clicks.parquet --feature-column position --data-out d.h5 "
    "--out log.h5",
    "fit": "fit --log W/log.h5 --data W/data.h5 --click-model pbm --out models",
    "check": "check W/real.h5 --plot check.svg",
    "evaluate": "evaluate W/run",
    "gate": "gate W/run --log W/log.h5 --data W/data.h5",
    "rank": "rank W/run --data W/features.parquet --out ranks.csv",
    "export": "export W/run --to json --out ranker.json",
    "data import": "data import W/letor --out new.h5",
    "data import, table": "data import W/features.parquet --out new.h5",
    "data export": "data export W/data.h5 --out table.csv",
    "plugins new": "plugins new acme-clicks --kind reward",
    "compare": "compare W/study.toml --out study --workers 1",
}
RARE = {"compare": 12}
"""Commands that start processes of their own take long: one trial in so many is left."""
UNEQUAL = (".png", ".svg", ".html")
"""Pictures and pages hold times or identifiers of their own."""


class Kill(NamedTuple):
    """One trial."""

    command: str
    seed: int
    signal: str
    outcome: str
    """``finished before``, ``interrupted``, ``killed``, or what went wrong."""
    seconds: float
    """From the signal to the end of the process."""
    detail: str = ""

    @property
    def survived(self) -> bool:
        return self.outcome in ("finished before", "interrupted", "killed")


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    told: str
    seconds: float


class Killer:
    """Runs commands of one world in folders of their own."""

    def __init__(self, world: Path, place: Path) -> None:
        self._world, self._place = world, place
        self._told = -1
        self._known: dict[str, tuple[dict[str, Any], int, float]] = {}

    def words(self, name: str) -> list[str]:
        return COMMANDS[name].replace("W/", f"{self._world}/").split()

    def reference(self, name: str) -> tuple[dict[str, Any], int, float]:
        """What the command leaves if nobody kills it, its exit code and how long it takes."""
        if name not in self._known:
            for _ in range(2):  # the second is not the first to load compiled code
                folder, began = self.fresh(), time.monotonic()
                ended = self.finish(self.start(self.words(name), folder))
                seconds = time.monotonic() - began
            if ended.code not in (0, 3):
                raise RuntimeError(f"{name} fails by itself: {ended.told}")
            self._known[name] = _content(folder), ended.code, seconds
        return self._known[name]

    def trial(self, name: str, seed: int) -> Kill:
        """Kill a command at a random moment; look at what is left, and run it again."""
        expected, code, usual = self.reference(name)
        rng = Random(f"{name}:{seed}")
        number = SIGNALS[seed % len(SIGNALS)]
        folder = self.fresh()
        process = self.start(self.words(name), folder)
        time.sleep(rng.uniform(0, 1.05 * usual))
        os.kill(process, number)
        ended = self.finish(process)
        outcome = _how_it_ended(ended, number, code)
        wrong = outcome if outcome not in ("finished before", "interrupted", "killed") else ""
        wrong = wrong or _what_is_left(folder, expected, number)
        if not wrong:
            wrong = self._again(name, folder, ended, outcome)
        return Kill(name, seed, number.name, wrong or outcome, ended.seconds, ended.told[-300:])

    def _again(self, name: str, folder: Path, ended: Ended, outcome: str) -> str:
        """Resume as the line says, or as a user would after SIGKILL; what went wrong, if so."""
        expected, code, _ = self.reference(name)
        words = self._words_to_resume(name, folder, ended, outcome)
        if words:
            second = self.finish(self.start(words, folder))
            if second.code != code:
                return f"resume fails: {second.code} {second.told[-200:]}"
        found = _content(folder)
        if found != expected:
            every = found.keys() | expected.keys()
            odd = sorted(key for key in every if found.get(key) != expected.get(key))
            return f"resume differs: {odd[:5]}"
        left = [str(one) for one in folder.rglob("*.cltr-*")]
        return f"leftovers after the rerun: {left}" if left else ""

    def _words_to_resume(
        self, name: str, folder: Path, ended: Ended, outcome: str
    ) -> list[str] | None:
        if outcome == "finished before":
            return None
        if outcome == "interrupted":
            words = shlex.split(_line(ended).partition(": cltr ")[2])
        else:
            run = folder / "run"
            resumes = name.startswith("train") and (run / "run.toml").exists()
            words = ["train", "--resume", "run"] if resumes else self.words(name)
        if words[0] == "train" and any(folder.glob("*/result.json")):
            return None  # it was killed after all was written
        return words

    def fresh(self) -> Path:
        folder = self._place / "trial"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "tmp").mkdir(parents=True)
        shutil.copytree(self._world / "stopped", folder / "stopped")
        shutil.copyfile(self._world / "data.h5", folder / "data.h5")  # of the stopped run
        return folder

    def start(
        self, words: list[str], folder: Path, *, before: Callable[[], None] | None = None
    ) -> int:
        """Begin a command in a process of its own; ``before`` is called there first."""
        sys.stdout.flush()
        self._told, told = os.pipe()
        child = os.fork()
        if child:
            os.close(told)
            return child
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

    def _read(self) -> str:
        """What was written to stderr; a pipe, since a limit of file sizes would cut a file."""
        os.set_blocking(self._told, False)
        with os.fdopen(self._told, "rb") as stream:
            return (stream.read() or b"").decode(errors="replace")

    def finish(self, child: int) -> Ended:
        """Wait for a process, and for those that it started."""
        began = time.monotonic()
        status = None
        while status is None:
            found, state = os.waitpid(child, os.WNOHANG)
            if found:
                status = state
            elif time.monotonic() - began > 30 * LONGEST:
                os.kill(child, signal.SIGKILL)
            else:
                time.sleep(0.01)
        seconds = time.monotonic() - began
        until = time.monotonic() + LONGEST
        while _of_session(child) and time.monotonic() < until:
            time.sleep(0.05)
        told = self._read()
        for orphan in _of_session(child):
            told += f"\norphan {orphan}"
            os.kill(orphan, signal.SIGKILL)
        return Ended(os.waitstatus_to_exitcode(status), told, seconds)


def _of_session(session: int) -> list[int]:
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


def _line(ended: Ended) -> str:
    """The last line but what Python says of a process that is left by ``os._exit``, as here."""
    lines = [line for line in ended.told.splitlines() if line.startswith("Error: ")]
    return lines[-1] if lines else ""


def _how_it_ended(ended: Ended, number: int, usual: int) -> str:
    never = {
        "internal error": "Traceback" in ended.told or "internal error" in ended.told,
        "orphans": "orphan" in ended.told,
        f"hang: {ended.seconds:.0f} s": ended.seconds > LONGEST,
    }
    if any(never.values()):
        return next(name for name, found in never.items() if found)
    return "finished before" if ended.code == usual else _interruption(ended, number)


def _interruption(ended: Ended, number: int) -> str:
    if number == signal.SIGKILL:
        return "killed" if ended.code == -number else f"exit code {ended.code}"
    if ended.code == -number:
        return "interrupted before it began" if ended.told else "killed"  # no handler yet
    if ended.code != 128 + number:
        return f"exit code {ended.code}"
    return "interrupted" if _line(ended).startswith("Error: interrupted; to ") else "no line"


def _what_is_left(folder: Path, expected: dict[str, Any], number: int) -> str:
    """What must not be there after a kill, if anything."""
    partial = [str(one) for one in folder.rglob("*.cltr-*")]
    if partial and number != signal.SIGKILL:
        return f"leftovers: {partial}"
    odd = compare_content(folder, expected)
    return f"opens as if whole: {odd}" if odd else ""


def compare_content(folder: Path, expected: dict[str, Any]) -> str:
    """The first file that is there and is not what it should be."""
    for name, content in _content(folder).items():
        if name in expected and content != expected[name] and _says_it_is_whole(name):
            return name
    return ""


def _says_it_is_whole(name: str) -> bool:
    """Files of a stopped run change while it goes on; all others appear once, when whole."""
    return not name.startswith("stopped/") and not name.endswith("study.toml")


def _content(folder: Path) -> dict[str, Any]:
    """All files but partial ones; JSON without times."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or name.startswith("tmp/") or "partial" in name:
            continue
        if path.suffix == ".json":
            found[name] = _timeless(json.loads(path.read_text()))
        elif path.suffix == ".h5":
            found[name] = _arrays(path)
        elif path.suffix == ".csv" and "study" in name:
            found[name] = len(path.read_text().splitlines())
        else:
            found[name] = "picture" if path.suffix in UNEQUAL else path.read_bytes()
    return {name: one for name, one in found.items() if "/checkpoint/" not in name}


def _arrays(path: Path) -> dict[str, Any]:
    """What an HDF5 file holds; groups also hold the time at which they were made."""
    import h5py

    found: dict[str, Any] = {}

    def add(name: str, one: Any) -> None:
        found[name] = (str(one.dtype), one[...].tobytes()) if hasattr(one, "dtype") else ""

    with h5py.File(path) as file:
        file.visititems(add)
        return found | {f"@{name}": bytes(value) for name, value in file.attrs.items()}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(one) for k, one in value.items() if k != "seconds"}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


def kill(count: int, *, first: int = 0) -> Iterator[Kill]:
    """Trials spread over all commands."""
    numbers = range(first, first + count)
    with world() as killer:
        for number in numbers:
            yield killer.trial(*_case(number))


@contextmanager
def world() -> Iterator[Killer]:
    """Good files in a folder, and commands to run on them."""
    with tempfile.TemporaryDirectory(prefix="cltr-kill-") as name:
        code = (
            "from pathlib import Path; from tests.reliability.world import make_world; "
            f"make_world(Path({name + '/world'!r}), study=False)"
        )
        Path(name, "world").mkdir()
        subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL)
        _import_all()
        yield Killer(Path(name, "world"), Path(name))


def _case(number: int) -> tuple[str, int]:
    names = [*COMMANDS]
    name, seed = names[number % len(names)], number // len(names)
    if name in RARE and seed % RARE[name]:
        name, seed = "train", seed + 1_000_000
    return name, seed


def _import_all() -> None:
    """What commands import, so that trials do not."""
    import duckdb  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import numba  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import torch  # noqa: F401

    import cltr.api.train
    import cltr.cli.compare  # noqa: F401
    from cltr.experiment.library_setup import set_up_libraries
    from cltr.plugins import registry

    set_up_libraries()
    registry()
