"""Signs of life of processes that train together: one that is frozen must not hold up the others.

A process that ends is noticed at once, because its connections break. One that is frozen keeps
them: its machine may hang or be cut off. Others would wait for it as long as for the first process,
which may fit and check for hours. So each process counts up a number in torchrun's store from a
thread of its own, whatever its other threads do, and looks whether the others do so.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from cltr.errors import UsageError

VARIABLE = "CLTR_LONGEST_SILENCE"
USUAL = 600.0
"""Seconds without a sign of life after which a process counts as frozen."""
_LOOKS = 20
"""How often to look in that time."""
_ENDED = 2**40
"""Added to the number of a process that has ended by itself."""


def longest_silence() -> float:
    """Seconds without a sign of life after which a process counts as frozen, as the user says."""
    given = os.environ.get(VARIABLE, "")
    try:
        seconds = float(given or USUAL)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 1e6:
        raise UsageError(f"{VARIABLE}={given}: expected seconds, from 1 to 1000000")
    return seconds


@contextmanager
def signs_of_life(rank: int, count: int, give_up: Callable[[str], object]) -> Iterator[None]:
    """Give signs of life to the other processes of a run, and wait for theirs.

    Args:
        rank: number of this process.
        count: of processes.
        give_up: called with the reason, in another thread, if one of them is frozen.
    """
    watch = _Watch(rank, count, longest_silence(), give_up)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.ended.set()
        thread.join(2.0)


class _Watch:
    """Looks now and then whether the others have counted up."""

    def __init__(
        self, rank: int, count: int, limit: float, give_up: Callable[[str], object]
    ) -> None:
        self._rank, self._count, self._limit, self._give_up = rank, count, limit, give_up
        self.ended = threading.Event()
        self._numbers = [0] * count
        self._missed = [0] * count
        """Looks in a row that found nothing new; counted, so that own silence does not matter."""

    def run(self) -> None:
        """Until this process ends, or another one is frozen."""
        try:
            store = _store(timedelta(seconds=self._limit))
            while not self.ended.wait(self._limit / _LOOKS):
                self._look(store)
            store.add(_key(self._rank), _ENDED)
        except RuntimeError:  # the store is where the first process is
            if not self.ended.is_set():
                self._give_up(self._silent(0))

    def _look(self, store: Any) -> None:
        store.add(_key(self._rank), 1)
        for other in range(self._count):
            number = store.add(_key(other), 0)
            still = number == self._numbers[other] and number < _ENDED
            self._missed[other] = self._missed[other] + 1 if still else 0
            self._numbers[other] = number
            if self._missed[other] >= _LOOKS and not self.ended.is_set():
                self._give_up(self._silent(other))

    def _silent(self, rank: int) -> str:
        return (
            f"process {rank} of this run gave no sign of life for {self._limit:g} seconds "
            f"({VARIABLE}); look at its machine"
        )


def _key(rank: int) -> str:
    start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return f"cltr/alive/{start}/{rank}"


def _store(timeout: timedelta) -> Any:
    """Torchrun's store, by a connection of its own: others may wait on theirs."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    return TCPStore(address, port, is_master=False, timeout=timeout)
