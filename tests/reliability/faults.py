"""Faults of the machine: a full disk, a read-only one, limits of files, handles and memory."""

import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.reliability.content import difference
from tests.reliability.killing import COMMANDS, RARE, Killer, world
from tests.reliability.processes import Ended

Fault = Callable[[], None]
MEGABYTE = 1 << 20


class Broken(NamedTuple):
    """A command under a fault, and how it ended."""

    fault: str
    command: str
    outcome: str
    detail: str = ""

    @property
    def survived(self) -> bool:
        return self.outcome == "as it should"


def _limit(what: int, value: int) -> Fault:
    def apply() -> None:
        resource.setrlimit(what, (value, value))

    return apply


def _more_memory(extra: int) -> Fault:
    """A limit of memory so many bytes above what the process has."""

    def apply() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + extra
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return apply


def _full_stdout() -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "file-size limit": tuple(
        _limit(resource.RLIMIT_FSIZE, size) for size in (0, 100, 1_000, 4_000, 16_000, 64_000)
    ),
    "few handles": tuple(_limit(resource.RLIMIT_NOFILE, number) for number in (8, 20, 63, 64)),
    "memory limit": tuple(_more_memory(size * MEGABYTE) for size in (1, 128, 1_000, 2_100, 4_000)),
    "full stdout": (_full_stdout,),
}
DISKS: dict[str, tuple[int | None, ...]] = {
    "full disk": (0, 4_096, 16_384, 65_536),
    "read-only disk": (None,),
}
"""Bytes that are free on a small disk; None for one that cannot be written. They need a mount."""
DISK = 2 * MEGABYTE


def can_mount() -> bool:
    """Whether small disks can be tried here."""
    with tempfile.TemporaryDirectory() as place:
        words = ["mount", "-t", "tmpfs", "none", place]
        mounted = subprocess.run(words, check=False, capture_output=True).returncode == 0
        if mounted:
            subprocess.run(["umount", place], check=True)
    return mounted


def all_faults() -> Iterator[Broken]:
    """Every command under every fault, in all sizes; in one where it starts other processes."""
    disks = DISKS if can_mount() else {}
    with world() as killer:
        for name in COMMANDS:
            for fault, ways in FAULTS.items():
                for way in ways[len(ways) // 2 :][:1] if name in RARE else ways:
                    yield _try(killer, fault, name, way)
            for fault, sizes in disks.items():
                for free in sizes[:1] if name in RARE else sizes:
                    yield _on_disk(killer, fault, name, free)


def some_faults(killer: Killer) -> Iterator[Broken]:
    """Every quick command under one way of each fault; which one depends on the command."""
    disks = DISKS if can_mount() else {}
    for number, name in enumerate(COMMANDS):
        if name not in RARE:
            for fault, ways in FAULTS.items():
                yield _try(killer, fault, name, ways[number % len(ways)])
            for fault, sizes in disks.items():
                yield _on_disk(killer, fault, name, sizes[number % len(sizes)])


def _try(killer: Killer, fault: str, name: str, way: Fault) -> Broken:
    killer.usual(name)
    folder = killer.fresh()
    tells = fault == "full stdout" and name != "plugins new"  # which has no --json
    words = killer.words(name) + (["--json"] if tells else [])
    ended = killer.run(words, folder, before=way)
    return _judged(killer, fault, name, folder, ended)


def _judged(killer: Killer, fault: str, name: str, folder: Path, ended: Ended) -> Broken:
    usual, told = killer.usual(name), ended.told
    lines = [line for line in told.splitlines() if line.startswith("Error: ")]
    wrong = {
        "internal error": "Traceback" in told or "internal error" in told,
        f"exit code {ended.code}": ended.code not in (usual.code, 1, 2),
        "no line": ended.code in (1, 2) and len(lines) != 1,
        "orphans": "\norphan" in told,
        "blocked": ended.blocked,
        "leftovers": bool(list(folder.rglob("*.cltr-*"))),
        "opens as if whole": bool(difference(folder, usual.content)),
    }
    outcome = next((name for name, found in wrong.items() if found), "as it should")
    return Broken(fault, name, outcome, told[-300:])


def _on_disk(killer: Killer, fault: str, name: str, free: int | None) -> Broken:
    """Run a command on a disk of its own."""
    killer.usual(name)
    place = killer.fresh()  # the same path as usual: runs say where their files lie
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(place)]
    subprocess.run(words, check=True)
    try:
        killer.fill(place)
        if free is None:
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        else:
            _take_all_but(place, free)
        return _judged(killer, fault, name, place, killer.run(killer.words(name), place))
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _take_all_but(place: Path, free: int) -> None:
    found = os.statvfs(place)
    with open(place / "tmp" / "other", "wb") as stream:
        stream.write(bytes(found.f_bavail * found.f_frsize - free))
