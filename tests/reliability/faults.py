"""Faults of the machine: a full disk, a read-only one, limits of files, handles and memory."""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.reliability.content import difference
from tests.reliability.killing import COMMANDS, Killer, world

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
        _limit(resource.RLIMIT_FSIZE, size) for size in (0, 100, 1_000, 4_000, 16_000)
    ),
    "few handles": tuple(_limit(resource.RLIMIT_NOFILE, number) for number in (8, 12, 20)),
    "memory limit": tuple(_more_memory(size * MEGABYTE) for size in (1, 8, 32, 128)),
    "full stdout": (_full_stdout,),
}
DISKS = {"full disk": ("size=4k", "size=16k", "size=64k"), "read-only disk": ("size=1m,ro",)}
"""Options of small file systems to run commands in; they need the right to mount."""


def all_faults(*, commands: tuple[str, ...] = (), disks: bool = True) -> Iterator[Broken]:
    """Every command under every fault.

    Args:
        commands: some of them; all by default, but those that start processes of their own.
        disks: also on small file systems, where these can be mounted.
    """
    names = commands or tuple(name for name in COMMANDS if name != "compare")
    with world() as killer:
        for fault, ways in FAULTS.items():
            for way in ways:
                for name in names:
                    yield _try(killer, fault, name, way)
        for fault, ways_to_mount in DISKS.items() if disks else ():
            for options in ways_to_mount:
                for name in names:
                    if "--resume" not in name:  # a stopped run takes more than such a disk has
                        yield _on_disk(killer, fault, name, options)


def _try(killer: Killer, fault: str, name: str, way: Fault) -> Broken:
    killer.usual(name)
    folder = killer.fresh()
    words = killer.words(name) + (["--json"] if fault == "full stdout" else [])
    if name == "plugins new":
        words = killer.words(name)
    ended = killer.run(words, folder, before=way)
    return _judged(killer, fault, name, folder, (ended.code, ended.told))


def _judged(killer: Killer, fault: str, name: str, folder: Path, ended: tuple[int, str]) -> Broken:
    usual = killer.usual(name)
    code, told = ended
    lines = [line for line in told.splitlines() if line.startswith("Error: ")]
    wrong = {
        "internal error": "Traceback" in told or "internal error" in told,
        f"exit code {code}": code not in (usual.code, 1, 2),
        "no line": code in (1, 2) and len(lines) != 1,
        "leftovers": bool(list(folder.rglob("*.cltr-*"))),
        "opens as if whole": bool(difference(folder, usual.content)),
    }
    outcome = next((name for name, found in wrong.items() if found), "as it should")
    return Broken(fault, name, outcome, told[-300:])


def _on_disk(killer: Killer, fault: str, name: str, options: str) -> Broken:
    """Run a command in a small file system."""
    killer.usual(name)
    place = Path(tempfile.mkdtemp(prefix="cltr-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=False
    ).returncode
    try:
        if mounted != 0:
            return Broken(fault, name, "not tried: no right to mount")
        ended = killer.run(killer.words(name), place)
        return _judged(killer, fault, name, place, (ended.code, ended.told))
    finally:
        if mounted == 0:
            subprocess.run(["umount", str(place)], check=False)
        shutil.rmtree(place, ignore_errors=True)
