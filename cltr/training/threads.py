"""Work that threads share, each with torch for itself: small products are not worth sharing."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


@contextmanager
def one_thread() -> Iterator[int]:
    """Torch uses one thread inside; yields how many it uses otherwise."""
    import torch

    threads = torch.get_num_threads()
    if threads == 1:
        yield 1
        return
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)


def several_threads() -> bool:
    """Whether torch uses more than one thread."""
    import torch

    return torch.get_num_threads() > 1


def by_threads(work: Callable[[_Given], _Made], given: Iterable[_Given]) -> list[_Made]:
    """What ``map`` gives, made by as many threads as torch uses; this one is among them."""
    parts = list(given)
    found: dict[int, _Made] = {}
    numbers = iter(range(len(parts)))  # whoever is free takes the next

    def take_parts() -> None:
        for number in numbers:
            found[number] = work(parts[number])

    with one_thread() as threads:
        others = min(threads, len(parts)) - 1
        pool = _pool(threads - 1, os.getpid()) if others > 0 else None
        waiting = [pool.submit(take_parts) for _ in range(others)] if pool else []
        take_parts()
        for other in waiting:
            other.result()
    return [found[number] for number in range(len(parts))]


def one_ahead(
    work: Callable[[_Given], _Made], given: Iterable[_Given], *, aside: bool = True
) -> Iterator[_Made]:
    """What ``map`` gives, with the next one made by another thread while one is used.

    Args:
        work: what makes one; it must not use torch's threads.
        given: what each is made of.
        aside: whether another thread does it; without, this is ``map``.
    """
    if not aside:
        yield from map(work, given)
        return
    with ThreadPoolExecutor(1) as other:
        waiting: Future[_Made] | None = None
        for one in given:
            following = other.submit(work, one)
            if waiting is not None:
                yield waiting.result()
            waiting = following
        if waiting is not None:
            yield waiting.result()


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Those beside the main thread; a process that was forked from this one needs its own."""
    import torch

    del process
    return ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
