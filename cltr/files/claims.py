"""Who writes a file: one process at a time, and what a killed one left behind is used again.

The partial file of a target has one name, and who writes it holds a lock on it. The system releases
the lock when the process ends, however it ends. So a second writer is refused while the first one
lives, and takes over what is left of it when it is dead. Nothing has to be cleaned up by hand.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cltr.errors import DataError

PARTIAL = ".partial"
"""How the name of a file ends that is not yet whole."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_claimed: set[Path] = set()


@contextmanager
def claim(path: Path, *, wait: bool = False) -> Iterator[Path]:
    """Yield the empty partial file of a target; it is removed at the end if it is still there.

    Args:
        path: the target.
        wait: for another process that writes it; else one clear line says so.
    """
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name a file to write")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder '{path.parent}'; create it first")
    partial = path.with_name(f".{path.name}{PARTIAL}")
    try:
        handle = _lock(path, partial, wait=wait)
    except OSError as error:
        raise DataError(f"{path}: {why_not_written(error)}") from error
    _claimed.add(partial)
    try:
        yield partial
    finally:
        _claimed.discard(partial)
        if _same(handle, partial):  # else it has become the target, and the name is another's
            partial.unlink(missing_ok=True)
        os.close(handle)


def _lock(path: Path, partial: Path, *, wait: bool) -> int:
    """A locked, empty partial file."""
    while True:
        handle = os.open(partial, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _same(handle, partial):  # else it has just become the target, or was removed
                os.ftruncate(handle, 0)
                return handle
        except BlockingIOError as error:
            os.close(handle)
            raise DataError(
                f"{path}: another process is writing it; wait for it, or write elsewhere"
            ) from error
        except OSError:
            os.close(handle)
            raise
        os.close(handle)


def _same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def abandon() -> None:
    """Remove the partial files of this process: it is about to end without another chance."""
    for partial in list(_claimed):
        partial.unlink(missing_ok=True)


def why_not_written(error: OSError) -> str:
    """An error of the system as a reason, with advice."""
    reason = os.strerror(error.errno).lower() if error.errno else str(error).splitlines()[0]
    advice = "free some space or" if error.errno in FULL else "check the folder or"
    return f"cannot be written: {reason}; nothing was kept; {advice} write elsewhere"
