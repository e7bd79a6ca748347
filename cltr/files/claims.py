"""Who writes a file or a folder: one process at a time; what a killed one left is removed.

What is not yet whole has a name that ends in :data:`PARTIAL`, and who writes it holds a lock on it.
The system releases the lock when the process ends, however it ends. So a second writer is refused
while the first one lives. What is left of a dead one is used again by the next writer of the same
file, or removed by the next one in the same folder. What a living process holds is never touched.
"""

import errno
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cltr.errors import DataError

PARTIAL = ".cltr-partial"
"""How the name of a file or folder ends that is not yet whole."""
NEW = ".cltr-new"
"""The same of a folder that is not yet locked."""
ENDS = (PARTIAL, NEW)
YOUNG = 10.0
"""Seconds in which a new folder is locked, however busy the machine is."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
BUSY = "another process is writing it; wait for it, or write elsewhere"
PATIENCE = 0.5
"""Seconds to try again for a lock: who looks for leftovers holds it for a moment."""
_claimed: set[Path] = set()
_opening: dict[Path, int | None] = {}
"""Partial files that are about to be claimed, with their handles: a signal may come in between."""
_reserved: dict[Path, int] = {}
_swept: set[Path] = set()


class TakenError(DataError):
    """Another process writes it."""


@contextmanager
def claim(path: Path, *, wait: bool = False, busy: str = BUSY) -> Iterator[Path]:
    """Yield the empty partial file of a target; it is removed at the end if it is still there.

    Args:
        path: the target.
        wait: for another process that writes it; else one clear line says so.
        busy: what that line says.
    """
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name a file to write")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder '{path.parent}'; create it first")
    partial = path.with_name(f".{path.name}{PARTIAL}")
    if partial in _reserved and _same(_reserved[partial], partial):
        os.truncate(partial, 0)
        yield partial  # who reserved it removes it
        return
    try:
        remove_leftovers(path.parent)
        handle = _lock(path, partial, wait=wait, busy=busy)
    except OSError as error:
        raise DataError(f"{path}: {why_not_written(error)}") from error
    _claimed.add(partial)
    _opening.pop(partial)
    try:
        yield partial
    finally:
        mine = partial in _claimed
        _claimed.discard(partial)
        if mine and _same(
            handle, partial
        ):  # else it has become the target, and the name is another's
            partial.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def reserve(path: Path | None, *, busy: str = BUSY) -> Iterator[None]:
    """Claim a target before the work that leads to it, so that nothing is computed in vain.

    Inside, the target can be written as usual. One that cannot be written, or that another process
    writes, is refused here.

    Args:
        path: the target; None reserves nothing.
        busy: what is said if another process writes it.
    """
    if path is None:
        yield
        return
    partial = path.with_name(f".{path.name}{PARTIAL}")
    if partial in _reserved:  # by the caller
        yield
        return
    with claim(path, busy=busy):
        handle = os.open(partial, os.O_RDONLY)
        _reserved[partial] = handle
        try:
            yield
        finally:
            _reserved.pop(partial, None)
            os.close(handle)


@contextmanager
def hidden_folder(parent: Path | None = None) -> Iterator[Path]:
    """A folder for what does not outlive the work, removed at the end.

    Args:
        parent: where to make it; the system's own place for temporary files by default.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    if not place.is_dir():
        raise DataError(f"there is no folder '{place}'; create it first")
    try:
        remove_leftovers(place)
        folder, handle = _locked_folder(place)
    except OSError as error:
        raise DataError(f"{place}: cannot be written to: {error.strerror}") from error
    try:
        yield folder
    finally:
        _claimed.discard(folder)
        os.close(handle)  # first: it may be the only handle that is left to remove the folder with
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(place: Path) -> tuple[Path, int]:
    """A new folder that gets its name when it is locked: before, it could be taken for left."""
    new = place.absolute() / f".{secrets.token_hex(6)}{NEW}"
    folder = new.with_suffix(PARTIAL)
    _claimed.update((new, folder))  # before they are there: a signal may come at any moment
    try:
        new.mkdir(mode=0o700)
        handle = os.open(new, os.O_RDONLY)
    except OSError:
        with suppress(OSError):
            new.rmdir()
        _claimed.difference_update((new, folder))
        raise
    with suppress(OSError):  # some network disks cannot lock folders
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    new.rename(folder)
    _claimed.discard(new)
    return folder, handle


def remove_leftovers(folder: Path, *, again: bool = False) -> None:
    """Remove what killed processes left in a folder; each process looks once.

    Args:
        folder: where to look.
        again: also if this process has looked before.
    """
    folder = folder.resolve()
    if folder in _swept and not again:
        return
    _swept.add(folder)
    with os.scandir(folder) as entries:
        names = [one.path for one in entries if one.name[0] == "." and one.name.endswith(ENDS)]
    for name in names:
        with suppress(OSError):
            _remove_if_free(Path(name))


def _remove_if_free(path: Path) -> None:
    """Remove a partial file or folder that nobody holds."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if somebody holds it
        if not _same(handle, path):
            return
        if path.is_dir():
            if path.suffix == PARTIAL or time.time() - path.stat().st_mtime > YOUNG:
                shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    finally:
        os.close(handle)


def _lock(path: Path, partial: Path, *, wait: bool, busy: str) -> int:
    """A locked, empty partial file."""
    until = time.monotonic() + PATIENCE
    _opening[partial] = None
    try:
        while True:
            handle = os.open(partial, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
            _opening[partial] = handle
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                if _same(handle, partial):  # else it has just become the target, or was removed
                    os.ftruncate(handle, 0)
                    return handle
            _opening[partial] = None
            os.close(handle)
            if time.monotonic() > until and not wait:
                raise TakenError(f"{path}: {busy}")
            time.sleep(0.05)
    except Exception:
        held = _opening.pop(partial)
        if held is not None:
            os.close(held)
        raise


def _same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def abandon() -> None:
    """Remove what this process has not finished: it is about to end without another chance."""
    for partial in list(_claimed):
        with suppress(OSError):
            shutil.rmtree(partial) if partial.is_dir() else partial.unlink(missing_ok=True)
    while _opening:
        partial, handle = _opening.popitem()
        with suppress(OSError):  # another process holds it, or it is gone
            if handle is not None:
                os.close(handle)
            _remove_if_free(partial)


def _forget() -> None:
    """A forked process has claimed nothing: what is claimed is its parent's."""
    for known in (_claimed, _opening, _reserved, _swept):
        known.clear()


os.register_at_fork(after_in_child=_forget)


def why_not_written(error: OSError) -> str:
    """An error of the system as a reason, with advice."""
    reason = os.strerror(error.errno).lower() if error.errno else str(error).splitlines()[0]
    advice = "free some space" if error.errno in FULL else "check the folder"
    return (
        f"cannot be written: {reason}; an earlier file of that name is unchanged; {advice}, or "
        "write elsewhere"
    )
