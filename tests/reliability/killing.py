"""Commands that are killed at random moments: nothing half-written counts, and reruns agree."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.reliability.content import content, difference
from tests.reliability.processes import Ended, Started, import_all, processor_seconds
from tests.reliability.world import LITTLE

ROOT = Path(__file__).parents[2]
LONGEST = 10.0
"""Seconds of the processor after a signal from which on it is a hang."""
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
    "evaluate --log": "evaluate production W/run --log W/log.h5 --data W/data.h5 --out e.json",
    "gate": "gate W/run --log W/log.h5 --data W/data.h5 --out gate.json",
    "gate --canary": "gate W/run --log W/log.h5 --data W/data.h5 --canary W/canary.csv",
    "report": "report W/run --out page.html",
    "explore": "explore --log W/log.h5 --data W/data.h5 --out exploring",
    "rank": "rank W/run --data W/features.parquet --out ranks.csv",
    "export": "export W/run --to json --out ranker.json",
    "data import": "data import W/letor --out new.h5",
    "data import, table": "data import W/features.parquet --out new.h5",
    "data export": "data export W/data.h5 --out table.csv",
    "data info": "data info W/data.h5",
    "plugins": "plugins",
    "plugins new": "plugins new acme-clicks --kind reward",
    "reproduce": "reproduce figure-1 --out figure",
    "compare": "compare W/study.toml --out study --workers 1",
    "reproduce, study": "reproduce figure-4 --data W/data.h5 -n 100 --seeds 1 --workers 1 "
    "-o training.epochs=1 -o production.epochs=1 --out figure",
}
RARE = {"compare": 4, "reproduce, study": 8}
"""Commands that start processes of their own take long: one trial in so many is left."""
WRITTEN_ONCE = ("plugins new", "explore")
"""Commands that refuse a folder that is whole."""
FINE = ("finished before", "interrupted", "killed")


class Kill(NamedTuple):
    """One trial."""

    command: str
    seed: int
    signal: str
    outcome: str
    """``finished before``, ``interrupted``, ``killed``, or what went wrong."""
    seconds: float
    """Of the clock, from the signal to the end of the process."""
    detail: str = ""

    @property
    def survived(self) -> bool:
        return self.outcome in FINE


class Usual(NamedTuple):
    """A command that nobody kills."""

    content: dict[str, Any]
    """What it leaves."""
    code: int
    seconds: float
    processor: float


class Killer:
    """Runs commands of one world in folders of their own."""

    def __init__(self, world: Path, place: Path) -> None:
        self._world, self._place = world, place
        self._known: dict[str, Usual] = {}

    def words(self, name: str) -> list[str]:
        return COMMANDS[name].replace("W/", f"{self._world}/").split()

    def usual(self, name: str) -> Usual:
        """What the command does if nobody kills it."""
        if name not in self._known:
            for _ in range(2):  # the second is not the first to load compiled code
                folder = self.fresh()
                ended = self.run(self.words(name), folder)
            if ended.code not in (0, 3):
                raise RuntimeError(f"{name} fails by itself: {ended.told}")
            found = content(folder)
            self._known[name] = Usual(found, ended.code, ended.seconds, ended.processor)
        return self._known[name]

    def run(
        self, words: list[str], folder: Path, *, before: Callable[[], None] | None = None
    ) -> Ended:
        """A command to its end."""
        return Started(words, folder, before=before).finish()

    def trial(self, name: str, seed: int) -> Kill:
        """Kill a command at a random moment; look at what is left, and run it again."""
        usual = self.usual(name)
        number = SIGNALS[seed % len(SIGNALS)]
        folder = self.fresh()
        process = Started(self.words(name), folder)
        _wait(process, usual, Random(f"{name}:{seed}"), by_clock=name in RARE)
        os.kill(process.pid, number)
        ended = process.finish()
        outcome = _how_it_ended(ended, number, usual.code)
        wrong = "" if outcome in FINE else outcome
        wrong = wrong or _what_is_left(folder, usual.content, number)
        wrong = wrong or self._again(name, folder, ended, outcome)
        return Kill(name, seed, number.name, wrong or outcome, ended.seconds, ended.told[-300:])

    def _again(self, name: str, folder: Path, ended: Ended, outcome: str) -> str:
        """Resume as the line says, or as a user would after SIGKILL; what went wrong, if so."""
        usual = self.usual(name)
        words = self._words_to_resume(name, folder, ended, outcome)
        if words:
            second = self.run(words, folder)
            if second.code != usual.code:
                return f"resume fails: {second.code} {second.told[-200:]}"
        found = content(folder)
        if found != usual.content:
            every = found.keys() | usual.content.keys()
            odd = sorted(key for key in every if found.get(key) != usual.content.get(key))
            return f"resume differs: {odd[:5]}"
        left = [str(one) for one in folder.rglob("*.cltr-*")]
        return f"leftovers after the rerun: {left}" if left else ""

    def _words_to_resume(
        self, name: str, folder: Path, ended: Ended, outcome: str
    ) -> list[str] | None:
        if outcome == "finished before":
            return None
        if name in WRITTEN_ONCE and content(folder) == self.usual(name).content:
            return None  # all was written; a second one of that name is refused
        if outcome == "interrupted":
            return shlex.split(_line(ended).partition(": cltr ")[2])
        if not name.startswith("train"):
            return self.words(name)
        if done := [*folder.glob("*/result.json")]:
            return ["report", done[0].parent.name]  # it was killed after all else was written
        resumes = (folder / "run" / "run.toml").exists()
        return ["train", "--resume", "run"] if resumes else self.words(name)

    def fresh(self) -> Path:
        folder = self._place / "trial"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.fill(folder)
        return folder

    def fill(self, folder: Path) -> None:
        """Put into an empty folder what commands need there."""
        (folder / "tmp").mkdir()
        shutil.copytree(self._world / "stopped", folder / "stopped")
        shutil.copyfile(self._world / "data.h5", folder / "data.h5")  # of the stopped run


def _wait(process: Started, usual: Usual, rng: Random, *, by_clock: bool) -> None:
    """Until a random moment of the work: by the processor's time, whatever else the machine does.

    Args:
        process: that is to be killed.
        usual: how long it takes.
        rng: decides the moment.
        by_clock: for commands whose work other processes do.
    """
    moment, within_tick = rng.uniform(0, 1.05), rng.uniform(0, 0.01)
    began = time.monotonic()
    while not process.ended():
        if by_clock and time.monotonic() - began > moment * usual.seconds:
            return
        if not by_clock and processor_seconds(process.pid) >= moment * usual.processor:
            time.sleep(within_tick)
            return
        time.sleep(0.001)


def _line(ended: Ended) -> str:
    """The last line but what Python says of a process that is left by ``os._exit``, as here."""
    lines = [line for line in ended.told.splitlines() if line.startswith("Error: ")]
    return lines[-1] if lines else ""


def _how_it_ended(ended: Ended, number: int, usual: int) -> str:
    never = {
        "internal error": "Traceback" in ended.told or "internal error" in ended.told,
        "orphans": "\norphan" in ended.told,
        f"hang: {ended.processor:.0f} s": ended.processor > LONGEST,
        "blocked": ended.blocked,
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
    odd = difference(folder, expected)
    return f"opens as if whole: {odd}" if odd else ""


def kill(count: int, *, first: int = 0) -> Iterator[Kill]:
    """Trials spread over all commands."""
    with world() as killer:
        yield from kills(killer, range(first, first + count))


def kills(killer: Killer, numbers: Iterable[int]) -> Iterator[Kill]:
    """Trials with these numbers."""
    for number in numbers:
        yield killer.trial(*_case(number))


@contextmanager
def world() -> Iterator[Killer]:
    """Good files in a folder, and commands to run on them."""
    with tempfile.TemporaryDirectory(prefix="cltr-kill-") as name:
        Path(name, "world").mkdir()
        words = [sys.executable, "-m", "tests.reliability.world", f"{name}/world"]
        made = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT)
        import_all(made.stdout.split())
        yield Killer(Path(name, "world"), Path(name))


def _case(number: int) -> tuple[str, int]:
    names = [*COMMANDS]
    name, seed = names[number % len(names)], number // len(names)
    if name in RARE and seed % RARE[name]:
        name, seed = "train", seed + 1_000_000 * (1 + [*RARE].index(name))
    return name, seed
