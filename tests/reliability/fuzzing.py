"""Damaged inputs: a file is damaged, a command reads it, and what becomes of it is judged."""

import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from click.testing import Result

from cltr.errors import DataError
from cltr.files.json_files import parse_json
from tests.reliability.damage import Damage
from tests.reliability.targets import OUT, Target
from tests.reliability.world import command

MORE_SECONDS, MORE_BYTES = 1.0, 100 << 20
"""What a damaged file may cost beyond a good one: processor time, and peak memory."""


class Trial(NamedTuple):
    """One damaged file and what became of it."""

    target: str
    seed: int
    outcome: str
    """``used``, ``refused``, or what went wrong."""
    detail: str = ""

    @property
    def survived(self) -> bool:
        return self.outcome in ("used", "refused")


class Cost(NamedTuple):
    """What a command took."""

    seconds: float
    """Of the processor, with processes that it started."""
    memory: int
    """Bytes of the peak above what the process had before."""


class Case(NamedTuple):
    """A file, a way to damage it, and a command that reads it."""

    path: Path
    way: Damage
    words: list[str]
    good: bytes
    damaged: bytes


class Attack:
    """Damages a file, runs a command on it, and puts the file back.

    Args:
        folder: the world; it must be the current folder.
        tell: called with ``good`` or ``damaged`` before a command reads such files.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None] = lambda what: None) -> None:
        self.folder, self._tell = folder, tell
        self._keep = {name: Path(name).read_bytes() for name in _changed_by_commands()}
        self._works: set[str] = set()
        self._usual: dict[str, Cost] = {}

    def run(self, target: Target, seed: int) -> Trial:
        """One trial."""
        case = self._case(target, seed)
        if " ".join(case.words) not in self._works:
            self._work_on_good(case.words)
        outcome, told, cost = self._work_on_damaged(case)
        if _much(cost, Cost(0, 0), case):
            # The first to go this way also imports and compiles: what the second takes counts.
            usual = self._cost_of_good(case.words)
            outcome, told, cost = self._work_on_damaged(case)
            outcome = _much(cost, usual, case) or outcome
        seems_whole = outcome == "used" and case.way.__name__ == "cut" and target.whole
        if seems_whole and _is_read(case.words, case.path):
            outcome = "opens as if whole"
        label = f"{case.path} by {case.way.__name__}: {' '.join(case.words)}"
        return Trial(target.name, seed, outcome, f"{label}: {told}")

    def _case(self, target: Target, seed: int) -> Case:
        rng = Random(zlib.crc32(f"{target.name}:{seed}".encode()))
        files = sorted(path for pattern in target.files for path in self.folder.glob(pattern))
        path = rng.choice(files).relative_to(self.folder)
        way = rng.choice(target.ways)
        usable = [one for one in target.commands if _reads(one, path)]
        words = rng.choice(usable).format(file=path, run=path.parts[0]).split()
        good = path.read_bytes()
        return Case(path, way, words, good, way(rng, good))

    def _work_on_good(self, words: list[str]) -> Cost:
        """Run a command on good files."""
        self._tell("good")
        try:
            outcome, told, cost = _measured(words)
        finally:
            self._tidy()
        if outcome != "used":
            raise RuntimeError(f"{' '.join(words)} fails on good files: {outcome}: {told}")
        self._works.add(" ".join(words))
        return cost

    def _work_on_damaged(self, case: Case) -> tuple[str, str, Cost]:
        _put(case.path, case.damaged)
        self._tell("damaged")
        try:
            return _measured(case.words)
        finally:
            _put(case.path, case.good)
            self._tidy()

    def _cost_of_good(self, words: list[str]) -> Cost:
        key = " ".join(words)
        if key not in self._usual:
            self._usual[key] = self._work_on_good(words)
        return self._usual[key]

    def _tidy(self) -> None:
        shutil.rmtree(self.folder / OUT, ignore_errors=True)
        _restore(self._keep)


def _much(cost: Cost, usual: Cost, case: Case) -> str:
    """What a command took too much of, if anything."""
    if cost.seconds > usual.seconds + MORE_SECONDS:
        return f"slow: {cost.seconds:.1f} s, {usual.seconds:.1f} s with the good file"
    if cost.memory > usual.memory + MORE_BYTES + len(case.damaged):
        return f"memory: {cost.memory >> 20} MB, {usual.memory >> 20} MB with the good file"
    return ""


def _reads(text: str, path: Path) -> bool:
    """Whether a command reads a file."""
    if path.parts[0] == "stopped":
        return "stopped" in text
    if "{run}" in text:
        return path.parts[0] == "run" or (path.parts[0] == "logrun" and _scores_are_known(text))
    if "{file}" in text or "/" in str(path):
        return "stopped" not in text
    return path.name in text


def _scores_are_known(text: str) -> bool:
    """Whether production's scores come with the command, where the model needs them."""
    return "--data" not in text or "--production" in text or text.startswith("gate")


