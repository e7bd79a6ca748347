"""Damaged inputs by the thousand: in processes that are watched for crashes and hangs."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import chdir
from pathlib import Path
from random import Random
from select import select
from typing import NamedTuple

from click.testing import Result

from cltr.errors import DataError
from cltr.files.json_files import parse_json
from tests.reliability.targets import OUT, TARGETS, Target
from tests.reliability.world import command, make_world, no_workers

LONGEST = 10.0
"""Seconds after which a trial is a hang."""
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


class Attack:
    """Damages a file, runs a command on it, and puts the file back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._keep = {name: Path(name).read_bytes() for name in _changed_by_commands()}
        self._usual: dict[str, float] = {}

    def run(self, target: Target, seed: int) -> Trial:
        """One trial; the current folder is the world's."""
        rng = Random(zlib.crc32(f"{target.name}:{seed}".encode()))
        files = sorted(path for pattern in target.files for path in self.folder.glob(pattern))
        path = rng.choice(files).relative_to(self.folder)
        way = rng.choice(target.ways)
        words = self._words(target, path, rng)
        usual = self._seconds_of_good(words)
        good = path.read_bytes()
        damaged = way(rng, good)
        label = f"{path} by {way.__name__}: {' '.join(words)}"
        memory, began = _peak(), time.process_time()
        _put(path, damaged)
        try:
            outcome, told = _judge(words)
        finally:
            _put(path, good)
            self._tidy()
        if time.process_time() - began > usual + MORE_SECONDS:
            outcome = f"slow: {time.process_time() - began:.1f} s"
        if _peak() - memory > MORE_BYTES + len(damaged):
            outcome = f"memory: {(_peak() - memory) >> 20} MB"
        if outcome == "used" and way.__name__ == "cut" and target.whole and _is_read(words, path):
            outcome = "opens as if whole"
        return Trial(target.name, seed, outcome, f"{label}: {told}")

    def _words(self, target: Target, path: Path, rng: Random) -> list[str]:
        usable = [one for one in target.commands if _reads(one, path)]
        run = path.parts[0]
        return rng.choice(usable).format(file=path, run=run).split()

    def _seconds_of_good(self, words: list[str]) -> float:
        """What the command takes on good files; measured once."""
        key = " ".join(words)
        if key not in self._usual:
            began = time.process_time()
            outcome, told = _judge(words)
            if outcome != "used":
                raise RuntimeError(f"{key} fails on good files: {told}")
            self._usual[key] = time.process_time() - began
            self._tidy()
        return self._usual[key]

    def _tidy(self) -> None:
        shutil.rmtree(self.folder / OUT, ignore_errors=True)
        _restore(self._keep)


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


def _judge(words: list[str]) -> tuple[str, str]:
    """Run a command; how it ended, and its last line."""
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


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def fuzz_here(folder: Path, cases: Iterable[tuple[int, int]]) -> Iterator[Trial]:
    """Trials in this process, in a world that is there."""
    with chdir(folder), no_workers():
        attack = Attack(folder)
        for target, seed in cases:
            yield attack.run(TARGETS[target], seed)


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


def fuzz(count: int, *, first: int = 0) -> Iterator[Trial]:
    """Trials spread over all targets, in a process of its own that is started anew if it ends."""
    cases = [
        (number % len(TARGETS), number // len(TARGETS)) for number in range(first, first + count)
    ]
    done = 0
    while done < len(cases):
        for trial in _watched(cases[done:]):
            done += 1
            yield trial


def _watched(cases: list[tuple[int, int]]) -> Iterator[Trial]:
    """Trials of one process; the one in which it died or hung is the last."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.reliability.fuzzing"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if not os.environ.get("FUZZ_DEBUG") else None,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(cases))
    process.stdin.close()
    number = 0
    try:
        for line in _lines(process):
            if line is None:  # as long as this no trial may take; set-up comes before the first
                yield _lost(cases[number], f"hang over {LONGEST:g} s")
                return
            yield Trial(*json.loads(line))
            number += 1
        if number < len(cases):
            error = process.stderr.read()[-300:] if process.stderr else ""
            yield _lost(cases[number], f"died with {process.wait()}: {error}")
    finally:
        process.kill()
        process.wait()


def _lost(case: tuple[int, int], outcome: str) -> Trial:
    return Trial(TARGETS[case[0]].name, case[1], outcome)


def _lines(process: "subprocess.Popen[str]") -> Iterator[str | None]:
    """Lines as they come; None after too long a silence, by the process's own time."""
    assert process.stdout is not None
    first = True
    while True:
        waited = 0.0
        while not select([process.stdout], [], [], 1.0)[0]:
            waited += 1.0
            if not first and waited > LONGEST and _processor_seconds(process.pid) is None:
                break
            if waited > (300 if first else 6 * LONGEST):
                yield None
                return
        line = process.stdout.readline()
        if not line:
            return
        first = False
        yield line


def _processor_seconds(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def summary(trials: Iterable[Trial]) -> dict[str, Counter[str]]:
    """Outcomes by target."""
    found: dict[str, Counter[str]] = {}
    for trial in trials:
        found.setdefault(trial.target, Counter())[trial.outcome] += 1
    return found


def _child() -> None:
    sys.dont_write_bytecode = True  # a plugin file changes within a second
    cases = [tuple(case) for case in json.load(sys.stdin)]
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="cltr-fuzz-") as name:
        make_world(Path(name))
        for trial in fuzz_here(Path(name), cases):
            answer.write(json.dumps(trial) + "\n")
            answer.flush()


if __name__ == "__main__":
    _child()
