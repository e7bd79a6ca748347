"""Limits of the system under which native libraries crash: refused before any work.

A library that cannot start a thread or reserve memory may end the process without a word. So a
limit that is far too small is one clear line at the start.
"""

from pathlib import Path

from cltr.errors import CltrError

LEAST_HANDLES = 64
"""Open files that a process must be allowed."""
LEAST_MEMORY = 2 << 30
"""Bytes of address space that must be left; libraries reserve far more than they use."""
_GIGABYTE = 1 << 30


def check_limits() -> None:
    """Refuse to work under limits that are too small; systems without such limits pass."""
    try:
        import resource
    except ImportError:
        return
    handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= handles < LEAST_HANDLES:
        raise CltrError(
            f"this process may open {handles} files at once; cltr needs {LEAST_HANDLES}: "
            "raise the limit with 'ulimit -n 1024'"
        )
    memory, _ = resource.getrlimit(resource.RLIMIT_AS)
    left = memory - _address_space()
    if memory >= 0 and left < LEAST_MEMORY:
        raise CltrError(
            f"the limit of this process's memory leaves {max(left, 0) / _GIGABYTE:.1f} GB of "
            f"address space; cltr needs {LEAST_MEMORY / _GIGABYTE:.0f} GB: raise the limit with "
            "'ulimit -v unlimited'"
        )


def _address_space() -> int:
    """Bytes that the process has reserved; 0 where the system does not tell."""
    import os

    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