def _is_read(words: list[str], path: Path) -> bool:
    """Whether a command must read all of this file of a run."""
    needed = {"evaluate": ("result.json", "policy.safetensors")}
    if path.parts[0] in ("run", "logrun"):
        return path.name in needed.get(words[0], ())
    return True


def _measured(words: list[str]) -> tuple[str, str, Cost]:
    """Run a command; how it ended, its last line, and its cost."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    memory, began = _memory("VmRSS"), sum(os.times()[:4])
    outcome, told = _judge(words)
    return outcome, told, Cost(sum(os.times()[:4]) - began, _memory("VmHWM") - memory)


def _memory(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) << 10


def _judge(words: list[str]) -> tuple[str, str]:
    Path(OUT).mkdir(exist_ok=True)
    if words[0] == "load":
        return _load(words[1])
    done = command(*words)
    wrong, last = _wrong(done, words)
    if wrong:
        return wrong, last
    return ("refused" if done.exit_code in (1, 2) else "used"), last


def _wrong(done: Result, words: list[str]) -> tuple[str, str]:
    """What must not be, and the last line."""
    last = (done.stderr.strip().splitlines() or [""])[-1][:300]
    failed = done.exit_code in (1, 2)  # 3 is a verdict other than yes
    odd = {
        "exception": not isinstance(done.exception, SystemExit | None),
        "internal error": "internal error" in done.stderr or "Traceback" in done.stderr,
        f"exit code {done.exit_code}": done.exit_code not in (0, 1, 2, 3),
        "no line": failed and not last.startswith("Error: ") and words[0] != "compare",
        "control characters": any(c != "\n" and ord(c) < 32 for c in done.stdout + done.stderr),
        "leftovers": bool(list(Path().rglob("*.cltr-*"))),
        "not JSON": not failed and "--json" in words and not _is_json(done.stdout),
    }
    return next((name for name, found in odd.items() if found), ""), last


def _is_json(text: str) -> bool:
    try:
        parse_json(text, where="")
    except DataError:
        return False
    return True


def _load(path: str) -> tuple[str, str]:
    """A run opened from Python and shown."""
    import cltr
    from cltr.errors import CltrError

    try:
        run = cltr.load(path)
        str(run), run._repr_html_(), run.ndcg, run.estimated_gain, run.worst_case_loss, run.history
    except CltrError as error:
        return "refused", str(error)[:300]
    except Exception as error:
        return "exception", f"{type(error).__name__}: {error}"[:300]
    return "used", ""


def _put(path: Path, content: bytes) -> None:
    """Replace a file in one step: what is mapped in memory stays what it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name("put-beside")
    beside.write_bytes(content)
    os.replace(beside, path)


def _changed_by_commands() -> list[str]:
    """Files that a command may change or remove when it works: of the stopped run, of studies."""
    return [
        str(one)
        for place in ("stopped", "study")
        for one in Path(place).rglob("*")
        if one.is_file()
    ]


def _restore(keep: dict[str, bytes]) -> None:
    for place in ("stopped", "study"):
        for one in list(Path(place).rglob("*")):
            if one.is_file() and str(one) not in keep:
                one.unlink()
    for name, content in keep.items():
        path = Path(name)
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_bytes(content)
